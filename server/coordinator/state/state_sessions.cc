// Opens sessions of trainers and applies their reports.
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "net/session_label.h"
#include "pipeline/plan/job_order.h"
#include "server/coordinator/state/beat_rhythm.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {

absl::StatusOr<v1::OpenSessionReply> CoordinatorState::OpenSession(Nanos now, const v1::OpenSessionRequest& request,
                                                                   const transport::Peer& caller,
                                                                   const std::string& id) {
  PS_CHECK(!id.empty());
  auto found = jobs_.find(request.job());
  if (found == jobs_.end() || found->second.job.state() == v1::CANCELLED) {
    absl::Status missing = NoSuchJob(request.job(), caller);
    if (found == jobs_.end()) return missing;
    return absl::NotFoundError(absl::StrCat("job ", request.job(), " was cancelled",
                                            found->second.job.error().empty() ? "" : ": ", found->second.job.error(),
                                            "; ", std::string(missing.message())));
  }
  const v1::Job& job = found->second.job;
  if (job.state() == v1::FAILED) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.name(), " failed: ", job.error(), "; correct that and submit it again"));
  }
  if (!found->second.ready() || !found->second.view) {
    std::string what = absl::StrCat("job ", job.name(), " is being prepared");
    if (job.shards_total() > 0) {
      absl::StrAppend(&what, ", ", job.shards_indexed(), " of ", job.shards_total(), " shards are indexed");
    }
    if (!job.waiting().empty()) absl::StrAppend(&what, "; ", job.waiting());
    v1::OpenSessionReply wait;
    wait.set_wait(what);
    wait.set_version(std::string(Version()));
    return wait;
  }
  if (request.group().size() > 256 || request.host().size() > 256) {
    return absl::InvalidArgumentError("OpenSession: group and host have at most 256 bytes");
  }
  if (request.world_size() == 0 || request.rank() >= request.world_size()) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", request.rank(), " of world size ", request.world_size(),
                                                   ": ranks are 0 to world size - 1"));
  }
  const uint64_t positions = found->second.epoch_rows;
  PS_RETURN_IF_ERROR(
      plan::Steps::Create(positions, plan::StepSizesOf(job.spec().batch(), found->second.batches, request.batch_size()),
                          plan::LastBatchOf(job.spec().batch().last()), request.world_size())
          .status());
  if (request.position() > positions) {
    return absl::InvalidArgumentError(absl::StrCat("position ", request.position(), " of job ", job.name(),
                                                   ", whose epochs have ", positions,
                                                   " positions: does the state belong to another job?"));
  }
  PS_RETURN_IF_ERROR(CheckSessionCap(found->second, request, now));
  const int64_t ticket_issued = tickets_.issues() ? tickets_.now() : 0;
  PS_ASSIGN_OR_RETURN(SessionTable::Opening opening,
                      sessions_.Open(now, id, request, caller, job.uid(), ReadersBackBy(job), ticket_issued));
  v1::OpenSessionReply reply;
  reply.set_version(std::string(Version()));
  if (opening.session == nullptr) {
    reply.set_wait(std::move(opening.wait));
    return reply;
  }
  reply.set_session_id(id);
  reply.set_ticket(tickets_.Issue(caller.name, job.name()));
  *reply.mutable_job() = WhatIsNew(found->second, 0, request.held());
  reply.set_revision(revision_);
  return reply;
}

void CoordinatorState::ApplyReport(Nanos now, const v1::ReportSessionRequest& request, SessionEntry* session,
                                   Consequences* out) {
  trainer_totals_.Add(now, *session, request);
  sessions_.Report(now, request, session);
  std::set<std::string> failed;
  for (const std::string& id : request.failed_workers()) {
    const WorkerEntry* worker = workers_.Find(id);
    if (worker == nullptr) continue;
    session->unreachable[id] = now;
    if (!worker->live()) continue;
    session->failed[id] = now;
    failed.insert(id);
  }
  // The trainer reaches a live worker again that it no longer reports.
  std::erase_if(session->unreachable, [&](const auto& reported) {
    const WorkerEntry* worker = workers_.Find(reported.first);
    return reported.second != now && worker != nullptr && worker->live();
  });
  for (const std::string& id : failed) JudgeWorker(now, id, out);
}

absl::StatusOr<v1::ReportSessionReply> CoordinatorState::ReportSession(Nanos now,
                                                                       const v1::ReportSessionRequest& request,
                                                                       const transport::Peer& caller,
                                                                       Consequences* out) {
  const absl::StatusOr<SessionEntry*> found = sessions_.ActFor(request.session_id(), transport::Act::kReport, caller);
  if (!found.ok() && !absl::IsNotFound(found.status())) return found.status();
  v1::ReportSessionReply reply;
  traces_.AddOrders(net::SessionLabel(request.session_id()), now, reply.mutable_traces());
  if (!found.ok()) {
    reply.set_unknown_session(true);
    return reply;
  }
  ApplyReport(now, request, *found, out);
  reply.set_next_report_ms(NextBeatMs(now, options_.report, request.session_id()));
  SessionEntry* const session = *found;
  if (tickets_.NeedsNew(session->owner.name, session->ticket_issued)) {
    session->ticket_issued = tickets_.now();
    reply.set_ticket(tickets_.Issue(session->owner.name, session->open.job()));
  }
  return reply;
}

absl::Status CoordinatorState::CloseSession(Nanos now, const v1::CloseSessionRequest& request,
                                            const transport::Peer& caller, Consequences* out) {
  const std::string& id = request.session_id();
  const absl::StatusOr<SessionEntry*> found = sessions_.ActFor(id, transport::Act::kClose, caller);
  if (absl::IsNotFound(found.status())) return absl::OkStatus();
  PS_RETURN_IF_ERROR(found.status());
  if (request.has_last()) {
    PS_ASSIGN_OR_RETURN(SessionEntry* const session,
                        sessions_.ActFor(id, transport::Act::kReport, caller, request.last().session_id()));
    ApplyReport(now, request.last(), session, out);
  }
  sessions_.Close(id, "its trainer closed it");
  return absl::OkStatus();
}

uint32_t CoordinatorState::NextBeatMs(Nanos now, Nanos asked, const std::string& who) const {
  const size_t speakers = workers_.size() + sessions_.size();
  const Nanos until = UntilNextBeat(now, BeatPeriod(speakers, asked, options_.dead_after), speakers, who);
  return static_cast<uint32_t>((until + kMillisecond - 1) / kMillisecond);
}

Nanos CoordinatorState::ReadersBackBy(const v1::Job& job) const {
  const bool had_readers = restarted_ && job.uid() >> 32 != term_;
  if (!had_readers) return 0;
  return started_ + 2 * BeatPeriod(workers_.size() + sessions_.size(), options_.report, options_.dead_after);
}

}  // namespace penstock::coordinator
