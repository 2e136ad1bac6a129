// Submitting, cancelling, deleting and ending jobs.
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "config/job_file.h"
#include "pipeline/plan/job_order.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/coordinator/state/event_log.h"

namespace penstock::coordinator {
namespace {

using google::protobuf::util::MessageDifferencer;

// Returns the first few differences, in the differencer's words.
std::string DifferencesOf(const v1::JobSpec& there, const v1::JobSpec& wanted) {
  MessageDifferencer differencer;
  std::string report;
  differencer.ReportDifferencesToString(&report);
  differencer.Compare(there, wanted);
  std::vector<std::string> lines = absl::StrSplit(report, '\n', absl::SkipEmpty());
  if (lines.size() > 5) {
    lines.resize(5);
    lines.push_back("...");
  }
  return absl::StrJoin(lines, "; ");
}

v1::Job NewJob(uint64_t uid, const v1::SubmitRequest& request, const std::string& owner) {
  v1::Job job;
  job.set_name(request.spec().name());
  job.set_uid(uid);
  *job.mutable_spec() = request.spec();
  job.set_allow_missing(request.allow_missing());
  job.set_state(v1::PREPARING);
  job.set_owner(owner);
  return job;
}

}  // namespace

v1::SubmitReply CoordinatorState::ReplyOfExisting(JobEntry* there, Consequences* out) {
  v1::SubmitReply reply;
  reply.set_existed(true);
  if (there->ready()) reply.set_files_look(LookAtFiles(there, out));
  *reply.mutable_job() = there->job;
  return reply;
}

absl::StatusOr<std::optional<v1::SubmitReply>> CoordinatorState::Submit(const v1::SubmitRequest& request,
                                                                        const transport::Peer& caller,
                                                                        Consequences* out) {
  const v1::JobSpec& spec = request.spec();
  if (caller.only_own) PS_RETURN_IF_ERROR(caller.MayAccess(spec.name()));
  if (spec.ByteSizeLong() > options_.max_spec_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("the job's description has ", spec.ByteSizeLong(),
                                                   " bytes; at most ", options_.max_spec_bytes, " are taken"));
  }
  PS_RETURN_IF_ERROR(config::MistakesToStatus(absl::StrCat("job ", spec.name()), config::CheckJobSpec(spec)));
  PS_RETURN_IF_ERROR(plan::CheckPlanOptions(plan::PlanOptionsOf(spec.order())));

  v1::Job job = NewJob(NextId(), request, caller.name);
  uint64_t first_view_number = 1;
  auto found = jobs_.find(spec.name());
  if (found != jobs_.end()) {
    JobEntry& there = found->second;
    const JobEntry* next = there.next.get();
    if (next != nullptr && next->preparing() && !request.replace() &&
        MessageDifferencer::Equals(next->job.spec(), spec)) {
      v1::SubmitReply reply;
      reply.set_existed(true);
      reply.set_replaces(true);
      *reply.mutable_job() = next->job;
      return reply;
    }
    const bool joins = (there.preparing() || there.ready()) && !request.replace();
    if (!joins) PS_RETURN_IF_ERROR(CheckMayChange(there, caller));
    if (there.preparing() || there.ready()) {  // its pause and its owner outlive a replacement
      job.set_owner(there.job.owner());
      job.set_paused_by(there.job.paused_by());
    }
    if (joins) {
      if (!MessageDifferencer::Equals(there.job.spec(), spec)) {
        return absl::AlreadyExistsError(absl::StrCat("job ", spec.name(), " is there with another description (",
                                                     DifferencesOf(there.job.spec(), spec),
                                                     "); submit under another name, or with --replace"));
      }
      if (next == nullptr || next->preparing()) return ReplyOfExisting(&there, out);
      Change change;  // the failed replacement is no longer wanted
      *change.facts.emplace_back().mutable_put_job() = ToStored(there, nullptr);
      change.end = [name = spec.name()](CoordinatorState& state, Nanos, const absl::Status& stored, Effects* effects,
                                        Consequences* then) {
        if (!stored.ok()) return;
        JobEntry& entry = state.jobs_.at(name);
        state.DropNext(&entry);
        state.TouchJob(&entry);
        effects->reply = state.ReplyOfExisting(&entry, then);
      };
      BeginChange({spec.name()}, false, std::move(change), out);
      return std::nullopt;
    }
    if (there.ready()) {
      SubmitInPlaceOf(there, std::move(job), out);
      return std::nullopt;
    }
    first_view_number = there.view ? there.view->n + 1 : there.first_view_number;
  }
  std::string goes = spec.name();
  if (found == jobs_.end()) {
    PS_ASSIGN_OR_RETURN(goes, FindJobToForget());
  }
  JobEntry submitted;
  submitted.first_view_number = first_view_number;
  submitted.job = std::move(job);
  Change change;
  std::vector<std::string> jobs = {spec.name()};
  if (!goes.empty()) change.facts.emplace_back().set_delete_job(goes);
  if (!goes.empty() && goes != spec.name()) jobs.push_back(goes);
  *change.facts.emplace_back().mutable_put_job() = ToStored(submitted, nullptr);
  change.end = [name = spec.name(), goes, submitted = std::move(submitted)](
                   CoordinatorState& state, Nanos, const absl::Status& stored, Effects* effects,
                   Consequences* then) mutable {
    if (!stored.ok()) return;
    if (const auto ended = state.jobs_.find(name); ended != state.jobs_.end()) {
      state.DropNext(&ended->second);
      state.board_.EraseJob(ended->second.job.uid());
      state.sessions_.CloseJob(name, "the job was submitted again");
      state.ForgetJob(ended->second);
      state.jobs_.erase(ended);
    } else if (!goes.empty()) {
      then->events.push_back(EventOf(v1::HistoryEvent::JOB_DELETED, goes, "",
                                     absl::StrCat("it had ended, and the list of jobs was full for ", name)));
      state.RemoveJob(goes);
    }
    then->events.push_back(EventOf(v1::HistoryEvent::SUBMITTED, name, "", ""));
    JobEntry& entry = state.jobs_[name] = std::move(submitted);
    state.StartPreparation(&entry, then);
    v1::SubmitReply reply;
    *reply.mutable_job() = entry.job;
    effects->reply = std::move(reply);
  };
  BeginChange(std::move(jobs), true, std::move(change), out);
  return std::nullopt;
}

void CoordinatorState::SubmitInPlaceOf(const JobEntry& there, v1::Job job, Consequences* out) {
  auto next = std::make_unique<JobEntry>();
  next->is_next = true;
  next->job = std::move(job);
  Change change;
  *change.facts.emplace_back().mutable_put_job() = ToStored(there, next.get());
  change.end = [name = there.job.name(), next = std::move(next)](CoordinatorState& state, Nanos,
                                                                 const absl::Status& stored, Effects* effects,
                                                                 Consequences* then) mutable {
    if (!stored.ok()) return;
    JobEntry& entry = state.jobs_.at(name);
    state.DropNext(&entry);
    entry.next = std::move(next);
    then->events.push_back(
        EventOf(v1::HistoryEvent::SUBMITTED, name, "", "a replacement; this job continues until that is ready"));
    state.StartPreparation(entry.next.get(), then);
    v1::SubmitReply reply;
    reply.set_replaces(true);
    *reply.mutable_job() = entry.next->job;
    effects->reply = std::move(reply);
  };
  BeginChange({there.job.name()}, false, std::move(change), out);
}

void CoordinatorState::DropNext(JobEntry* entry) {
  if (entry->next == nullptr) return;
  board_.EraseJob(entry->next->job.uid());
  entry->next.reset();
}

JobEntry* CoordinatorState::TakeItsPlace(JobEntry* next) {
  const std::string name = next->job.name();
  JobEntry* const there = &jobs_.at(name);
  const std::unique_ptr<JobEntry> keep = std::move(there->next);
  keep->is_next = false;
  keep->first_view_number = there->view ? there->view->n + 1 : there->first_view_number;
  keep->job.set_paused_by(there->job.paused_by());  // it may have changed since the submission
  board_.EraseJob(there->job.uid());
  sessions_.CloseJob(name, "the job was replaced (submit --replace)");
  ForgetJob(*there);
  *there = std::move(*keep);
  return there;
}

absl::Status CoordinatorState::Cancel(const v1::CancelRequest& request, const transport::Peer& caller,
                                      Consequences* out) {
  auto found = jobs_.find(request.job());
  if (found == jobs_.end()) return NoSuchJob(request.job(), caller);
  JobEntry& entry = found->second;
  PS_RETURN_IF_ERROR(CheckMayChange(entry, caller));
  if (entry.job.state() != v1::CANCELLED) CancelJob(entry, "", out);
  return absl::OkStatus();
}

void CoordinatorState::CancelJob(const JobEntry& entry, const std::string& why, Consequences* out) {
  Change change;
  change.retry = !why.empty();  // no caller waits for the result
  v1::StoredJob* const fact = change.facts.emplace_back().mutable_put_job();
  *fact = ToStored(entry, nullptr);
  fact->mutable_job()->set_state(v1::CANCELLED);
  fact->mutable_job()->set_error(why);
  fact->mutable_job()->clear_paused_by();
  change.end = [name = entry.job.name(), why](CoordinatorState& state, Nanos, const absl::Status& stored, Effects*,
                                              Consequences* then) {
    if (!stored.ok()) return;
    state.StopJob(&state.jobs_.at(name), v1::CANCELLED, why);
    then->events.push_back(EventOf(v1::HistoryEvent::JOB_CANCELLED, name, "", why));
  };
  BeginChange({entry.job.name()}, false, std::move(change), out);
}

absl::Status CoordinatorState::CheckEnded(const JobEntry& entry, bool running) const {
  if ((!entry.preparing() && !entry.ready()) || running) return absl::OkStatus();
  const std::string& name = entry.job.name();
  const size_t readers = sessions_.OfJob(name).size();
  return absl::FailedPreconditionError(absl::StrCat("job ", name, " is ", entry.ready() ? "ready" : "being prepared",
                                                    ", with ", readers, readers == 1 ? " reader" : " readers",
                                                    "; end it first (penstock cancel ", name, "), or give --running"));
}

absl::Status CoordinatorState::Delete(const v1::DeleteRequest& request, const transport::Peer& caller,
                                      Consequences* out) {
  auto found = jobs_.find(request.job());
  if (found == jobs_.end()) return NoSuchJob(request.job(), caller);
  const JobEntry& entry = found->second;
  PS_RETURN_IF_ERROR(CheckMayChange(entry, caller));
  PS_RETURN_IF_ERROR(CheckEnded(entry, request.running()));
  DeleteJob(entry, "", out);
  return absl::OkStatus();
}

void CoordinatorState::DeleteJob(const JobEntry& entry, const std::string& why, Consequences* out) {
  Change change;
  change.facts.emplace_back().set_delete_job(entry.job.name());
  change.end = [name = entry.job.name(), why](CoordinatorState& state, Nanos, const absl::Status& stored, Effects*,
                                              Consequences* then) {
    if (!stored.ok()) return;
    state.RemoveJob(name);
    then->events.push_back(EventOf(v1::HistoryEvent::JOB_DELETED, name, "", why));
  };
  BeginChange({entry.job.name()}, true, std::move(change), out);
}

void CoordinatorState::FailJob(JobEntry* entry, const std::string& error, Consequences* out) {
  board_.EraseJob(entry->job.uid());
  if (!entry->failure.empty()) return;
  entry->failure = error;
  if (!IsChanging(entry->job.name())) StoreFailure(entry, out);  // otherwise when that change ends
}

void CoordinatorState::StoreFailure(JobEntry* entry, Consequences* out) {
  const std::string& name = entry->job.name();
  const JobEntry& named = jobs_.at(name);
  Change change;
  change.retry = true;
  v1::StoredJob* const fact = change.facts.emplace_back().mutable_put_job();
  *fact = ToStored(named, named.next.get());
  v1::Job* const failed = entry->is_next ? fact->mutable_next() : fact->mutable_job();
  failed->set_state(v1::FAILED);
  failed->set_error(entry->failure);
  change.end = [name, uid = entry->job.uid()](CoordinatorState& state, Nanos, const absl::Status& stored, Effects*,
                                              Consequences* then) {
    JobEntry* const failing = state.FindSubmission(name, uid);
    if (!stored.ok() || failing == nullptr) return;
    then->events.push_back(
        EventOf(v1::HistoryEvent::JOB_FAILED, name, "",
                absl::StrCat(failing->is_next ? "the replacement failed, the job continues: " : "", failing->failure)));
    state.StopJob(failing, v1::FAILED, failing->failure);
  };
  BeginChange({name}, false, std::move(change), out);
}

void CoordinatorState::StopJob(JobEntry* entry, v1::JobState state, const std::string& error) {
  board_.EraseJob(entry->job.uid());
  if (!entry->is_next) {
    sessions_.CloseJob(entry->job.name(), state == v1::CANCELLED ? "the job was cancelled" : "the job failed");
  }
  if (state == v1::CANCELLED) DropNext(entry);
  entry->ForgetFoundShards();
  entry->open_shards = 0;
  entry->blend.reset();
  entry->job.set_state(state);
  entry->job.set_error(error);
  entry->job.clear_waiting();
  entry->job.clear_paused_by();
  entry->look = 0;
  entry->failure.clear();
  entry->inquiries = RecordInquiries();
  TouchJob(entry);
}

// Cancelled and failed jobs stay in the status until a new job needs the room.
absl::StatusOr<std::string> CoordinatorState::FindJobToForget() const {
  const auto new_jobs = std::count_if(changing_.begin(), changing_.end(),
                                      [this](const auto& changing) { return !jobs_.contains(changing.first); });
  if (jobs_.size() + static_cast<size_t>(new_jobs) < options_.max_jobs) return std::string();
  const JobEntry* oldest = nullptr;
  for (const auto& [name, entry] : jobs_) {
    if (entry.preparing() || entry.ready() || IsChanging(name)) continue;
    if (oldest == nullptr || entry.job.revision() < oldest->job.revision()) oldest = &entry;
  }
  if (oldest == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", jobs_.size(), " jobs, which is the limit; cancel some (penstock cancel)"));
  }
  return oldest->job.name();
}

v1::StoredJob CoordinatorState::ToStored(const JobEntry& entry, const JobEntry* next) {
  v1::StoredJob stored;
  *stored.mutable_job() = entry.job;
  stored.mutable_job()->clear_view();
  stored.mutable_job()->clear_waiting();
  stored.mutable_job()->clear_files_look();
  stored.set_conformance_digest(entry.digest);
  stored.mutable_pieces()->Add(entry.pieces.begin(), entry.pieces.end());
  if (next == nullptr) return stored;
  *stored.mutable_next() = next->job;
  stored.mutable_next()->clear_snapshot();
  stored.mutable_next()->clear_waiting();
  return stored;
}

}  // namespace penstock::coordinator
