// Takes a snapshot for metrics from the control loop.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_COLLECT_METRICS_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_COLLECT_METRICS_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "server/coordinator/metrics/coordinator_snapshot.h"
#include "server/coordinator/service/control_loop.h"

namespace penstock::coordinator {

using SnapshotDone = std::function<void(absl::StatusOr<std::shared_ptr<CoordinatorSnapshot>>)>;

// Collects the snapshot in several queries: one for the status and the sums, and one for the explanation of each job.
// Other requests get their turns in between. Calls `done` once, in a task of the executor or inside this call, unless
// the loop is destroyed first. `done` must not block. Passes ResourceExhausted to `done` if too many requests wait.
// Explains at most 64 jobs. Does not set the fields about the disk and about rejected callers. The loop must outlive
// the collection.
void CollectMetrics(ControlLoop* loop, SnapshotDone done);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_COLLECT_METRICS_H_
