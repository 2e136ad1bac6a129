// Reads the counters of a worker's parts for metrics.
#ifndef PENSTOCK_SERVER_WORKER_METRICS_SNAPSHOT_H_
#define PENSTOCK_SERVER_WORKER_METRICS_SNAPSHOT_H_

#include <cstddef>

#include "pipeline/host/loader_host.h"
#include "server/metrics/disk_rooms.h"
#include "server/worker/indexes/shard_indexes.h"
#include "server/worker/jobs/served_jobs.h"
#include "server/worker/metrics/worker_metrics.h"
#include "server/worker/stream/session_acceptor.h"

namespace penstock::worker {

// Parts of one worker. None is null.
struct SnapshotParts {
  host::LoaderHost* host;
  const SessionShared* shared;
  ShardIndexes* indexes;
  ServedJobs* jobs;
  server::DiskRooms* rooms;  // state directory; then the folder of the disk cache, if there is one
};

// Limits for the lines about files that a worker cannot read.
inline constexpr size_t kFileErrorLines = 8;
inline constexpr size_t kFileErrorBytes = 300;

// Returns the counters of the parts. The caller sets the other fields: stages, memory budget, rings, limit of sessions,
// drain and coordinator. Takes a few locks briefly, one after another. Thread-safe.
WorkerSnapshot TakeSnapshot(const SnapshotParts& parts);

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_METRICS_SNAPSHOT_H_
