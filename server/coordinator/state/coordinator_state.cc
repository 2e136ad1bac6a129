#include "server/coordinator/state/coordinator_state.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/near_name.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "net/view_proto.h"
#include "server/coordinator/snapshot_pieces.h"

namespace penstock::coordinator {
namespace {

constexpr size_t kRememberedRemovals = 1024;

// Bounds the error list of a load, because the coordinator keeps the load until the worker's next heartbeat.
void ShortenFileErrors(v1::WorkerLoad* load) {
  constexpr int kMost = 16;
  constexpr size_t kMostBytes = 1024;
  auto* file_errors = load->mutable_troubles();
  if (file_errors->size() > kMost) {
    const int left_out = file_errors->size() - kMost + 1;
    file_errors->DeleteSubrange(kMost - 1, left_out);
    *file_errors->Add() = absl::StrCat("and ", left_out, " more like these");
  }
  for (std::string& line : *file_errors) {
    TruncateUtf8(&line, kMostBytes);
  }
}

std::string SessionIdOf(const std::array<uint64_t, 2>& bits) {
  return absl::StrCat(absl::Hex(bits[0], absl::kZeroPad16), absl::Hex(bits[1], absl::kZeroPad16));
}

template <typename T>
void SetReply(absl::StatusOr<T> result, Effects* effects) {
  if (result.ok()) {
    effects->reply = *std::move(result);
  } else {
    effects->status = std::move(result).status();
  }
}

template <typename T>
void SetReply(absl::Status status, Effects* effects) {
  effects->status = std::move(status);
  effects->reply = T();
}

// Returns the id of the worker in whose name the request acts, or null.
const std::string* ServingWorkerOf(const Request& request) {
  if (const auto* hello = std::get_if<v1::RegisterWorkerRequest>(&request)) return &hello->id();
  if (const auto* beat = std::get_if<v1::HeartbeatRequest>(&request)) return &beat->id();
  if (const auto* report = std::get_if<v1::ReportTaskRequest>(&request)) return &report->worker_id();
  if (const auto* records = std::get_if<v1::ReportRecordsRequest>(&request)) return &records->worker_id();
  if (const auto* files = std::get_if<v1::PutSupportRequest>(&request)) return &files->worker_id();
  if (const auto* turn = std::get_if<AskIndexTurn>(&request)) return &turn->worker;
  return nullptr;
}

}  // namespace

CoordinatorState::CoordinatorState(const StateOptions& options, Nanos now, uint64_t term, bool restarted)
    : options_(options),
      term_(term),
      started_(now),
      restarted_(restarted),
      revision_((term << 32) | 1),
      workers_(options),
      board_((term << 32) | 1),
      sessions_(options),
      traces_(options.may_act),
      support_(options.may_act),
      tickets_(options.tickets),
      history_(options.unix_ms),
      last_check_(now) {}

absl::StatusOr<CoordinatorState> CoordinatorState::Restore(const StateOptions& options, Nanos now, uint64_t term,
                                                           const v1::StoredState& stored) {
  CoordinatorState state(options, now, term, stored.term() != 0);
  for (const v1::StoredWorker& worker : stored.workers()) state.workers_.Restore(now, worker);
  std::vector<v1::StoreEvent> tickets;
  for (const auto& key : stored.ticket_keys()) *tickets.emplace_back().mutable_put_ticket_key() = key;
  for (const auto& revocation : stored.revocations()) *tickets.emplace_back().mutable_put_revocation() = revocation;
  state.ApplyTicketFacts(tickets);
  state.history_.Restore(stored.history());
  std::map<std::string_view, const std::string*> pieces;
  for (const v1::StoredPiece& piece : stored.pieces()) pieces[piece.name()] = &piece.data();
  const auto find_piece = [&pieces](const std::string& name) {
    const auto found = pieces.find(name);
    return found == pieces.end() ? nullptr : found->second;
  };
  for (const v1::StoredJob& job : stored.jobs()) {
    JobEntry& entry = state.jobs_[job.job().name()];
    entry.job = job.job();
    entry.pieces.assign(job.pieces().begin(), job.pieces().end());
    const absl::StatusOr<std::string> wire = JoinPieces(entry.pieces, find_piece);
    absl::StatusOr<ShardList> shards = wire.ok() ? ShardList::FromWire(*wire) : wire.status();
    if (!shards.ok()) {
      return absl::DataLossError(absl::StrCat("job ", job.job().name(), ": ", std::string(shards.status().message())));
    }
    entry.frozen = *std::move(shards);
    entry.digest = job.conformance_digest();
    if (!job.has_next()) continue;
    entry.next = std::make_unique<JobEntry>();
    entry.next->is_next = true;
    entry.next->job = job.next();
  }
  for (const v1::StoredView& stored_view : stored.views()) {
    auto found = state.jobs_.find(stored_view.job());
    if (found == state.jobs_.end()) {
      return absl::DataLossError(absl::StrCat("a view of job ", stored_view.job(), ", which is not there"));
    }
    absl::StatusOr<plan::View> view = net::FromProto(stored_view.view());
    if (!view.ok()) {
      return absl::DataLossError(
          absl::StrCat("the view of job ", stored_view.job(), ": ", std::string(view.status().message())));
    }
    found->second.view = *std::move(view);
    *found->second.job.mutable_view() = stored_view.view();
  }
  for (const v1::StoredBadRecords& bad : stored.bad_records()) {
    auto found = state.jobs_.find(bad.job());
    if (found == state.jobs_.end()) continue;
    for (const v1::BadRecord& record : bad.records()) {
      found->second.quarantine.Add(record);
      found->second.reported.Add(record);
    }
  }
  for (const v1::StoredDecisions& decisions : stored.decisions()) {
    auto found = state.jobs_.find(decisions.job());
    if (found == state.jobs_.end()) continue;
    JobEntry& entry = found->second;
    for (const v1::BadRecord& record : decisions.records()) {
      entry.decisions.Add(record.record());
      if (!record.by_reader() || !entry.ready() || entry.quarantine.Contains(record.record())) continue;
      entry.inquiries.Confirm(now, record.record());
      state.inquiring_.insert(entry.job.name());
    }
  }
  Consequences out;
  for (auto& [name, entry] : state.jobs_) {
    if (entry.ready()) {
      absl::Status derived = state.FillDerived(&entry);
      if (derived.ok() && entry.view &&
          (entry.view->key_space != entry.weights->key_space() ||
           entry.job.view().policy() != entry.job.spec().assignment().policy())) {
        derived = absl::DataLossError("its view is of another key space or policy");
      }
      if (!derived.ok()) {
        return absl::DataLossError(absl::StrCat("job ", name, ": ", std::string(derived.message())));
      }
    }
    state.TouchJob(&entry);
    if (entry.view) entry.views.Add(v1::View(), entry.job.view(), entry.job.revision());
    if (entry.preparing()) state.StartPreparation(&entry, &out);
    if (entry.next != nullptr && entry.next->preparing()) state.StartPreparation(entry.next.get(), &out);
    entry.job.set_waiting(state.WhatItWaitsFor(entry));
  }
  return state;
}

Effects CoordinatorState::Apply(const Event& event) {
  Consequences out;
  Effects effects = Dispatch(event, &out);
  const bool of_worker = ServingWorkerOf(event.request) != nullptr;
  return Settle(event.now, std::move(effects), of_worker ? std::string() : event.caller.name, &out);
}

// Updates the state that depends on the event's changes, and completes the effects.
Effects CoordinatorState::Settle(Nanos now, Effects effects, const std::string& by, Consequences* out) {
  if (out->membership) {
    for (const std::string& holder : board_.Holders()) {
      const WorkerEntry* worker = workers_.Find(holder);
      if ((worker == nullptr || !worker->live()) && board_.ReleaseWorker(holder) > 0) {
        out->wake_workers = true;
      }
    }
    RefreshViews(out);
    // A new worker may take waiting tasks. Its first heartbeat fetches them.
    CheckTasks(now, out);
    AdvanceAllInquiries(now, out);
  }
  if (out->wake_workers) {
    ++revision_;
    news_.workers = true;
  }
  // Views and waiting notes may have changed since the reply was built.
  if (auto* submit = std::get_if<v1::SubmitReply>(&effects.reply); submit && effects.status.ok()) {
    auto found = jobs_.find(submit->job().name());
    if (found != jobs_.end()) {
      const JobEntry* next = found->second.next.get();
      const bool is_next = next != nullptr && next->job.uid() == submit->job().uid();
      *submit->mutable_job() = WholeJob(is_next ? *next : found->second);
    }
  }
  for (v1::HistoryEvent& event : sessions_.TakeEvents()) out->events.push_back(std::move(event));
  for (v1::HistoryEvent& event : out->events) {
    if (event.by().empty()) event.set_by(by);
    history_.Add(now, std::move(event), &out->hints);
  }
  for (Change& change : out->changes) change.by = by;
  effects.hints = std::move(out->hints);
  effects.members = std::move(out->members);
  effects.changes = std::move(out->changes);
  return effects;
}

Effects CoordinatorState::Dispatch(const Event& event, Consequences* out) {
  Effects effects;
  const Nanos now = event.now;
  if (const std::string* const worker = ServingWorkerOf(event.request)) {
    const bool registers = std::holds_alternative<v1::RegisterWorkerRequest>(event.request);
    effects.status = workers_.MayServe(*worker, event.caller, registers);
    if (!effects.status.ok()) return effects;
  }
  if (std::holds_alternative<Tick>(event.request)) {
    for (const std::string& died : workers_.Tick(now, sessions_.AnyWaits(now), out)) sessions_.ForgetVotes(died);
    sessions_.Tick(now);
    KeepTicketKeys(out);
    trainer_totals_.Tick(now);
    if (!settled_ && now - started_ > options_.dead_after) {
      settled_ = true;
      out->membership = true;
    }
    ForEachSubmission([this](JobEntry* entry) {
      if (std::exchange(entry->progress_to_tell, false)) TouchJob(entry);
    });
    if (now - last_check_ >= options_.heartbeat / 4) {
      last_check_ = now;
      job_totals_.KeepWorkers([this](const std::string& worker) { return workers_.Find(worker) != nullptr; });
      CheckTasks(now, out);
      AdvanceAllInquiries(now, out);
      CancelIdleJobs(now, out);
      WatchLimits(now, out);
    }
    history_.Tick(now, &out->hints);
  } else if (auto* submit = std::get_if<v1::SubmitRequest>(&event.request)) {
    absl::StatusOr<std::optional<v1::SubmitReply>> reply = Submit(*submit, event.caller, out);
    effects.status = reply.status();
    if (reply.ok() && reply->has_value()) effects.reply = **std::move(reply);
  } else if (auto* cancel = std::get_if<v1::CancelRequest>(&event.request)) {
    SetReply<v1::CancelReply>(Cancel(*cancel, event.caller, out), &effects);
  } else if (auto* remove = std::get_if<v1::DeleteRequest>(&event.request)) {
    SetReply<v1::DeleteReply>(Delete(*remove, event.caller, out), &effects);
  } else if (auto* purge = std::get_if<v1::PurgeRequest>(&event.request)) {
    absl::StatusOr<std::optional<PurgeAnswer>> answer = Purge(now, *purge, event.caller, out);
    effects.status = answer.status();
    if (answer.ok() && answer->has_value()) effects.reply = **std::move(answer);
  } else if (auto* purged = std::get_if<EndOwnPurge>(&event.request)) {
    purges_.ReportOwn(purged->job_uid, purged->status, purged->bytes);
  } else if (auto* pause = std::get_if<v1::PauseRequest>(&event.request)) {
    SetReply(Pause(*pause, event.caller, out), &effects);
  } else if (auto* resume = std::get_if<v1::ResumeRequest>(&event.request)) {
    SetReply(Resume(*resume, event.caller, out), &effects);
  } else if (auto* drain = std::get_if<v1::DrainRequest>(&event.request)) {
    SetReply<v1::DrainReply>(workers_.Drain(now, drain->worker(), out), &effects);
  } else if (auto* revoke = std::get_if<v1::RevokeRequest>(&event.request)) {
    effects.status = Revoke(*revoke, out);
  } else if (auto* hello = std::get_if<v1::RegisterWorkerRequest>(&event.request)) {
    auto registered = workers_.Register(now, *hello, event.caller, out);
    if (!registered.ok()) {
      effects.status = std::move(registered).status();
      return effects;
    }
    if (registered->restarted && board_.ReleaseWorker(hello->id()) > 0) out->wake_workers = true;
    if (registered->restarted) sessions_.ForgetVotes(hello->id());
    v1::RegisterWorkerReply reply;
    reply.set_heartbeat_ms(static_cast<uint32_t>(options_.heartbeat / kMillisecond));
    reply.set_dead_after_ms(static_cast<uint32_t>(options_.dead_after / kMillisecond));
    reply.set_term(term_);
    if (tickets_.issues()) *reply.mutable_tickets() = tickets_.rules();
    effects.reply = std::move(reply);
  } else if (auto* beat = std::get_if<v1::HeartbeatRequest>(&event.request)) {
    v1::HeartbeatReply reply;
    WorkerEntry* worker = workers_.Heartbeat(now, *beat, out);
    reply.set_register_again(worker == nullptr);
    if (worker != nullptr) {
      job_totals_.Add(beat->id(), beat->incarnation(), beat->load(),
                      [this](const std::string& job) { return jobs_.contains(job); });
      ShortenFileErrors(&worker->load);
      reply.set_drain(worker->drain_ordered);
      HandOutTasks(now, beat->id(), &reply);
      reply.set_next_beat_ms(NextBeatMs(now, options_.heartbeat, beat->id()));
    }
    traces_.AddOrders(beat->id(), now, reply.mutable_traces());
    support_.AddOrders(beat->id(), now, reply.mutable_support());
    if (tickets_.issues() && beat->tickets_version() != tickets_.rules().version()) {
      *reply.mutable_tickets() = tickets_.rules();
    }
    effects.reply = std::move(reply);
  } else if (auto* report = std::get_if<v1::ReportTaskRequest>(&event.request)) {
    SetReply(ReportTask(now, *report, out), &effects);
  } else if (auto* records = std::get_if<v1::ReportRecordsRequest>(&event.request)) {
    effects.reply = ReportRecords(*records, out);
  } else if (auto* open = std::get_if<v1::OpenSessionRequest>(&event.request)) {
    SetReply(OpenSession(now, *open, event.caller, SessionIdOf(event.new_id)), &effects);
  } else if (auto* progress = std::get_if<v1::ReportSessionRequest>(&event.request)) {
    SetReply(ReportSession(now, *progress, event.caller, out), &effects);
  } else if (auto* judge = std::get_if<v1::JudgeRecordsRequest>(&event.request)) {
    SetReply(JudgeRecords(now, *judge, event.caller, out), &effects);
  } else if (auto* close = std::get_if<v1::CloseSessionRequest>(&event.request)) {
    SetReply<v1::CloseSessionReply>(CloseSession(now, *close, event.caller, out), &effects);
  } else if (auto* start = std::get_if<v1::StartTraceRequest>(&event.request)) {
    SetReply(StartTrace(now, *start, event.caller, event.new_id[0]), &effects);
  } else if (auto* part = std::get_if<v1::PutTraceRequest>(&event.request)) {
    SetReply(traces_.Put(*part, event.caller, now), &effects);
  } else if (auto* fetch = std::get_if<v1::GetTraceRequest>(&event.request)) {
    SetReply(traces_.Get(*fetch, event.caller, now), &effects);
  } else if (std::holds_alternative<v1::StartSupportRequest>(event.request)) {
    SetReply(support_.Start(event.new_id[0], event.caller, SupportParties(now), now), &effects);
    out->wake_workers = effects.status.ok();  // their heartbeats fetch the order
  } else if (auto* files = std::get_if<v1::PutSupportRequest>(&event.request)) {
    SetReply(support_.Put(*files, now), &effects);
  } else if (auto* get = std::get_if<v1::GetSupportRequest>(&event.request)) {
    const auto beats = [this](const std::string& worker) {
      const WorkerEntry* const found = workers_.Find(worker);
      return found != nullptr && found->Beats();
    };
    SetReply(support_.Get(*get, event.caller, beats, now), &effects);
  } else if (auto* ask = std::get_if<AskIndexTurn>(&event.request)) {
    effects.reply = turns_.Ask(ask->key, ask->worker, ask->bytes, now);
  } else if (auto* ended = std::get_if<EndIndexTurn>(&event.request)) {
    if (ended->worker.empty()) {
      turns_.End(ended->key);
    } else {
      turns_.GiveUp(ended->key, ended->worker);
    }
  } else if (auto* rejection = std::get_if<NoteRejection>(&event.request)) {
    out->events.push_back(RejectionOf(rejection->caller, ""));
  }
  return effects;
}

const JobEntry& CoordinatorState::SubmissionOf(const v1::Task& task) const {
  const JobEntry& named = jobs_.at(task.job());
  return named.next != nullptr && named.next->job.uid() == task.job_uid() ? *named.next : named;
}

JobEntry* CoordinatorState::SubmissionOf(const v1::Task& task) {
  return const_cast<JobEntry*>(&std::as_const(*this).SubmissionOf(task));
}

absl::Status CoordinatorState::NoSuchJob(const std::string& name, const transport::Peer& caller) const {
  std::vector<std::string> names;
  for (const auto& [known, entry] : jobs_) {
    if (entry.job.state() == v1::CANCELLED || !caller.MayAccess(known).ok()) continue;
    if (names.size() == 20) {
      names.push_back("...");
      break;
    }
    names.push_back(known);
  }
  if (names.empty() && !caller.jobs.empty()) return absl::NotFoundError(absl::StrCat("no job \"", name, "\""));
  return absl::NotFoundError(names.empty()
                                 ? absl::StrCat("no job \"", name, "\"; none is submitted yet (penstock submit)")
                                 : absl::StrCat("no job \"", name, "\"", DidYouMean(name, names),
                                                "; there are: ", absl::StrJoin(names, ", ")));
}

void CoordinatorState::RemoveJob(const std::string& name) {
  DropNext(&jobs_.at(name));
  board_.EraseJob(jobs_.at(name).job.uid());
  sessions_.CloseJob(name, "the job was deleted");
  ForgetJob(jobs_.at(name));
  jobs_.erase(name);
  job_totals_.Forget(name);
  removed_.emplace_back(++revision_, name);
  news_.jobs.insert(name);
  if (removed_.size() > kRememberedRemovals) removed_.pop_front();
}

}  // namespace penstock::coordinator
