// Converts messages to snapshots.
#ifndef PENSTOCK_SERVER_COMMON_SNAPSHOT_PROTO_H_
#define PENSTOCK_SERVER_COMMON_SNAPSHOT_PROTO_H_

#include "absl/status/statusor.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/sources/snapshot.h"

namespace penstock::server {

sources::SnapshotShard SnapshotShardOf(const v1::Shard& shard);

// Returns the snapshot that a job froze. Returns InvalidArgument if the message is not a valid snapshot.
absl::StatusOr<sources::Snapshot> SnapshotOf(const v1::Snapshot& snapshot);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_SNAPSHOT_PROTO_H_
