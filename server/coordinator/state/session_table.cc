#include "server/coordinator/state/session_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/words.h"

namespace penstock {

namespace {

constexpr size_t kMaxWordsBytes = 1024;  // of what a session says it waits for

bool SameProcess(const v1::OpenSessionRequest& a, const v1::OpenSessionRequest& b) {
  return a.process() != 0 && a.process() == b.process();
}

std::string RankOf(const v1::OpenSessionRequest& open) {
  return absl::StrCat("rank ", open.rank(), " of ", open.world_size());
}

std::string ReaderOf(const SessionEntry& session) {
  return absl::StrCat("reader ", session.id, session.open.host().empty() ? "" : " on ", session.open.host());
}

}  // namespace

SessionEntry* SessionTable::HolderOf(const Group& group, uint32_t rank) {
  const auto open = group.open.find(rank);
  if (open == group.open.end()) return nullptr;
  const auto found = sessions_.find(open->second);
  return found == sessions_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::string> SessionTable::AskFor(SessionEntry* holder, Nanos now,
                                                 const v1::OpenSessionRequest& request) const {
  const std::string& resumes = request.resumes();
  const bool its_own = !resumes.empty() && (holder->id == resumes || holder->open.resumes() == resumes);
  if (its_own || SameProcess(holder->open, request) || !Reports(*holder, now)) return "";
  const std::string what = absl::StrCat(RankOf(request), " of job ", request.job(),
                                        request.group().empty() ? "" : absl::StrCat(", group ", request.group(), ","));
  const absl::Status taken = absl::AlreadyExistsError(absl::StrCat(
      what, " has another reader that is alive: ", ReaderOf(*holder),
      ". Both would train on the same rows, and nobody on those of another rank: give each trainer its own rank, "
      "another run another group, or end that reader"));
  // One that was put aside while it was silent, and speaks again: the rank's reader is the one that came then.
  if (!resumes.empty()) return taken;
  std::erase_if(holder->rivals, [&](const auto& rival) { return now - rival.second.asked > kAsks; });
  const bool many = holder->rivals.size() >= kMostRivals && !holder->rivals.contains(request.process());
  SessionEntry::Rival& rival =
      holder->rivals.try_emplace(many ? 0 : request.process(), SessionEntry::Rival{now, holder->reports}).first->second;
  rival.asked = holder->asked_for = now;
  holder->rival_host = request.host();
  if (holder->reports - rival.reports_before >= kAlive) return taken;
  return absl::StrCat(what, " has a reader that reported ", (now - holder->last_report) / (kSecond / 10) / 10.0,
                      " s ago, ", ReaderOf(*holder), ": within ", kSilent / kSecond,
                      " s it is known whether that is still alive");
}

absl::StatusOr<SessionTable::Opening> SessionTable::Open(Nanos now, const std::string& id,
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
    SessionEntry* holder = nullptr;
    if (const auto known = groups_.find(KeyOf(session)); known != groups_.end()) {
      holder = HolderOf(known->second, rank);
    }
    if (holder != nullptr) {
      PS_ASSIGN_OR_RETURN(std::string wait, AskFor(holder, now, request));
      if (!wait.empty()) return Opening{nullptr, std::move(wait)};
    }
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
    if (holder != nullptr && SameProcess(holder->open, request) && Reports(*holder, now)) {
      holder->twin = id;
      session.twin = holder->id;
    } else if (holder != nullptr) {
      sessions_.erase(group.open.at(rank));
    }
    group.open[rank] = id;
  }
  return Opening{&(sessions_[id] = std::move(session)), ""};
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
  Shorten(session.last.mutable_carriers(), kMaxWordsBytes);
  session.last_report = now;
  ++session.reports;
  v1::ReportSessionRequest counts;
  counts.set_rows(request.rows());
  *counts.mutable_times() = request.times();
  session.history.Add(now, counts);
  const auto is_old = [&](const auto& said) { return now - said.second > options_.report_window; };
  std::erase_if(session.failed, is_old);
  std::erase_if(session.unreachable, is_old);
  return &session;
}

void SessionTable::Close(const std::string& id) {
  auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  auto group = groups_.find(KeyOf(found->second));
  if (group != groups_.end()) {
    const auto open = group->second.open.find(found->second.open.rank());
    if (open != group->second.open.end() && open->second == id) group->second.open.erase(open);
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

std::string SessionTable::NoteOf(const SessionEntry& session, Nanos now) const {
  const auto twin = sessions_.find(session.twin);
  if (twin != sessions_.end() && now - twin->second.last_report <= kSilent && now - session.last_report <= kSilent) {
    return absl::StrCat("two readers have ", RankOf(session.open), ": this and ", ReaderOf(twin->second),
                        ", in one process; what both hand out is trained on twice");
  }
  if (session.asked_for < 0 || now - session.asked_for > kToldFor) return "";
  return absl::StrCat("another reader", session.rival_host.empty() ? "" : " on ", session.rival_host, " asks for ",
                      RankOf(session.open), " and is refused while this one reports");
}

}  // namespace penstock
