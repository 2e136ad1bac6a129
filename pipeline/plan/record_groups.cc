#include "pipeline/plan/record_groups.h"

#include "absl/strings/str_cat.h"

namespace penstock::plan {

absl::Status CheckLimits(size_t groups, size_t pairs) {
  if (groups > RecordGroups::kMaxGroups) {
    return absl::InvalidArgumentError(absl::StrCat(
        "more than ", RecordGroups::kMaxGroups,
        " groups of records; group by a value that many records have, such as a class, or `length // 16`"));
  }
  if (pairs > RecordGroups::kMaxPairs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "more than ", RecordGroups::kMaxPairs,
        " pairs of a group and a shard; group by a coarser value, such as `length // 16`, make fewer, larger "
        "shards, or sort the records by group"));
  }
  return absl::OkStatus();
}

absl::Status NoWeightError() {
  return absl::InvalidArgumentError(
      "weights: all records have a weight of 0, so an epoch has no rows; give at least one record a greater weight");
}

}  // namespace penstock::plan
