#include "server/coordinator/state/session_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "net/session_label.h"
#include "server/coordinator/state/event_log.h"

namespace penstock::coordinator {

namespace {

constexpr size_t kMaxWordsBytes = 1024;  // limit for a session's description of its wait

bool SameProcess(const v1::OpenSessionRequest& a, const v1::OpenSessionRequest& b) {
  return a.process() != 0 && a.process() == b.process();
}

std::string RankOf(const v1::OpenSessionRequest& open) {
  return absl::StrCat("rank ", open.rank(), " of ", open.world_size());
}

// Returns text such as "rank 1 of 2 of job train, group a,".
std::string OwnedRankOf(const v1::OpenSessionRequest& open) {
  return absl::StrCat(RankOf(open), " of job ", open.job(),
                      open.group().empty() ? "" : absl::StrCat(", group ", open.group(), ","));
}

// Returns seconds with one decimal.
double InTenths(Nanos duration) { return static_cast<double>(duration / (kSecond / 10)) / 10; }

std::string ReaderOf(const SessionEntry& session) {
  return absl::StrCat("reader ", net::SessionLabel(session.id), session.open.host().empty() ? "" : " on ",
                      session.open.host());
}

}  // namespace

SessionEntry* SessionTable::HolderOf(const Group& group, uint32_t rank) {
  const auto open = group.open.find(rank);
  if (open == group.open.end()) return nullptr;
  const auto found = sessions_.find(open->second);
  return found == sessions_.end() ? nullptr : &found->second;
}

absl::StatusOr<std::string> SessionTable::AskFor(SessionEntry* holder, Nanos now, const v1::OpenSessionRequest& request,
                                                 const transport::Peer& caller) const {
  const std::string& resumes = request.resumes();
  // A reader whose reply was lost resumes the same session again.
  const bool its_own = !resumes.empty() && (holder->id == resumes || holder->open.resumes() == resumes);
  if (its_own || SameProcess(holder->open, request)) {
    const transport::Ownership owned{holder->id, holder->owner};
    PS_RETURN_IF_ERROR(options_.may_act({transport::Act::kTakeOver, holder->id, caller}, &owned));
    return "";
  }
  if (!Reports(*holder, now)) return "";
  const std::string what = OwnedRankOf(request);
  const absl::Status taken =
      absl::AlreadyExistsError(absl::StrCat(what, " has another reader that is alive: ", ReaderOf(*holder),
                                            ". Both would train on the same rows, and no trainer would get the rows "
                                            "of another rank. Give each trainer its own rank, "
                                            "give another run another group, or end that reader"));
  // The session that the request resumes was silent, and the holder replaced it. The holder keeps the rank.
  if (!resumes.empty()) return taken;
  std::erase_if(holder->rivals, [&](const auto& rival) { return now - rival.second.asked > kAsks; });
  const bool many = holder->rivals.size() >= kMostRivals && !holder->rivals.contains(request.process());
  SessionEntry::Rival& rival =
      holder->rivals.try_emplace(many ? 0 : request.process(), SessionEntry::Rival{now, holder->reports}).first->second;
  rival.asked = holder->asked_for = now;
  holder->rival_host = request.host();
  if (holder->reports - rival.reports_before >= kAlive) return taken;
  return absl::StrCat(what, " has a reader that reported ", InTenths(now - holder->last_report), " s ago, ",
                      ReaderOf(*holder), ". It is known within ", kSilent / kSecond,
                      " s whether that reader is still alive");
}

absl::StatusOr<SessionTable::Opening> SessionTable::Open(Nanos now, const std::string& id,
                                                         const v1::OpenSessionRequest& request,
                                                         const transport::Peer& caller, uint64_t job_uid,
                                                         Nanos readers_back_by, int64_t ticket_issued) {
  if (sessions_.size() >= options_.max_sessions) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there are ", sessions_.size(), " open sessions, which is the limit; close some first"));
  }
  SessionEntry session;
  PS_ASSIGN_OR_RETURN(session.place, of_peers_.Take(caller));
  session.id = id;
  session.owner = caller;
  session.open = request;
  session.job_uid = job_uid;
  session.last.set_epoch(request.epoch());
  session.last.set_position(request.position());
  session.last_report = now;
  session.ticket_issued = ticket_issued;
  // A reader that resumes a session is alive: it has just received the answer to a report.
  session.reports = request.resumes().empty() ? 0 : 1;

  if (request.world_size() > 1) {
    const plan::Cursor cursor{request.epoch(), request.position()};
    const uint32_t rank = request.rank();
    SessionEntry* holder = nullptr;
    if (const auto known = groups_.find(KeyOf(session)); known != groups_.end()) {
      holder = HolderOf(known->second, rank);
    }
    if (holder != nullptr) {
      PS_ASSIGN_OR_RETURN(std::string wait, AskFor(holder, now, request, caller));
      if (!wait.empty()) return Opening{nullptr, std::move(wait)};
    } else if (request.resumes().empty() && now < readers_back_by) {
      return Opening{nullptr, absl::StrCat(OwnedRankOf(request), " may have a reader from before the coordinator's ",
                                           "restart: within ", InTenths(readers_back_by - now),
                                           " s it has reported, or the rank is free")};
    }
    Group& group = groups_[KeyOf(session)];
    const bool again = group.members.contains(rank);
    if (!request.resumes().empty() || request.continues()) {
      // A session in mid-run does not set the generation's position, and its own position is not compared with it.
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
      AddEvent(v1::HistoryEvent::SESSION_CLOSED, *holder, " closed: another reader has opened its rank");
      sessions_.erase(group.open.at(rank));
    }
    group.open[rank] = id;
  }
  AddEvent(v1::HistoryEvent::SESSION_OPENED, session,
           absl::StrCat(" begins at epoch ", request.epoch(), ", position ", request.position()));
  return Opening{&(sessions_[id] = std::move(session)), ""};
}

absl::StatusOr<SessionEntry*> SessionTable::ActFor(const std::string& id, transport::Act act,
                                                   const transport::Peer& caller, std::string_view named) {
  const auto found = sessions_.find(id);
  const transport::Claim claim{act, named, caller};
  if (found == sessions_.end()) {
    const absl::Status missing = options_.may_act(claim, nullptr);
    return missing.ok() ? absl::NotFoundError("the session is not open") : missing;
  }
  const transport::Ownership owned{found->second.id, found->second.owner};
  PS_RETURN_IF_ERROR(options_.may_act(claim, &owned));
  return &found->second;
}

std::string SessionTable::JobOf(const std::string& id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? "" : found->second.open.job();
}

void SessionTable::Report(Nanos now, const v1::ReportSessionRequest& request, SessionEntry* of) {
  SessionEntry& session = *of;
  session.last = request;
  session.last.clear_failed_workers();
  session.waited += 0.2 * (std::clamp<double>(request.wait_fraction(), 0, 1) - session.waited);
  if (session.waited >= kWaits) last_wait_ = now;
  TruncateUtf8(session.last.mutable_waiting_for(), kMaxWordsBytes);
  TruncateUtf8(session.last.mutable_carriers(), kMaxWordsBytes);
  TruncateUtf8(session.last.mutable_carriers_note(), kMaxWordsBytes);
  session.last_report = now;
  ++session.reports;
  v1::ReportSessionRequest counts;
  counts.set_rows(request.rows());
  *counts.mutable_times() = request.times();
  session.history.Add(now, counts);
  const auto is_old = [&](const auto& said) { return now - said.second > options_.report_window; };
  std::erase_if(session.failed, is_old);
  std::erase_if(session.unreachable, is_old);
}

void SessionTable::Close(const std::string& id, const std::string& why) {
  auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  auto group = groups_.find(KeyOf(found->second));
  if (group != groups_.end()) {
    const auto open = group->second.open.find(found->second.open.rank());
    if (open != group->second.open.end() && open->second == id) group->second.open.erase(open);
    if (group->second.open.empty()) groups_.erase(group);
  }
  AddEvent(v1::HistoryEvent::SESSION_CLOSED, found->second,
           absl::StrCat(" after ", found->second.last.rows(), " rows: ", why));
  sessions_.erase(found);
}

void SessionTable::AddEvent(v1::HistoryEvent::Kind kind, const SessionEntry& session, const std::string& text) {
  events_.push_back(
      EventOf(kind, session.open.job(), "", absl::StrCat(ReaderOf(session), ", ", RankOf(session.open), ",", text)));
}

void SessionTable::CloseJob(const std::string& job, const std::string& why) {
  std::vector<std::string> ids;
  for (const SessionEntry* session : OfJob(job)) ids.push_back(session->id);
  for (const std::string& id : ids) Close(id, why);
}

size_t SessionTable::CloseOf(const std::string& name) {
  std::vector<std::string> ids;
  for (const auto& [id, session] : sessions_) {
    if (session.owner.name == name) ids.push_back(id);
  }
  for (const std::string& id : ids) Close(id, absl::StrCat("the tickets of '", name, "' are revoked"));
  return ids.size();
}

void SessionTable::Tick(Nanos now) {
  if (now < next_look_) return;  // ticks are frequent and sessions may be many
  next_look_ = now + options_.session_expiry / 64;
  std::vector<std::string> expired;
  for (const auto& [id, session] : sessions_) {
    if (now - session.last_report > options_.session_expiry) expired.push_back(id);
  }
  for (const std::string& id : expired) {
    Close(id, absl::StrCat("no report for ", options_.session_expiry / kSecond, " s"));
  }
}

SessionTable::Votes SessionTable::CountVotes(const std::string& worker, Nanos now,
                                             absl::FunctionRef<bool(const v1::OpenSessionRequest&)> concerns) const {
  using Process = std::pair<uint64_t, std::string>;  // with the host for sessions without a process
  std::map<std::string, std::map<Process, bool>> against;
  for (const auto& [id, session] : sessions_) {
    if (!concerns(session.open)) continue;
    const uint64_t process = session.open.process();
    bool& vote = against[session.owner.name][{process, process == 0 ? session.open.host() : std::string()}];
    const auto said = session.failed.find(worker);
    vote = vote || (said != session.failed.end() && now - said->second <= options_.report_window);
  }
  Votes votes;
  votes.names = against.size();
  for (const auto& [name, processes] : against) {
    const auto complain =
        std::count_if(processes.begin(), processes.end(), [](const auto& vote) { return vote.second; });
    votes.against += 2 * static_cast<size_t>(complain) > processes.size() ? 1 : 0;
  }
  return votes;
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

std::set<std::string_view> SessionTable::Jobs() const {
  std::set<std::string_view> jobs;
  for (const auto& [id, session] : sessions_) jobs.insert(session.open.job());
  return jobs;
}

std::string SessionTable::NoteOf(const SessionEntry& session, Nanos now) const {
  const auto twin = sessions_.find(session.twin);
  if (twin != sessions_.end() && now - twin->second.last_report <= kSilent && now - session.last_report <= kSilent) {
    return absl::StrCat("two readers have ", RankOf(session.open), ": this and ", ReaderOf(twin->second),
                        ", in one process; the rows that both deliver are trained on twice");
  }
  if (session.asked_for < 0 || now - session.asked_for > kToldFor) return session.last.carriers_note();
  return absl::StrCat("another reader", session.rival_host.empty() ? "" : " on ", session.rival_host, " asks for ",
                      RankOf(session.open), " and is refused while this one reports");
}

}  // namespace penstock::coordinator
