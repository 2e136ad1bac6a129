// Selects the workers and readers that a trace of a job covers.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "net/session_label.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock {

absl::StatusOr<std::vector<TraceParty>> CoordinatorState::TraceParties(const std::string& job, Nanos now) const {
  PS_ASSIGN_OR_RETURN(const JobEntry* const entry, FindReadJob(job, now, "there is nothing to be traced"));
  std::vector<TraceParty> parties;
  if (entry->view.has_value()) {
    for (const ViewWorker& worker : entry->view->workers) {
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
    parties.push_back({SessionLabel(session->id), false, session->open.version()});
  }
  return parties;
}

}  // namespace penstock
