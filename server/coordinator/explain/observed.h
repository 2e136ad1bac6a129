// Computes rates and fractions from the counters of two reports.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_OBSERVED_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_OBSERVED_H_

#include <set>
#include <string>
#include <string_view>

#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"
#include "server/coordinator/explain/explain_input.h"

namespace penstock::coordinator {

// Returns the load of a heartbeat without its errors and its tuning. A history of loads needs only the counts.
v1::WorkerLoad CountsOf(const v1::WorkerLoad& load);

// Sets the fields that follow from two heartbeats of the worker, `between` apart, for the job: rates, fractions of its
// threads' time, stages and caches. Leaves other fields unchanged, and all fields if `now` has no load of the job or no
// time was counted. Reads out->threads. Counters that decreased, because the worker restarted, count from 0.
void ObserveWorker(const v1::WorkerLoad& then, const v1::WorkerLoad& now, Nanos between, const std::string& job,
                   WorkerInput* out);

// Sets the fields that follow from two reports of the session.
void ObserveSession(const v1::ReportSessionRequest& then, const v1::ReportSessionRequest& now, SessionInput* out);

// Returns the path at the beginning of an error line ("PATH: error").
std::string_view FileOf(std::string_view line);
// Adds all suffixes that may be the path below a data root: "a/b/c", "b/c", "c".
void AddTails(std::string_view path, std::set<std::string_view>* tails);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_OBSERVED_H_
