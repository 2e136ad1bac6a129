// Snapshots from their messages.
#ifndef PENSTOCK_SERVER_COMMON_SNAPSHOT_PROTO_H_
#define PENSTOCK_SERVER_COMMON_SNAPSHOT_PROTO_H_

#include "absl/status/statusor.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/records/snapshot.h"

namespace penstock {

SnapshotShard SnapshotShardOf(const v1::Shard& shard);

// The snapshot that a job froze. InvalidArgument where it is none.
absl::StatusOr<Snapshot> SnapshotOf(const v1::Snapshot& snapshot);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COMMON_SNAPSHOT_PROTO_H_
