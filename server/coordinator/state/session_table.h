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
#include "server/coordinator/state/events.h"

namespace penstock {

struct SessionEntry {
  std::string id;
  v1::OpenSessionRequest open;
  uint64_t job_uid = 0;
  v1::ReportSessionRequest last;        // progress; without workers and records
  Nanos last_report = 0;                // or when it was opened
  double waited = 0;                    // part of the time that its trainer waited, of late
  std::map<std::string, Nanos> failed;  // workers that it could not use -> when it said so
};

// Ranks of one training run share (job submission, group, world size), and each opens at the run's
// (epoch, position):
//   - the first rank to open begins a generation, which has its position
//   - a rank that opens again begins the next generation, at its position, and its earlier session
//     is closed
//   - the other ranks of a generation must open at its position
// A world size of 1 is never compared, nor is a session that goes on after a coordinator's restart.
class SessionTable {
 public:
  explicit SessionTable(const StateOptions& options) : options_(options) {}

  // FailedPrecondition names both positions and ranks; ResourceExhausted: too many sessions.
  // `id` is the new session's.
  absl::StatusOr<const SessionEntry*> Open(Nanos now, const std::string& id, const v1::OpenSessionRequest& request,
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
