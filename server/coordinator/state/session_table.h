// The open sessions of trainers: their progress, what they say about workers, and that the ranks of
// one run begin at one place. Pure state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_SESSION_TABLE_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_SESSION_TABLE_H_

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/plan/steps.h"
#include "server/coordinator/explain/history.h"
#include "server/coordinator/state/events.h"

namespace penstock {

struct SessionEntry {
  std::string id;
  v1::OpenSessionRequest open;
  uint64_t job_uid = 0;
  v1::ReportSessionRequest last;  // progress; without workers and records
  Nanos last_report = 0;          // or when it was opened
  double waited = 0;              // part of the time that its trainer waited, of late
  uint64_t reports = 0;
  // Others that ask for its rank, by process: when last, and how often this one had reported when they began. What it
  // said before proves nothing to one that comes later, which may be its own successor.
  struct Rival {
    Nanos asked = 0;
    uint64_t reports_before = 0;
  };
  std::map<uint64_t, Rival> rivals;
  Nanos asked_for = -1;  // the last time, by rival_host
  std::string rival_host;
  std::string twin;  // the session of the same process and rank that is or was open beside it; "" without one
  std::map<std::string, Nanos> failed;  // workers that it could not use -> when it said so
  // The same for whoever asks what the session waits for: also once it counts no more, since the worker was removed.
  std::map<std::string, Nanos> unreachable;
  History<v1::ReportSessionRequest> history;  // rows and times alone
};

// Ranks of one training run share (job submission, group, world size), and each opens at the run's
// (epoch, position):
//   - the first rank to open begins a generation, which has its position
//   - a rank that opens again begins the next generation, at its position, and its earlier session
//     is closed
//   - the other ranks of a generation must open at its position
// A world size of 1 is never compared, nor is a session that goes on after a coordinator's restart.
//
// A rank has one reader: two would train on the same rows, and nobody on those of another rank. A trainer that was
// started again is not kept out by the session that it left behind, which says nothing any more:
//   the rank's session       asked for by another process      by one of a session that was closed meanwhile
//   silent for 3 s           is closed, the new one opened     the same
//   has reported of late     wait: within 3 s it falls silent  AlreadyExists
//                            or reports twice: AlreadyExists
// One process may open a rank twice, to look at a batch: both are kept, and noted.
class SessionTable {
 public:
  explicit SessionTable(const StateOptions& options) : options_(options) {}

  struct Opening {
    const SessionEntry* session = nullptr;
    std::string wait;  // null session: why not yet
  };
  // FailedPrecondition names both positions and ranks; AlreadyExists the reader that has this rank;
  // ResourceExhausted: too many sessions. `id` is the new session's.
  absl::StatusOr<Opening> Open(Nanos now, const std::string& id, const v1::OpenSessionRequest& request,
                               uint64_t job_uid);
  // Null when there is no such session.
  SessionEntry* Report(Nanos now, const v1::ReportSessionRequest& request);
  void Close(const std::string& id);
  void CloseJob(const std::string& job);
  // Closes the sessions that have not reported for session_expiry, within a second or so.
  void Tick(Nanos now);

  // Sessions of the jobs that `concerns` names, and how many of them have said, within
  // report_window, that they cannot use the worker.
  struct Votes {
    size_t sessions = 0;
    size_t against = 0;
  };
  template <typename Concerns>
  Votes CountVotes(const std::string& worker, Nanos now, const Concerns& concerns) const {
    Votes votes;
    for (const auto& [id, session] : sessions_) {
      if (!concerns(session.open.job())) continue;
      ++votes.sessions;
      auto said = session.failed.find(worker);
      if (said != session.failed.end() && now - said->second <= options_.report_window) {
        ++votes.against;
      }
    }
    return votes;
  }
  // Whether some trainer has waited for rows in the last seconds, by what its session reported.
  bool AnyWaits(Nanos now) const { return last_wait_ >= 0 && now - last_wait_ <= kWaitCounts; }
  // What was said against a worker counts no more.
  void ForgetVotes(const std::string& worker);

  std::vector<const SessionEntry*> OfJob(const std::string& job) const;
  // What is wrong with a session, in words; mostly "".
  std::string NoteOf(const SessionEntry& session, Nanos now) const;
  size_t size() const { return sessions_.size(); }

 private:
  using GroupKey = std::tuple<uint64_t, std::string, uint32_t>;  // job uid, group, world size
  struct Group {
    std::map<uint32_t, std::string> open;  // rank -> session, of any generation
    std::map<uint32_t, bool> members;      // ranks of this generation
    std::optional<Cursor> cursor;          // where this generation begins
    uint32_t first_rank = 0;               // who began it
  };
  static GroupKey KeyOf(const SessionEntry& session) {
    return {session.job_uid, session.open.group(), session.open.world_size()};
  }
  // Whether the session's reader has said something since it opened, and of late.
  static bool Reports(const SessionEntry& session, Nanos now) {
    return session.reports > 0 && now - session.last_report <= kSilent;
  }
  // The session of the rank that is open, or null.
  SessionEntry* HolderOf(const Group& group, uint32_t rank);
  // Whether `request` may have the holder's rank: "" when it may, else what it waits for.
  absl::StatusOr<std::string> AskFor(SessionEntry* holder, Nanos now, const v1::OpenSessionRequest& request) const;

  static constexpr Nanos kSilent = 3 * kSecond;    // reports come each second
  static constexpr uint64_t kAlive = 2;            // reports; one may have been on its way as its process ended
  static constexpr Nanos kAsks = kSecond;          // several times; who has not for so long has given up
  static constexpr size_t kMostRivals = 64;        // told apart
  static constexpr Nanos kToldFor = 10 * kSecond;  // that another asked
  static constexpr Nanos kWaitCounts = 2500 * kMillisecond;
  static constexpr double kWaits = 0.1;  // of its time

  const StateOptions options_;
  Nanos last_wait_ = -1;
  std::map<std::string, SessionEntry> sessions_;
  std::map<GroupKey, Group> groups_;
  Nanos next_look_ = 0;  // for expired ones
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_SESSION_TABLE_H_
