#include "pipeline/sources/snapshot_proto.h"

#include <utility>
#include <vector>

#include "pipeline/plan/snapshot_groups.h"

namespace penstock::sources {

SnapshotShard SnapshotShardOf(const v1::Shard& shard) {
  SnapshotShard out;
  out.root = shard.root();
  out.relative_path = shard.path();
  out.size = shard.size();
  out.record_count = shard.records();
  out.content_hash = shard.content_hash();
  out.data_bytes = shard.data_bytes();
  out.container = static_cast<ContainerKind>(shard.container());  // the numbers are equal
  if (shard.slice_stride() > 0) {
    out.slice = {.of = shard.indexed_records(), .first = shard.slice_first(), .stride = shard.slice_stride()};
  }
  out.groups = plan::GroupsOfShard(shard);
  return out;
}

absl::StatusOr<Snapshot> SnapshotOf(const v1::Snapshot& snapshot) {
  std::vector<SnapshotShard> shards;
  shards.reserve(static_cast<size_t>(snapshot.shards_size()));
  for (const v1::Shard& shard : snapshot.shards()) shards.push_back(SnapshotShardOf(shard));
  return Snapshot::Create(std::move(shards), {snapshot.set_shards().begin(), snapshot.set_shards().end()},
                          {snapshot.groups().begin(), snapshot.groups().end()});
}

}  // namespace penstock::sources
