// The groups of records in the shards of a job, while workers index them.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_FOUND_GROUPS_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_FOUND_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "penstock/v1/job.pb.h"
#include "penstock/v1/submitted_job.pb.h"

namespace penstock::coordinator {

// A value. Not thread-safe. Keeps each name once, within the limits of plan::RecordGroups.
class FoundGroups {
 public:
  // Replaces the names of the shard's groups, as a worker reports them, by numbers. Returns the errors of
  // plan::CheckLimits() for all shards so far, and Internal if the report is wrong.
  absl::Status Take(v1::Shard* shard);
  // Numbers the groups of all shards by their names, which it returns, ascending. If `step` makes bins, the groups
  // become the bins of their values (plan/value_bins.h).
  std::vector<std::string> Finish(const v1::Select& step, std::vector<v1::Shard>* shards) const;

 private:
  std::map<std::string, uint32_t> numbers_;  // by name; in the order of the reports
  size_t pairs_ = 0;                         // number of pairs of a group and a shard
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_FOUND_GROUPS_H_
