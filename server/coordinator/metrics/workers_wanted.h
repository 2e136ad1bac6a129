// Estimates how many workers would feed all trainers, for an autoscaler. Pure.
#ifndef PENSTOCK_SERVER_COORDINATOR_METRICS_WORKERS_WANTED_H_
#define PENSTOCK_SERVER_COORDINATOR_METRICS_WORKERS_WANTED_H_

#include <cstdint>

#include "server/coordinator/metrics/coordinator_snapshot.h"

namespace penstock::coordinator {

// Returns the estimate, which is at least 1: the rows per second that the trainers of all jobs would take without
// waiting, divided by the mean capacity of the live workers. A job whose limit more workers would not change counts
// with its present rate.
//
// Returns at least the number of live workers while
//   - a job waits for its workers (limits CPU, STORAGE, MEMORY, SLOW_WORKER)
//   - the demand of a job is unknown: its trainers were observed too briefly or take rows at any rate, its files fail,
//     it is being prepared, or it is not explained because too many jobs have trainers
//   - no worker has measured its capacity, and a job has trainers
uint32_t WorkersWanted(const CoordinatorSnapshot& snapshot);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_METRICS_WORKERS_WANTED_H_
