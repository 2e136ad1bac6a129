#include "pipeline/plan/record_groups.h"

#include "absl/strings/str_cat.h"

namespace penstock::plan {

absl::Status CheckLimits(size_t groups, size_t pairs) {
  if (groups > RecordGroups::kMaxGroups) {
    return absl::InvalidArgumentError(
        absl::StrCat("balance: more than ", RecordGroups::kMaxGroups,
                     " groups; balance by a value that many records have, such as their class"));
  }
  if (pairs > RecordGroups::kMaxPairs) {
    return absl::InvalidArgumentError(
        absl::StrCat("balance: more than ", RecordGroups::kMaxPairs,
                     " pairs of a group and a shard; make fewer, larger shards, or sort the records by group"));
  }
  return absl::OkStatus();
}

}  // namespace penstock::plan
