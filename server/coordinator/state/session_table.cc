#include "server/coordinator/state/session_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/words.h"

namespace penstock {

namespace {

constexpr size_t kMaxWordsBytes = 1024;  // of what a session says it waits for

}  // namespace

absl::StatusOr<const SessionEntry*> SessionTable::Open(Nanos now, const std::string& id,
                                                       const v1::OpenSessionRequest& request, uint64_t job_uid) {
  if (sessions_.size() >= options_.max_sessions) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", sessions_.size(), " open sessions, which is the limit; close some first"));
  }
  SessionEntry session;
  session.id = id;
  session.open = request;
  session.job_uid = job_uid;
  session.last.set_epoch(request.epoch());
  session.last.set_position(request.position());
  session.last_report = now;

  if (request.world_size() > 1) {
    const Cursor cursor{request.epoch(), request.position()};
    const uint32_t rank = request.rank();
    Group& group = groups_[KeyOf(session)];
    const bool again = group.members.contains(rank);
    if (!request.resumes().empty()) {
      // In mid-run: no generation begins or is joined at a place of its own.
    } else if (again || !group.cursor) {
      group.members.clear();
      group.cursor = cursor;
      group.first_rank = rank;
    } else if (*group.cursor != cursor) {
      return absl::FailedPreconditionError(absl::StrCat(
          "rank ", rank, " of ", request.world_size(), " opens job ", request.job(), " at epoch ", cursor.epoch,
          ", position ", cursor.position, ", but rank ", group.first_rank, " of the same group \"", request.group(),
          "\" opened at epoch ", group.cursor->epoch, ", position ", group.cursor->position,
          ": all ranks must restore the same state (another training run needs another group)"));
    }
    group.members[rank] = true;
    auto before = group.open.find(rank);
    if (before != group.open.end()) sessions_.erase(before->second);
    group.open[rank] = id;
  }
  return &(sessions_[id] = std::move(session));
}

SessionEntry* SessionTable::Report(Nanos now, const v1::ReportSessionRequest& request) {
  auto found = sessions_.find(request.session_id());
  if (found == sessions_.end()) return nullptr;
  SessionEntry& session = found->second;
  session.last = request;
  session.last.clear_failed_workers();
  session.last.clear_bad_records();
  session.waited += 0.2 * (std::clamp<double>(request.wait_fraction(), 0, 1) - session.waited);
  if (session.waited >= kWaits) last_wait_ = now;
  Shorten(session.last.mutable_waiting_for(), kMaxWordsBytes);
  session.last_report = now;
  std::erase_if(session.failed, [&](const auto& said) { return now - said.second > options_.report_window; });
  return &session;
}

void SessionTable::Close(const std::string& id) {
  auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  auto group = groups_.find(KeyOf(found->second));
  if (group != groups_.end()) {
    group->second.open.erase(found->second.open.rank());
    if (group->second.open.empty()) groups_.erase(group);
  }
  sessions_.erase(found);
}

void SessionTable::CloseJob(const std::string& job) {
  std::vector<std::string> ids;
  for (const SessionEntry* session : OfJob(job)) ids.push_back(session->id);
  for (const std::string& id : ids) Close(id);
}

void SessionTable::Tick(Nanos now) {
  if (now < next_look_) return;  // ticks are many, and so may sessions be
  next_look_ = now + options_.session_expiry / 64;
  std::vector<std::string> expired;
  for (const auto& [id, session] : sessions_) {
    if (now - session.last_report > options_.session_expiry) expired.push_back(id);
  }
  for (const std::string& id : expired) Close(id);
}

void SessionTable::ForgetVotes(const std::string& worker) {
  for (auto& [id, session] : sessions_) session.failed.erase(worker);
}

std::vector<const SessionEntry*> SessionTable::OfJob(const std::string& job) const {
  std::vector<const SessionEntry*> result;
  for (const auto& [id, session] : sessions_) {
    if (session.open.job() == job) result.push_back(&session);
  }
  return result;
}

}  // namespace penstock
