// One batch: columns of rows, with the origin of each row.
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
  // True for a RAGGED column: its rows may hold different numbers of elements. False for a FIXED column.
  bool ragged = false;
  // Shape of one row's tensor, or, if ragged, of one element. [] is a scalar.
  std::vector<int64_t> shape;
};

// A view of one column of a batch. Valid while the Batch, or the Batch that it was moved to, exists.
class ColumnView {
 public:
  ColumnView() = default;
  const ColumnInfo& info() const { return *info_; }
  size_t rows() const { return rows_; }

  // Returns the values. FIXED: a dense row-major tensor of shape [rows, info().shape...]. RAGGED numbers: the values of
  // all rows in sequence. Null for strings.
  const void* raw() const { return data_; }
  // Returns the size of raw() in bytes.
  size_t bytes() const { return bytes_; }

  // Returns the values as elements. Aborts the process if T does not read the column's type (ReadsAs in
  // element_type.h); no T reads strings. The message has the column's name, its type and T.
  template <typename T>
  absl::Span<const T> data() const {
    absl::StatusOr<absl::Span<const T>> span = TryData<T>();
    if (!span.ok()) EndWith(span.status());
    return *span;
  }
  // As data(), for callers that do not know the type in advance: returns InvalidArgument instead of aborting.
  template <typename T>
  absl::StatusOr<absl::Span<const T>> TryData() const {
    if (info_ == nullptr || !ReadsAs<T>(info_->type)) return NotOfType(TypeNameOf<T>());
    return absl::MakeConstSpan(static_cast<const T*>(data_), bytes_ / sizeof(T));
  }

  // Returns rows()+1 offsets of a RAGGED column: row i holds elements [splits[i], splits[i+1]). Empty for FIXED
  // columns.
  absl::Span<const int64_t> row_splits() const { return row_splits_; }

  // Return the number of strings of the column, and string i of it. Strings are numbered across all rows. Both are for
  // columns of strings only: of another column, string_count() is 0.
  size_t string_count() const { return string_offsets_.empty() ? 0 : string_offsets_.size() - 1; }
  std::string_view string(size_t i) const {
    const char* base = static_cast<const char*>(string_data_);
    return {base + string_offsets_[i], static_cast<size_t>(string_offsets_[i + 1] - string_offsets_[i])};
  }
  // Return the text of all strings in sequence, and string_count() + 1 offsets into it. Both are empty for other types.
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

// The origin of a row: shard number in the sorted order of its data set, record number in the shard.
struct RowId {
  int64_t shard = 0;
  int64_t record = 0;
  bool operator==(const RowId&) const = default;
};

// Move-only. On destruction, a batch returns its memory to the reader's pool. A batch may outlive the reader. Any
// number of threads may read a batch and its columns while no thread moves it, assigns to it or destroys it. A batch
// may be passed to another thread and destroyed there, concurrently with Next. A moved-from batch has no rows and no
// columns.
class Batch {
 public:
  Batch();
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  // Returns the number of rows on this rank: the global batch size divided by the world size, or fewer in the last
  // batch of an epoch under PARTIAL.
  size_t rows() const;
  uint64_t epoch() const;
  // Returns the number of the step in its epoch: position() divided by the global batch size, rounded up. A resumed
  // reader therefore continues the numbers.
  uint64_t step() const;
  // Returns the position in the epoch of the first row of the global step.
  uint64_t position() const;

  const std::vector<ColumnView>& columns() const;
  // Returns the column with this name. Aborts the process if there is none; the message lists the existing names.
  const ColumnView& column(std::string_view name) const;
  // Returns null if there is no such column.
  const ColumnView* FindColumn(std::string_view name) const;

  // Returns one element for each row: the record that the plan assigns to it.
  absl::Span<const RowId> ids() const;
  // Returns one element for each row: the record of its content. Equals ids(), except where the job's error policy
  // SUBSTITUTE replaced a bad record with another record.
  absl::Span<const RowId> sources() const;
  // Returns one element for each row: the number of its data set in Reader::datasets(). Empty if they have no names.
  absl::Span<const int32_t> datasets() const;
  // Returns one element for each row: 0 if the row is padding or if the job's error policy masked it, otherwise 1. A
  // masked row has zeros, no elements in RAGGED columns, and "" for a single string. Padding repeats another row of the
  // epoch. If the job mixes rows, a group with such a row is not mixed.
  absl::Span<const uint8_t> valid() const;

  struct Impl;

 private:
  friend class BatchBuilder;
  explicit Batch(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock

#endif  // PENSTOCK_BATCH_H_
