// The groups of a balanced data set in messages.
#ifndef PENSTOCK_PIPELINE_PLAN_SNAPSHOT_GROUPS_H_
#define PENSTOCK_PIPELINE_PLAN_SNAPSHOT_GROUPS_H_

#include "pipeline/plan/record_groups.h"

namespace penstock::plan {

// Returns the groups of a v1::Shard of a snapshot.
template <typename Shard>
ShardGroups GroupsOfShard(const Shard& shard) {
  const auto& groups = shard.groups();
  return {{groups.groups().begin(), groups.groups().end()}, {groups.records().begin(), groups.records().end()}};
}

// Returns the groups of a v1::Snapshot, or none.
template <typename Snapshot>
RecordGroups GroupsOf(const Snapshot& snapshot) {
  RecordGroups groups{{snapshot.groups().begin(), snapshot.groups().end()}, {}};
  if (groups.empty()) return groups;
  for (const auto& shard : snapshot.shards()) groups.shards.push_back(GroupsOfShard(shard));
  return groups;
}

}  // namespace penstock::plan

#endif  // PENSTOCK_PIPELINE_PLAN_SNAPSHOT_GROUPS_H_
