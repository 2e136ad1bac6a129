// Determines which resource limits a job, in words and numbers.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_H_

#include "penstock/v1/explain.pb.h"
#include "server/coordinator/explain/explain_input.h"

namespace penstock::coordinator {

// Minimum time of observation before a reader is judged.
constexpr double kLeastSeconds = 3;
// A trainer that waits for a smaller fraction of its time gets enough rows.
constexpr double kLeastWait = 0.05;

// Checks these limits in order; the first that applies is the result:
//   NO_WORKER     no worker is live
//   FILES         workers report that files of the job fail, even if the trainer does not wait for them yet
//   LOST_WORKER   the trainer waits, and reports that it cannot use a worker
//   UNKNOWN       no reader was observed for kLeastSeconds, or no worker has reported yet
//   TRAINER       the reader that waits most waits for less than kLeastWait of its time
//   SLOW_WORKER   it waits for one worker, which is far slower than others
//   others        the resource that takes most of the time of the workers that it waits for
// The others are CPU, COPYING, SHARED_MEMORY, NETWORK, STORAGE, MEMORY and WINDOW. `input` must have at least one
// reader, all of them current readers of the job.
v1::Explanation Explain(const ExplainInput& input);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_H_
