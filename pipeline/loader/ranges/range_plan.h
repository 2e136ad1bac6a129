// Which records of a shard are worth reading with one: where a request costs more than its bytes. Pure.
#ifndef PENSTOCK_PIPELINE_LOADER_RANGES_RANGE_PLAN_H_
#define PENSTOCK_PIPELINE_LOADER_RANGES_RANGE_PLAN_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "pipeline/records/shard_index.h"

namespace penstock {

struct RangeLimits {
  // A request takes some 30 ms, as long as 3 MB take at 100 MB/s; a chunk of 64 photographs has 7 MB.
  uint64_t most_bytes = uint64_t{8} << 20;
  uint64_t most_gap_bytes = uint64_t{1} << 20;  // that nobody wants, between two records that are wanted
  uint64_t waste_share = 4;                     // at most one byte in so many may be unwanted
  uint64_t most_looked = 4096;                  // records that `wanted` is asked about
};

// Records [first, first + count) of a shard, `wanted` of them wanted.
struct RecordRange {
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t wanted = 0;
  uint64_t bytes = 0;  // framed
  bool operator==(const RecordRange&) const = default;
};

// The range around `record`, which is wanted, whatever `wanted` says. It begins and ends with a record that is wanted
// and keeps to the limits; a record that is longer than most_bytes is a range of its own.
RecordRange PlanRange(const ShardIndex& index, uint64_t record, absl::FunctionRef<bool(uint64_t record)> wanted,
                      const RangeLimits& limits);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_RANGES_RANGE_PLAN_H_
