// Owners of jobs: which callers may change a job, pauses, caps of readers, and the end of idle jobs.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {
namespace {

constexpr size_t kMostByBytes = 256;
constexpr Nanos kIdleLook = kSecond;  // interval between two looks at idle jobs

std::string OwnerText(const v1::Job& job) {
  return job.owner().empty() ? "no caller with a name" : absl::StrCat("'", job.owner(), "'");
}

}  // namespace

absl::Status CoordinatorState::CheckMayChange(const JobEntry& entry, const transport::Peer& caller) {
  if (!caller.only_own) return absl::OkStatus();
  PS_RETURN_IF_ERROR(caller.MayAccess(entry.job.name()));
  if (entry.job.owner() == caller.name) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("job ", entry.job.name(), " belongs to ", OwnerText(entry.job),
                                                  ", and '", caller.name,
                                                  "' may change only its own jobs: ask the owner or an operator"));
}

absl::StatusOr<v1::PauseReply> CoordinatorState::Pause(const v1::PauseRequest& request, const transport::Peer& caller,
                                                       Consequences* out) {
  const auto found = jobs_.find(request.job());
  if (found == jobs_.end()) return NoSuchJob(request.job(), caller);
  const JobEntry& entry = found->second;
  PS_RETURN_IF_ERROR(CheckMayChange(entry, caller));
  if (!entry.preparing() && !entry.ready()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", request.job(), " is ", v1::JobState_Name(entry.job.state()), ": nothing to pause"));
  }
  if (request.by().size() > kMostByBytes) {
    return absl::InvalidArgumentError(absl::StrCat("Pause: `by` has at most ", kMostByBytes, " bytes"));
  }
  v1::PauseReply reply;
  reply.set_paused_by(entry.job.paused_by());
  if (!reply.paused_by().empty()) return reply;
  const std::string by = !caller.name.empty() ? caller.name : !request.by().empty() ? request.by() : caller.ToString();
  SetPausedBy(entry, by, out);
  reply.set_paused_by(by);
  return reply;
}

absl::StatusOr<v1::ResumeReply> CoordinatorState::Resume(const v1::ResumeRequest& request,
                                                         const transport::Peer& caller, Consequences* out) {
  const auto found = jobs_.find(request.job());
  if (found == jobs_.end()) return NoSuchJob(request.job(), caller);
  PS_RETURN_IF_ERROR(CheckMayChange(found->second, caller));
  v1::ResumeReply reply;
  reply.set_paused_by(found->second.job.paused_by());
  if (!reply.paused_by().empty()) SetPausedBy(found->second, "", out);
  return reply;
}

void CoordinatorState::SetPausedBy(const JobEntry& entry, const std::string& by, Consequences* out) {
  Change change;
  v1::StoredJob* const fact = change.facts.emplace_back().mutable_put_job();
  *fact = ToStored(entry, entry.next.get());
  fact->mutable_job()->set_paused_by(by);
  change.end = [name = entry.job.name(), by](CoordinatorState& state, Nanos, const absl::Status& stored, Effects*,
                                             Consequences* then) {
    if (!stored.ok()) return;
    JobEntry& paused = state.jobs_.at(name);
    paused.job.set_paused_by(by);
    state.TouchJob(&paused);
    then->events.push_back(EventOf(by.empty() ? v1::HistoryEvent::RESUMED : v1::HistoryEvent::PAUSED, name, "", ""));
    then->events.back().set_by(by);
  };
  BeginChange({entry.job.name()}, false, std::move(change), out);
}

absl::Status CoordinatorState::CheckSessionCap(const JobEntry& entry, const v1::OpenSessionRequest& request,
                                               Nanos now) const {
  const v1::Job& job = entry.job;
  const uint32_t most = job.spec().caps().sessions();
  if (most == 0) return absl::OkStatus();
  const std::vector<const SessionEntry*> readers = ReadersOf(entry, now);
  // The new reader may replace one of its rank. Readers of all rows have no ranks: each is a run of its own, and only
  // the process that opened one opens it again.
  const bool replaces = std::any_of(readers.begin(), readers.end(), [&request](const SessionEntry* reader) {
    const v1::OpenSessionRequest& open = reader->open;
    return open.rank() == request.rank() && open.group() == request.group() &&
           open.world_size() == request.world_size() &&
           (request.world_size() > 1 || (request.process() != 0 && open.process() == request.process()));
  });
  const size_t others = readers.size() - (replaces ? 1 : 0);
  if (others < most) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("job ", job.name(), " has ", others, others == 1 ? " reader" : " readers", ", and caps.sessions is ",
                   most, ": end a reader, or submit the job with a larger cap (its owner is ", OwnerText(job), ")"));
}

void CoordinatorState::CancelIdleJobs(Nanos now, Consequences* out) {
  if (now < next_idle_look_) return;
  next_idle_look_ = now + kIdleLook;
  const std::set<std::string_view> read = sessions_.Jobs();
  for (auto& [name, entry] : jobs_) {
    if (!entry.ready()) continue;
    if (entry.read_at == 0 || read.contains(name)) entry.read_at = now;
    const uint64_t limit = entry.job.spec().idle_expiry_seconds();
    if (limit == 0 || now - entry.read_at < static_cast<Nanos>(limit) * kSecond || IsChanging(name)) continue;
    CancelJob(entry,
              absl::StrCat("no reader had it open for ", limit, " s (idle_expiry_seconds). Submit it again to read it"),
              out);
  }
}

}  // namespace penstock::coordinator
