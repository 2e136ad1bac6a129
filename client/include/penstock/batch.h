// One batch: columns of rows, with where each row comes from.
#ifndef PENSTOCK_BATCH_H_
#define PENSTOCK_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "penstock/element_type.h"

namespace penstock {

struct ColumnInfo {
  std::string name;
  ElementType type = ElementType::kUint8;
  // Whether rows hold unlike numbers of elements.
  bool ragged = false;
  // The shape of one row's tensor, or, when ragged, of one element. [] is a scalar.
  std::vector<int64_t> shape;
};

// A view of one column of a batch. Valid as long as the Batch (or what it was moved to).
class ColumnView {
 public:
  ColumnView() = default;
  const ColumnInfo& info() const { return *info_; }
  size_t rows() const { return rows_; }

  // FIXED: a dense row-major tensor of shape [rows, info().shape...]. RAGGED numbers: the values of
  // all rows, one after another. Null for strings.
  const void* raw() const { return data_; }
  // Bytes at raw().
  size_t bytes() const { return bytes_; }

  // The same as elements. T must be the column's type (ReadsAs, element_type.h): another one is a caller's mistake,
  // and so are strings: the process ends with the column's name, its type and T.
  template <typename T>
  absl::Span<const T> data() const {
    absl::StatusOr<absl::Span<const T>> span = TryData<T>();
    if (!span.ok()) EndWith(span.status());
    return *span;
  }
  // For those who do not know the type before. InvalidArgument with the same words.
  template <typename T>
  absl::StatusOr<absl::Span<const T>> TryData() const {
    if (info_ == nullptr || !ReadsAs<T>(info_->type)) return NotOfType(TypeNameOf<T>());
    return absl::MakeConstSpan(static_cast<const T*>(data_), bytes_ / sizeof(T));
  }

  // RAGGED: rows()+1 offsets: row i holds elements [splits[i], splits[i+1]). Empty for FIXED
  // columns.
  absl::Span<const int64_t> row_splits() const { return row_splits_; }

  // Strings: element i of the column (elements are counted through all rows).
  size_t string_count() const { return string_offsets_.empty() ? 0 : string_offsets_.size() - 1; }
  std::string_view string(size_t i) const {
    const char* base = static_cast<const char*>(string_data_);
    return {base + string_offsets_[i], static_cast<size_t>(string_offsets_[i + 1] - string_offsets_[i])};
  }
  // The text of all strings, one after another, and string_count() + 1 offsets into it.
  std::string_view string_text() const { return {static_cast<const char*>(string_data_), string_bytes_}; }
  absl::Span<const int64_t> string_offsets() const { return string_offsets_; }

 private:
  friend class BatchBuilder;
  absl::Status NotOfType(std::string_view asked) const;
  [[noreturn]] static void EndWith(const absl::Status& status);

  const ColumnInfo* info_ = nullptr;
  size_t rows_ = 0;
  const void* data_ = nullptr;
  size_t bytes_ = 0;
  absl::Span<const int64_t> row_splits_;
  const void* string_data_ = nullptr;
  size_t string_bytes_ = 0;
  absl::Span<const int64_t> string_offsets_;
};

// Where a row comes from: shard number in sorted order, record number in the shard.
struct RowId {
  int64_t shard = 0;
  int64_t record = 0;
  bool operator==(const RowId&) const = default;
};

// Move-only. Its memory returns to the reader's pool on destruction; it may outlive the reader.
// Threads: any number may read one batch at once (its columns too) while none moves, assigns to or destroys it; a batch
// may be handed to another thread and be destroyed there, beside a Next. One that was moved from has no rows and no
// columns.
class Batch {
 public:
  Batch();
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  // Rows on this rank: the slice of the step, or fewer in the last batch under PARTIAL.
  size_t rows() const;
  uint64_t epoch() const;
  // Number of the step in its epoch when the epoch is read from its start; else counted from the
  // restored position.
  uint64_t step() const;
  // Position in the epoch of the first row of the global step.
  uint64_t position() const;

  const std::vector<ColumnView>& columns() const;
  // The column of that name. An unknown name is a caller's mistake: the process ends with the names
  // that there are.
  const ColumnView& column(std::string_view name) const;
  // Null where there is no such column.
  const ColumnView* FindColumn(std::string_view name) const;

  // One for each row: the record that the plan gives it.
  absl::Span<const RowId> ids() const;
  // One for each row: the record whose content it holds. ids(), but where the job's error policy (SUBSTITUTE) put
  // another record's content in the place of a bad one's.
  absl::Span<const RowId> sources() const;
  // 1, or 0 for a row that is padding or was masked by the job's error policy (its content is then
  // zero, or, for padding, a repeated row). Where the job mixes rows, these and those of their group
  // are not mixed.
  absl::Span<const uint8_t> valid() const;

  struct Impl;

 private:
  friend class BatchBuilder;
  explicit Batch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock

#endif  // PENSTOCK_BATCH_H_
