// The coordinator's log lines about jobs, workers, views and traces: one line for each change, however many jobs or
// workers it concerns.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_CHANGE_LOG_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_CHANGE_LOG_H_

#include "server/coordinator/state/events.h"

namespace penstock::coordinator {

// Logs the workers that one event changed, one line for each, and the views that followed from it. The last worker's
// line states the views; without a worker they have a line of their own. Call it before the effects are moved from.
void LogMembersAndViews(const Effects& effects);

// Logs a stored change of a job or of its decisions. Other facts have no line.
void LogFact(const v1::StoreEvent& fact);

// Logs the start of a trace, and its end when a program has fetched it. Other events have no line.
void LogTrace(const Event& event, const Effects& effects);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_CHANGE_LOG_H_
