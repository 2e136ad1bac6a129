#include "pipeline/loader/ranges/range_plan.h"

namespace penstock {

RecordRange PlanRange(const ShardIndex& index, uint64_t record, absl::FunctionRef<bool(uint64_t record)> wanted,
                      const RangeLimits& limits) {
  RecordRange range{record, 1, 1, index.FramedLength(record)};
  uint64_t useful = range.bytes, looked = 0;
  // Of the records that were looked at beyond the range: what is wanted of them, and of how many.
  uint64_t more = 0, more_wanted = 0, gap = 0;
  // Looks at record `k`, by which the range would become [from, to). Whether to go on in this direction.
  const auto look = [&](uint64_t k, uint64_t from, uint64_t to) {
    const uint64_t bytes = index.RangeBytes(from, to - from);
    if (bytes > limits.most_bytes || looked++ >= limits.most_looked) return false;
    if (!wanted(k)) return (gap += index.FramedLength(k)) <= limits.most_gap_bytes;
    gap = 0;
    more += index.FramedLength(k);
    ++more_wanted;
    if ((bytes - useful - more) * limits.waste_share > bytes) return true;
    useful += more;
    range = {from, to - from, range.wanted + more_wanted, bytes};
    more = more_wanted = 0;
    return true;
  };
  // Up first: an order that goes on through the data goes up.
  const uint64_t begin = record, records = index.record_count();
  for (uint64_t k = record + 1; k < records && look(k, begin, k + 1); ++k) {
  }
  more = more_wanted = gap = 0;
  const uint64_t end = range.first + range.count;
  for (uint64_t k = record; k > 0 && look(k - 1, k - 1, end); --k) {
  }
  return range;
}

}  // namespace penstock
