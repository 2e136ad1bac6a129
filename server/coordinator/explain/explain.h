// Which resource holds a job back, in words and numbers.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_H_

#include "penstock/v1/explain.pb.h"
#include "server/coordinator/explain/explain_input.h"

namespace penstock {

// A reader is judged after so many seconds.
constexpr double kLeastSeconds = 3;
// A trainer that waits for less of its time is fed.
constexpr double kFed = 0.05;

// In this order; the first that holds is the limit:
//   NO_WORKER     no worker is live
//   FILES         workers say that files of the job fail: also when the trainer has not felt it yet
//   LOST_WORKER   the trainer waits, and says that it cannot use a worker
//   UNKNOWN       no reader has been seen for kLeastSeconds, or workers have said nothing yet
//   TRAINER       the reader that waits most waits for less than kFed of its time
//   SLOW_WORKER   it waits for one worker, which makes far less than others
//   CPU, COPYING, SHARED_MEMORY, NETWORK, STORAGE, MEMORY, WINDOW: what takes most of the time of the workers that it
//                 waits for
// The readers of `input`, at least one, are those of the job now.
v1::Explanation Explain(const ExplainInput& input);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_EXPLAIN_H_
