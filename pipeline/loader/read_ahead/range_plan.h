// Chooses the records of a shard that are worth one read, for storage whose requests cost more than their bytes. Pure.
#ifndef PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RANGE_PLAN_H_
#define PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RANGE_PLAN_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::loader {

struct RangeLimits {
  // A request takes about 30 ms, as long as 3 MB at 100 MB/s. A chunk of 64 photographs has 7 MB.
  uint64_t most_bytes = uint64_t{8} << 20;
  uint64_t most_gap_bytes = uint64_t{1} << 20;  // unwanted bytes between two wanted records
  uint64_t waste_share = 4;                     // at most one byte in waste_share is unwanted
  uint64_t most_looked = 4096;                  // largest number of records for which `wanted` is called
};

// Records [first, first + count) of a shard, of which `wanted` are wanted.
struct RecordRange {
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t wanted = 0;
  uint64_t bytes = 0;  // with framing
  bool operator==(const RecordRange&) const = default;
};

// Returns the range around `record`, which counts as wanted. The range begins and ends with a wanted record and
// observes the limits. A record that is longer than most_bytes is a range by itself, and so is each record of an index
// that is not in the order of its file.
RecordRange PlanRange(const sources::ShardIndex& index, uint64_t record,
                      absl::FunctionRef<bool(uint64_t record)> wanted, const RangeLimits& limits);

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RANGE_PLAN_H_
