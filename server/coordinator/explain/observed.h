// From what was said at two times to what happened between them.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_OBSERVED_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_OBSERVED_H_

#include <set>
#include <string>
#include <string_view>

#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"
#include "server/coordinator/explain/explain_input.h"

namespace penstock {

// What of a heartbeat is kept for explanations: no words.
v1::WorkerLoad CountsOf(const v1::WorkerLoad& load);

// Fills what the worker's two heartbeats, `between` apart, say of the job: rates, parts of its threads' time, stages.
// What it did not say leaves `out` as it is. Counters that went back (a worker that began anew) count from 0.
void ObserveWorker(const v1::WorkerLoad& then, const v1::WorkerLoad& now, Nanos between, const std::string& job,
                   WorkerInput* out);

// Fills what the session's two reports say of the time between them.
void ObserveSession(const v1::ReportSessionRequest& then, const v1::ReportSessionRequest& now, SessionInput* out);

// The file's path at the beginning of a trouble's line ("PATH: what is wrong").
std::string_view FileOf(std::string_view trouble);
// All that a path may be below a data root: "a/b/c", "b/c", "c".
void AddTails(std::string_view path, std::set<std::string_view>* tails);

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_OBSERVED_H_
