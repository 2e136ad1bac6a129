// The open sessions of trainers: their progress and their reports about workers. It also ensures that the ranks of one
// run begin at the same position. Pure state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_SESSION_TABLE_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_SESSION_TABLE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/plan/steps.h"
#include "server/coordinator/explain/history.h"
#include "server/coordinator/state/events.h"
#include "server/peers/peer_counts.h"
#include "transport/ownership.h"
#include "transport/peer.h"

namespace penstock::coordinator {

struct SessionEntry {
  std::string id;
  transport::Peer owner;            // the peer that opened it
  server::PeerCounts::Place place;  // among the sessions of that peer
  v1::OpenSessionRequest open;
  uint64_t job_uid = 0;
  v1::ReportSessionRequest last;  // last report, without failed workers
  Nanos last_report = 0;          // or the time of opening
  double waited = 0;              // smoothed fraction of the time in which its trainer waited
  uint64_t reports = 0;
  int64_t ticket_issued = 0;  // time of its last ticket (ticket_desk.h)
  // Another process that asks for the session's rank: the time of its last request, and the session's reports before
  // its first request. Those reports do not count, because that process may be the successor of the session's process.
  struct Rival {
    Nanos asked = 0;
    uint64_t reports_before = 0;
  };
  std::map<uint64_t, Rival> rivals;  // by process
  Nanos asked_for = -1;              // time of the last request for its rank, which came from rival_host
  std::string rival_host;
  std::string twin;  // session of the same process and rank that is or was open in parallel; "" if none
  std::map<std::string, Nanos> failed;  // workers that it failed to use -> time of the report
  // The same for explanations, which also need reports against workers that are not live. Such reports are no votes.
  // The next report removes a live worker that it does not contain.
  std::map<std::string, Nanos> unreachable;
  History<v1::ReportSessionRequest> history;  // only rows and times
};

// Ranks of one training run share (job submission, group, world size). Each opens at the run's (epoch, position):
//   - the first rank to open begins a generation, which has its position
//   - a rank that opens again begins the next generation at its position, and its earlier session closes
//   - the other ranks of a generation must open at its position
// These sessions are never compared: sessions of a world size of 1, sessions that resume after a coordinator restart,
// and sessions that continue one whose process ended in mid-run.
//
// With a world size above 1, a rank has one reader. Two readers would train on the same rows, and the rows of another
// rank would have no reader. A silent session does not block a restarted trainer. A session is silent if it has not
// reported for 3 s, or not since it opened, unless it resumes a session:
//   the rank's session       another process asks for it     the reader of a closed session asks for it
//   silent                   closed; the new one opens       the same
//   reported recently        wait: within 3 s it is silent   AlreadyExists
//                            or reports twice: AlreadyExists
// One process may open a rank twice, to look at a batch. The table keeps both sessions, and the note of each names the
// other.
//
// After a coordinator restart, the next report of each reader returns unknown_session, and the reader opens again.
// Until these readers had time to do so, only such a reader may open a rank that has no session.
class SessionTable {
 public:
  explicit SessionTable(const StateOptions& options) : options_(options), of_peers_(options.sessions_of_peer) {}

  struct Opening {
    const SessionEntry* session = nullptr;
    std::string wait;  // if session is null: the reason for waiting
  };
  // Opens a session for `caller`. FailedPrecondition names both positions and ranks. AlreadyExists names the reader
  // that has this rank. Returns ResourceExhausted if there are too many sessions, and the error of the rule if `caller`
  // may not take over a session. `id` is the id of the new session. `readers_back_by` is the time by which the readers
  // from before a coordinator restart have opened again; 0: the job had none. `ticket_issued` is that of the entry.
  absl::StatusOr<Opening> Open(Nanos now, const std::string& id, const v1::OpenSessionRequest& request,
                               const transport::Peer& caller, uint64_t job_uid, Nanos readers_back_by = 0,
                               int64_t ticket_issued = 0);
  // Returns the session `id` if the rule accepts that `caller` acts for it (transport/ownership.h). `named` is the
  // session that the request names for this act. Returns NotFound if the session is not open. The pointer is valid
  // until the session closes.
  absl::StatusOr<SessionEntry*> ActFor(const std::string& id, transport::Act act, const transport::Peer& caller,
                                       std::string_view named);
  absl::StatusOr<SessionEntry*> ActFor(const std::string& id, transport::Act act, const transport::Peer& caller) {
    return ActFor(id, act, caller, id);
  }
  // Returns the job of the session, or "" if there is no such session.
  std::string JobOf(const std::string& id) const;
  // Applies a report of the session.
  void Report(Nanos now, const v1::ReportSessionRequest& request, SessionEntry* session);
  // `why` is the reason in words, for the history.
  void Close(const std::string& id, const std::string& why);
  void CloseJob(const std::string& job, const std::string& why);
  // Closes the sessions that a name opened. Returns their number.
  size_t CloseOf(const std::string& name);
  // Closes the sessions that have not reported for session_expiry, about a second later at the latest.
  void Tick(Nanos now);

  // Votes of the names with a session whose opening request satisfies `concerns`. A name votes against the worker if
  // most of its processes with such a session reported, within report_window, that the session cannot use the worker.
  // So a name with many sessions has one vote. Sessions of one host that name no process count as one process. Without
  // --tokens all sessions have the name "".
  struct Votes {
    size_t names = 0;
    size_t against = 0;
  };
  Votes CountVotes(const std::string& worker, Nanos now,
                   absl::FunctionRef<bool(const v1::OpenSessionRequest&)> concerns) const;
  // Returns whether a session reported within the last seconds that its trainer waits for rows.
  bool AnyWaits(Nanos now) const { return last_wait_ >= 0 && now - last_wait_ <= kWaitCounts; }
  // Discards the reports against a worker.
  void ForgetVotes(const std::string& worker);

  std::vector<const SessionEntry*> OfJob(const std::string& job) const;
  // Returns the names of the jobs that have a session.
  std::set<std::string_view> Jobs() const;
  // Describes a problem of the session; usually "".
  std::string NoteOf(const SessionEntry& session, Nanos now) const;
  size_t size() const { return sessions_.size(); }
  // Returns the events since the last call: sessions that opened or closed.
  std::vector<v1::HistoryEvent> TakeEvents() { return std::exchange(events_, {}); }

 private:
  using GroupKey = std::tuple<uint64_t, std::string, uint32_t>;  // job uid, group, world size
  struct Group {
    std::map<uint32_t, std::string> open;  // rank -> session, of any generation
    std::map<uint32_t, bool> members;      // ranks of this generation
    std::optional<plan::Cursor> cursor;    // where this generation begins
    uint32_t first_rank = 0;               // rank that began this generation
  };
  static GroupKey KeyOf(const SessionEntry& session) {
    return {session.job_uid, session.open.group(), session.open.world_size()};
  }
  // Returns whether the session's reader has reported recently. Opening counts as a report only if it resumes a
  // session.
  static bool Reports(const SessionEntry& session, Nanos now) {
    return session.reports > 0 && now - session.last_report <= kSilent;
  }
  void AddEvent(v1::HistoryEvent::Kind kind, const SessionEntry& session, const std::string& text);
  // Returns the open session of the rank, or null.
  SessionEntry* HolderOf(const Group& group, uint32_t rank);
  // Returns "" if `request` may have the holder's rank, otherwise the reason for waiting, and AlreadyExists if the
  // holder is alive. Notes the request in `holder`.
  absl::StatusOr<std::string> AskFor(SessionEntry* holder, Nanos now, const v1::OpenSessionRequest& request,
                                     const transport::Peer& caller) const;

  static constexpr Nanos kSilent = 3 * kSecond;  // reports come each second
  static constexpr uint64_t kAlive = 2;          // reports; one may have been in flight when its process ended
  // Rivals ask several times within this time. A rival that is silent for longer has stopped asking.
  static constexpr Nanos kAsks = kSecond;
  static constexpr size_t kMostRivals = 64;        // rivals that are counted separately
  static constexpr Nanos kToldFor = 10 * kSecond;  // a session's note mentions a rival for this long
  static constexpr Nanos kWaitCounts = 2500 * kMillisecond;
  static constexpr double kWaits = 0.1;  // fraction of its time

  const StateOptions options_;
  server::PeerCounts of_peers_;
  Nanos last_wait_ = -1;
  std::map<std::string, SessionEntry> sessions_;
  std::map<GroupKey, Group> groups_;
  std::vector<v1::HistoryEvent> events_;
  Nanos next_look_ = 0;  // for expired sessions
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_SESSION_TABLE_H_
