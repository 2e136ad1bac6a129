// Starts traces, and selects the processes that a trace of a job or a support file covers.
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "net/session_label.h"
#include "server/coordinator/state/beat_rhythm.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {

absl::StatusOr<v1::StartTraceReply> CoordinatorState::StartTrace(Nanos now, const v1::StartTraceRequest& request,
                                                                 const transport::Peer& caller, uint64_t id) {
  PS_ASSIGN_OR_RETURN(const std::vector<TraceParty> parties, TraceParties(request.job(), now));
  return traces_.Start(id, request, caller, parties, AllToldWithin(), now);
}

absl::StatusOr<std::vector<TraceParty>> CoordinatorState::TraceParties(const std::string& job, Nanos now) const {
  PS_ASSIGN_OR_RETURN(const JobEntry* const entry, FindReadJob(job, now, "there is nothing to be traced", {}));
  std::vector<TraceParty> parties;
  if (entry->view.has_value()) {
    for (const plan::ViewWorker& worker : entry->view->workers) {
      const auto found = workers_.all().find(worker.id);
      if (found == workers_.all().end() || !found->second.live() || !CanServe(found->second, *entry)) continue;
      parties.push_back({worker.id, true, found->second.info.version()});
    }
  }
  if (parties.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("job ", job,
                                                      " cannot be traced: no worker that serves it is "
                                                      "live, so it has no rows (`penstock workers`)"));
  }
  for (const SessionEntry* session : ReadersOf(*entry, now)) {
    parties.push_back({net::SessionLabel(session->id), false, session->open.version()});
  }
  return parties;
}

std::vector<SupportParty> CoordinatorState::SupportParties(Nanos now) const {
  std::vector<SupportParty> parties{{"", "coordinator", ""}};
  for (const auto& [id, worker] : workers_.all()) {
    if (worker.state == v1::WorkerStatus::LEFT) continue;
    parties.push_back({id, absl::StrCat("worker ", worker.name), worker.Beats() ? "" : workers_.WhyLost(now, worker)});
  }
  return parties;
}

Nanos CoordinatorState::AllToldWithin() const {
  const Nanos period = BeatPeriod(workers_.size() + sessions_.size(), options_.report, options_.dead_after);
  return period + period / 2;  // a quarter of the period is for the transfer
}

}  // namespace penstock::coordinator
