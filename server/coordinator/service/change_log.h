// The coordinator's log lines about jobs, workers, views and traces: one line for each changed job or worker, however
// many jobs have new views.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_CHANGE_LOG_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_CHANGE_LOG_H_

#include <memory>
#include <vector>

#include "server/coordinator/state/events.h"

namespace penstock::coordinator {

// Logs the workers that one event changed, one line for each, and the views that followed from it. The last worker's
// line states the views; without a worker they have a line of their own. Call it before the effects are moved from.
void LogMembersAndViews(const Effects& effects);

// Logs the facts of one stored change: stored jobs, deleted jobs, added decisions, revocations and new keys of tickets,
// a line each. Other facts have no line. A deletion has no line if the change stores another job of the same name.
void LogFacts(const std::vector<std::shared_ptr<const v1::StoreEvent>>& facts);

// Logs the start of a trace, and its end when a program has fetched it. Other events have no line.
void LogTrace(const Event& event, const Effects& effects);

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_CHANGE_LOG_H_
