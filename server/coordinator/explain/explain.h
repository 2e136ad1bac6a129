// Finds the resource that limits a job, and explains the result in words and numbers.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_H_

#include "penstock/v1/explain.pb.h"
#include "server/coordinator/explain/explain_input.h"

namespace penstock::coordinator {

// Seconds for which the coordinator must have observed a reader before it judges the job.
constexpr double kLeastSeconds = 3;
// A trainer that waits for a smaller fraction of its time gets enough rows.
constexpr double kLeastWait = 0.05;

// Explains the wait of one trainer: the reader in `input.sessions` that waits for the largest fraction of its time.
// Checks these limits in order and returns the first that applies:
//   NO_WORKER      no worker is live
//   FILES          live workers report failing files of the job, even if the trainer does not wait for them yet
//   LOST_WORKER    the trainer waits for at least kLeastWait, and reports a worker that it cannot use
//   LIMIT_UNKNOWN  the trainer was observed for less than kLeastSeconds, or no live worker has reported yet
//   TRAINER        the trainer waits for less than kLeastWait, and is not in a long wait now
//   SLOW_WORKER    the trainer waits for one worker, which is far slower than the others
//   CAP            the job's own caps hold its rows
//   COPYING        the trainer's copying threads are busy, and the workers' threads are not
//   SHARED_MEMORY, NETWORK
//                  finished rows wait at the workers for shared memory or the network, and the threads are not busy
//   CPU, STORAGE, MEMORY, WINDOW
//                  the work or wait that takes most of the time of the workers' threads. CPU also, instead of STORAGE
//                  and MEMORY, if the threads that make rows get less than half of a CPU
// CAP and the limits below it judge the worker that causes most of the trainer's waiting (Straggler). If there is
// none, they judge all live workers, weighted by the trainer's wait for each. `input.sessions` must not be empty; it
// holds the current readers of the job.
v1::Explanation Explain(const ExplainInput& input);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_H_
