// Rows that are made of several records: which values of which records each row has.
#ifndef PENSTOCK_PIPELINE_PLAN_RECORD_PACKS_H_
#define PENSTOCK_PIPELINE_PLAN_RECORD_PACKS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock::plan {

struct PackOptions {
  // The rows of a record with more than `length` values. kDrop: none; kTruncate: one, with its first values; kSplit:
  // one for each `length` values, and one for the rest.
  enum class Longer : uint8_t { kDrop, kTruncate, kSplit };

  uint64_t length = 0;  // values of a row, at least 1
  Longer longer = Longer::kSplit;
  // Values follow each other from row to row, and records are cut at the end of a row. Ignores `longer`.
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

// Row r has the parts from ends[r - 1] (0 for the first row) to ends[r], in their order. Their values follow each
// other.
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
