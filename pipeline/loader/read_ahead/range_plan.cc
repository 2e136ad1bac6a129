#include "pipeline/loader/read_ahead/range_plan.h"

namespace penstock::loader {

RecordRange PlanRange(const sources::ShardIndex& index, uint64_t record,
                      absl::FunctionRef<bool(uint64_t record)> wanted, const RangeLimits& limits) {
  RecordRange range{record, 1, 1, index.StoredBytes(record)};
  if (!index.is_in_file_order()) return range;
  uint64_t useful = range.bytes, looked = 0;
  // Records beyond the range that were examined: the bytes and the number of the wanted ones, and the unwanted bytes
  // since the last of them.
  uint64_t more = 0, more_wanted = 0, gap = 0;
  // Examines record `k`, which would extend the range to [from, to). Returns whether to continue in this direction.
  const auto look = [&](uint64_t k, uint64_t from, uint64_t to) {
    const uint64_t bytes = index.RangeBytes(from, to - from);
    if (bytes > limits.most_bytes || looked++ >= limits.most_looked) return false;
    if (!wanted(k)) return (gap += index.StoredBytes(k)) <= limits.most_gap_bytes;
    gap = 0;
    more += index.StoredBytes(k);
    ++more_wanted;
    if ((bytes - useful - more) * limits.waste_share > bytes) return true;
    useful += more;
    range = {from, to - from, range.wanted + more_wanted, bytes};
    more = more_wanted = 0;
    return true;
  };
  // Upwards first, because an order that follows the data goes upwards.
  const uint64_t begin = record, records = index.record_count();
  for (uint64_t k = record + 1; k < records && look(k, begin, k + 1); ++k) {
  }
  more = more_wanted = gap = 0;
  const uint64_t end = range.first + range.count;
  for (uint64_t k = record; k > 0 && look(k - 1, k - 1, end); --k) {
  }
  return range;
}

}  // namespace penstock::loader
