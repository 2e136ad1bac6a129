// Decides which records count as bad because every copy of them is damaged.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {
namespace {

constexpr int kMostInRequest = 4096;  // records of each kind
constexpr uint32_t kAskAgainMs = 250;
// A new watcher receives all decisions of a job in one message.
constexpr size_t kMostDecisions = 1 << 20;

}  // namespace

absl::StatusOr<v1::JudgeRecordsReply> CoordinatorState::JudgeRecords(Nanos now, const v1::JudgeRecordsRequest& request,
                                                                     const transport::Peer& caller, Consequences* out) {
  v1::JudgeRecordsReply reply;
  const absl::StatusOr<SessionEntry*> found = sessions_.ActFor(request.session_id(), transport::Act::kJudge, caller);
  if (absl::IsNotFound(found.status()) || (found.ok() && (*found)->job_uid != request.job_uid())) {
    reply.set_unknown_session(true);
    return reply;
  }
  PS_ASSIGN_OR_RETURN(const SessionEntry* const session, found);
  if (request.records_size() > kMostInRequest || request.decided_size() > kMostInRequest) {
    return absl::InvalidArgumentError(
        absl::StrCat("JudgeRecords: a request has at most ", kMostInRequest, " records and as many decided ones"));
  }
  JobEntry* const entry = &jobs_.at(session->open.job());
  const uint64_t records = entry->frozen.records();
  google::protobuf::RepeatedPtrField<v1::BadRecord> decided;
  for (const v1::BadRecord& record : request.decided()) {
    if (record.record() < records && !entry->decisions.Contains(record.record())) *decided.Add() = record;
  }
  const size_t before = out->changes.size();
  Decide(entry, decided, true, out);
  if (out->changes.size() == before) return AnswerJudge(now, request, caller, out);
  Change& change = out->changes.back();
  change.end = [request, caller, decide = std::move(change.end)](CoordinatorState& state, Nanos then_now,
                                                                 const absl::Status& stored, Effects* effects,
                                                                 Consequences* then) mutable {
    std::move(decide)(state, then_now, stored, effects, then);
    if (stored.ok()) effects->reply = state.AnswerJudge(then_now, request, caller, then);
  };
  return reply;
}

v1::JudgeRecordsReply CoordinatorState::AnswerJudge(Nanos now, const v1::JudgeRecordsRequest& request,
                                                    const transport::Peer& caller, Consequences* out) {
  v1::JudgeRecordsReply reply;
  const absl::StatusOr<SessionEntry*> session = sessions_.ActFor(request.session_id(), transport::Act::kJudge, caller);
  if (!session.ok()) {  // the job has failed because of the decisions
    reply.set_unknown_session(true);
    return reply;
  }
  const std::string name = (*session)->open.job();
  JobEntry* const entry = &jobs_.at(name);
  const uint64_t records = entry->frozen.records();
  const bool idle = entry->inquiries.empty();
  for (const uint64_t record : request.records()) {
    if (record >= records || entry->deciding.contains(record)) continue;
    if (entry->decisions.Contains(record)) {
      reply.add_bad(record);
    } else if (entry->inquiries.Ask(now, record) == RecordInquiries::Verdict::kIntact) {
      reply.add_intact(record);
    }
  }
  if (idle && !entry->inquiries.empty()) {
    inquiring_.insert(name);
    SetInquiryWorkers(now, entry);
  }
  AdvanceInquiries(now, entry, false, "", out);
  reply.set_ask_again_ms(kAskAgainMs);
  return reply;
}

void CoordinatorState::Decide(JobEntry* entry, const google::protobuf::RepeatedPtrField<v1::BadRecord>& damaged,
                              bool by_reader, Consequences* out) {
  if (IsEnding(entry->job.name())) return;  // if it does not end, readers ask again
  v1::StoredDecisions fresh;
  fresh.set_job(entry->job.name());
  fresh.set_begin(entry->decisions.size() + entry->deciding.size());
  for (const v1::BadRecord& record : damaged) {
    if (entry->decisions.Contains(record.record()) || !entry->deciding.insert(record.record()).second) continue;
    v1::BadRecord* const decided = fresh.add_records();
    decided->set_record(record.record());
    decided->set_every_copy(true);
    decided->set_by_reader(by_reader);
  }
  if (!by_reader) QuarantineDecided(entry, damaged, out);
  if (fresh.records().empty()) return;
  Change change;
  change.retry = true;
  *change.facts.emplace_back().mutable_add_decisions() = fresh;
  change.end = [uid = entry->job.uid(), by_reader, fresh = std::move(fresh)](
                   CoordinatorState& state, Nanos now, const absl::Status& stored, Effects*, Consequences* then) {
    JobEntry* const of = state.FindSubmission(fresh.job(), uid);
    if (!stored.ok() || of == nullptr) return;
    const bool idle = of->inquiries.empty();
    for (const v1::BadRecord& record : fresh.records()) {
      of->deciding.erase(record.record());
      of->decisions.Add(record.record());
      // The record counts in the quarantine when a worker confirms it.
      if (by_reader && of->ready()) of->inquiries.Confirm(now, record.record());
    }
    of->progress_to_tell = true;
    if (idle && !of->inquiries.empty()) {
      state.inquiring_.insert(fresh.job());
      state.SetInquiryWorkers(now, of);
    }
    if (by_reader) state.AdvanceInquiries(now, of, false, "", then);
    if (of->decisions.size() <= kMostDecisions || !of->ready()) return;
    state.FailJob(of,
                  absl::StrCat("more than ", kMostDecisions, " records have no intact copy (penstock quarantine ",
                               fresh.job(), " lists some); repair the data and submit it again"),
                  then);
  };
  out->changes.push_back(std::move(change));
}

void CoordinatorState::SetInquiryWorkers(Nanos now, JobEntry* entry) {
  std::vector<RecordInquiries::Worker> workers;
  for (const auto& [id, worker] : workers_.all()) {
    if (!CanServe(worker, *entry)) continue;
    if (!worker.Beats() && !worker.lost_since.has_value()) continue;
    workers.push_back({id, worker.info.host(), worker.lost_since});
  }
  entry->inquiries.SetWorkers(now, workers);
}

void CoordinatorState::AdvanceInquiries(Nanos now, JobEntry* entry, bool all, std::string_view answering,
                                        Consequences* out) {
  const RecordInquiries::Progress progress = entry->inquiries.Advance(now, all, [this] { return board_.NewId(); });
  // The reply to an answering worker contains its next batch.
  for (const std::string& worker : progress.asked) out->wake_workers = out->wake_workers || worker != answering;
  if (progress.damaged.empty()) return;
  Decide(entry, {progress.damaged.begin(), progress.damaged.end()}, false, out);
}

void CoordinatorState::AdvanceAllInquiries(Nanos now, Consequences* out) {
  for (auto name = inquiring_.begin(); name != inquiring_.end();) {
    const auto found = jobs_.find(*name);
    if (found == jobs_.end() || found->second.inquiries.empty()) {
      name = inquiring_.erase(name);
      continue;
    }
    SetInquiryWorkers(now, &found->second);
    AdvanceInquiries(now, &found->second, true, "", out);
    ++name;
  }
}

bool CoordinatorState::TakeChecks(Nanos now, const v1::ReportTaskRequest& request, Consequences* out) {
  for (const std::string& name : inquiring_) {
    const auto found = jobs_.find(name);
    if (found == jobs_.end()) continue;
    // Without checks, for example after a failure of the worker, all its copies count as unreadable.
    if (!found->second.inquiries.Answer(now, request.worker_id(), request.task_id(), request.checks())) continue;
    AdvanceInquiries(now, &found->second, false, request.worker_id(), out);
    return true;
  }
  return false;
}

void CoordinatorState::AddChecks(const std::string& worker, google::protobuf::RepeatedPtrField<v1::Task>* tasks) {
  for (const std::string& name : inquiring_) {
    const auto found = jobs_.find(name);
    if (found == jobs_.end()) continue;
    const RecordInquiries::Batch* const batch = found->second.inquiries.Fetch(worker);
    if (batch == nullptr) continue;
    v1::Task* const task = tasks->Add();
    task->set_id(batch->id);
    task->set_job(name);
    task->set_job_uid(found->second.job.uid());
    task->mutable_check()->mutable_records()->Add(batch->records.begin(), batch->records.end());
  }
}

bool CoordinatorState::HasWaitingTasks() const {
  if (board_.HasWaiting()) return true;
  return std::any_of(inquiring_.begin(), inquiring_.end(), [this](const std::string& name) {
    const auto found = jobs_.find(name);
    return found != jobs_.end() && found->second.inquiries.HasUnfetched();
  });
}

}  // namespace penstock::coordinator
