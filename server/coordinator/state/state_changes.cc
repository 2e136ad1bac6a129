// Changes that take effect when they are stored.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {

void CoordinatorState::BeginChange(std::vector<std::string> jobs, bool ends, Change change, Consequences* out) {
  for (const std::string& job : jobs) PS_CHECK(changing_.emplace(job, ends).second);
  change.jobs = std::move(jobs);
  out->changes.push_back(std::move(change));
}

bool CoordinatorState::IsEnding(const std::string& job) const {
  const auto found = changing_.find(job);
  return found != changing_.end() && found->second;
}

JobEntry* CoordinatorState::FindSubmission(const std::string& job, uint64_t uid) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return nullptr;
  if (found->second.job.uid() == uid) return &found->second;
  JobEntry* const next = found->second.next.get();
  return next != nullptr && next->job.uid() == uid ? next : nullptr;
}

// The other requests change nothing that is stored about a job, or check IsChanging or IsEnding themselves.
bool CoordinatorState::MustWait(const Request& request) const {
  if (changing_.empty()) return false;
  if (auto* submit = std::get_if<v1::SubmitRequest>(&request)) return IsChanging(submit->spec().name());
  if (auto* cancel = std::get_if<v1::CancelRequest>(&request)) return IsChanging(cancel->job());
  if (auto* remove = std::get_if<v1::DeleteRequest>(&request)) return IsChanging(remove->job());
  if (auto* purge = std::get_if<v1::PurgeRequest>(&request)) return IsChanging(purge->job());
  if (auto* pause = std::get_if<v1::PauseRequest>(&request)) return IsChanging(pause->job());
  if (auto* resume = std::get_if<v1::ResumeRequest>(&request)) return IsChanging(resume->job());
  if (auto* report = std::get_if<v1::ReportTaskRequest>(&request)) {
    const BoardTask* const task = board_.Find(report->task_id());
    return task != nullptr && IsChanging(task->task.job());
  }
  // Bad records of a job must not be stored after its end.
  if (auto* records = std::get_if<v1::ReportRecordsRequest>(&request)) {
    return std::any_of(records->jobs().begin(), records->jobs().end(),
                       [this](const v1::JobRecords& of) { return IsEnding(of.job()); });
  }
  if (auto* judge = std::get_if<v1::JudgeRecordsRequest>(&request)) {
    return IsEnding(sessions_.JobOf(judge->session_id()));
  }
  return false;
}

Effects CoordinatorState::End(Nanos now, Change change, const absl::Status& stored) {
  Consequences out;
  Effects effects;
  std::vector<std::string> ended;
  for (const std::string& job : change.jobs) {
    if (IsEnding(job)) ended.push_back(job);
    changing_.erase(job);
  }
  const std::string by = std::move(change.by);
  std::move(change.end)(*this, now, stored, &effects, &out);
  for (const std::string& job : change.jobs) {
    const auto found = jobs_.find(job);
    if (found == jobs_.end()) continue;
    JobEntry* const entry = &found->second;
    JobEntry* const next = entry->next.get();
    // A failure that FailJob found while this change was in progress.
    if (!entry->failure.empty() && (entry->preparing() || entry->ready())) {
      StoreFailure(entry, &out);
    } else if (next != nullptr && !next->failure.empty() && next->preparing()) {
      StoreFailure(next, &out);
    }
  }
  for (const std::string& job : ended) {  // RefreshView left it out while it was changing
    const auto found = jobs_.find(job);
    if (found != jobs_.end() && found->second.ready()) RefreshView(&found->second, &out);
  }
  return Settle(now, std::move(effects), by, &out);
}

}  // namespace penstock::coordinator
