// Converts messages to snapshots.
#ifndef PENSTOCK_PIPELINE_SOURCES_SNAPSHOT_PROTO_H_
#define PENSTOCK_PIPELINE_SOURCES_SNAPSHOT_PROTO_H_

#include "absl/status/statusor.h"
#include "penstock/v1/submitted_job.pb.h"
#include "pipeline/sources/snapshot.h"

namespace penstock::sources {

SnapshotShard SnapshotShardOf(const v1::Shard& shard);

// Returns the snapshot that a job froze. Returns InvalidArgument if the message is not a valid snapshot.
absl::StatusOr<Snapshot> SnapshotOf(const v1::Snapshot& snapshot);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_SNAPSHOT_PROTO_H_
