// Checks whether the files of a READY job still match its snapshot.
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/coordinator/state/event_log.h"

namespace penstock::coordinator {

uint64_t CoordinatorState::LookAtFiles(JobEntry* entry, Consequences* out) {
  if (entry->look != 0) return entry->look;
  v1::Task task;
  task.set_job(entry->job.name());
  task.set_job_uid(entry->job.uid());
  *task.mutable_list()->mutable_spec() = entry->job.spec();
  entry->look = board_.Add(std::move(task));
  out->wake_workers = true;
  return entry->look;
}

void CoordinatorState::EndLook(JobEntry* entry, const std::string& changed, const std::string& failed,
                               Consequences* out) {
  v1::FilesLook* look = entry->job.mutable_files_look();
  if (!changed.empty() && changed != look->changed()) {
    out->events.push_back(
        EventOf(v1::HistoryEvent::BAD_FILE, entry->job.name(), "", absl::StrCat("files have changed: ", changed)));
  }
  look->set_number(std::exchange(entry->look, 0));
  look->set_changed(changed);
  look->set_failed(failed);
  TouchJob(entry);
}

}  // namespace penstock::coordinator
