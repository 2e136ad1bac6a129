// Rows that are made of several records: which values of which records each row has.
#ifndef PENSTOCK_PIPELINE_PLAN_RECORD_PACKS_H_
#define PENSTOCK_PIPELINE_PLAN_RECORD_PACKS_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock::plan {

struct PackOptions {
  // The rows of a record with more than `length` values. kDrop: none; kKeepFirst, kKeepLast: one, with its first or
  // last values; kSplit: one for each `length` values, and one for the rest.
  enum class Longer : uint8_t { kDrop, kKeepFirst, kKeepLast, kSplit };

  uint64_t length = 0;  // values of a row, at least 1
  Longer longer = Longer::kSplit;
  uint64_t align = 1;  // each part begins at a multiple of this number in its row, and `length` is one
  // Values follow each other from row to row, and records are cut at the end of a row. Ignores `longer` and `align`.
  bool concatenate = false;
  uint64_t overlap = 0;  // concatenate: values that a row shares with the next one; less than `length`
  uint64_t window = 0;   // neighboring records that share rows; at least 1
};

// `count` values of a record, from number `first` on.
struct PackPart {
  uint32_t record = 0;
  uint32_t first = 0;
  uint32_t count = 0;

  bool operator==(const PackPart&) const = default;
};

// The parts of one row, in their order. May refer to the rows that have it.
class RowParts {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = PackPart;
    using difference_type = std::ptrdiff_t;
    using pointer = const PackPart*;
    using reference = PackPart;

    Iterator() = default;
    Iterator(const RowParts* row, size_t at) : row_(row), at_(at) {}
    PackPart operator*() const { return (*row_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const RowParts* row_ = nullptr;
    size_t at_ = 0;
  };

  explicit RowParts(std::span<const PackPart> parts) : parts_(parts), size_(parts.size()) {}
  // The records `first`, `first` + `step` and so on, `size` of them. Parts of whole records have a count of 0.
  RowParts(uint32_t first, uint32_t step, size_t size) : first_(first), step_(step), size_(size) {}

  size_t size() const { return size_; }
  PackPart operator[](size_t i) const {
    return parts_.empty() ? PackPart{static_cast<uint32_t>(first_ + i * step_), 0, 0} : parts_[i];
  }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size_}; }

 private:
  std::span<const PackPart> parts_;
  uint64_t first_ = 0, step_ = 0;
  size_t size_ = 0;
};

// Row r has the parts from ends[r - 1] (0 for the first row) to ends[r], in their order. Their values follow each
// other, with padding between them if they are aligned.
struct RecordPacks {
  std::vector<PackPart> parts;
  std::vector<uint32_t> ends;

  size_t rows() const { return ends.size(); }
  std::span<const PackPart> Row(size_t row) const {
    const size_t begin = row == 0 ? 0 : ends[row - 1];
    return std::span(parts).subspan(begin, ends[row] - begin);
  }
  bool operator==(const RecordPacks&) const = default;
};

// Packs records with these numbers of values. The same in every release.
//
// Each window of `window` records is packed alone. Without `concatenate`, the parts of its records are placed from the
// longest to the shortest, each in the fullest row that has room (best fit decreasing; D. S. Johnson, "Near-optimal bin
// packing algorithms", MIT 1973). The rows of a window then have the order of their first records, and the parts of a
// row that of the records. With `concatenate`, the records of the window are shuffled, and cut wherever a row is full.
//
// A record without values is a part without values. Returns ResourceExhausted if there are more than 2^27 parts.
absl::StatusOr<RecordPacks> PackRecords(std::span<const uint32_t> lengths, const PackOptions& options);

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_RECORD_PACKS_H_
