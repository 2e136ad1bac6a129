// The groups of a data set's records, such as the classes of a label.
#ifndef PENSTOCK_PIPELINE_PLAN_RECORD_GROUPS_H_
#define PENSTOCK_PIPELINE_PLAN_RECORD_GROUPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace penstock::plan {

// The groups of one shard. Its records are numbered in the order of their groups.
struct ShardGroups {
  std::vector<uint32_t> groups;   // numbers of the groups, ascending
  std::vector<uint32_t> records;  // the number of records of each, at least 1

  bool operator==(const ShardGroups&) const = default;
};

// Returns the number of a name among ascending names that include it.
inline uint32_t NumberOf(std::string_view name, const std::vector<std::string>& names) {
  return static_cast<uint32_t>(std::lower_bound(names.begin(), names.end(), name) - names.begin());
}

// The groups of all shards.
struct RecordGroups {
  static constexpr size_t kMaxGroups = 16384;
  // Pairs of a group and a shard. Each takes about 40 bytes in each process that knows the order.
  static constexpr size_t kMaxPairs = size_t{1} << 22;

  std::vector<std::string> names;  // by number; ascending by their bytes
  std::vector<ShardGroups> shards;

  bool empty() const { return names.empty(); }
};

// Returns InvalidArgument, with the way out, if there are more groups than kMaxGroups, or more pairs of a group and a
// shard with records of it than kMaxPairs.
absl::Status CheckLimits(size_t groups, size_t pairs);

// Returns the error of a job whose records all have a weight of 0.
absl::Status NoWeightError();

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_RECORD_GROUPS_H_
