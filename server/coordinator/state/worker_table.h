// The registered workers and their states: which are live, and which must first send heartbeats steadily because they
// failed before. Pure state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_WORKER_TABLE_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_WORKER_TABLE_H_

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/coordinator/explain/history.h"
#include "server/coordinator/state/events.h"

namespace penstock::coordinator {

struct WorkerEntry {
  v1::RegisterWorkerRequest info;
  std::string name;                      // display name; no other worker that sends heartbeats has it
  std::optional<transport::Peer> owner;  // the peer that registered it; nullopt: unknown
  v1::WorkerLoad load;
  google::protobuf::RepeatedPtrField<v1::RejectedCaller> rejected;  // callers that it rejected
  google::protobuf::RepeatedPtrField<v1::Finding> findings;         // about itself
  int64_t clock_ahead_ms = 0;                                       // as in WorkerStatus
  // LIVE       has ranges and gets tasks
  // DRAINING   has no ranges of a job that a live worker can serve; answers until it reports that it leaves
  // SUSPECT    as DRAINING; votes removed it, or it died or crashed repeatedly
  // DEAD       no heartbeat for dead_after
  // LEFT       reported that it leaves
  v1::WorkerStatus::State state = v1::WorkerStatus::LIVE;
  Nanos last_beat = 0;
  Nanos since = 0;  // when `state` began
  // Time of its loss. A worker is lost if it died without being drained. A worker that is known only from the store
  // counts as lost unless it was draining or had left.
  std::optional<Nanos> lost_since;
  bool voted_out = false;      // SUSPECT, because sessions cannot use it
  bool drain_ordered = false;  // ordered by an operator; each heartbeat reply contains it
  std::deque<Nanos> strikes;   // times of its removals, deaths and crashes, each forgiven after forgive_after; bounded
  Nanos steady_since = 0;      // start of its latest heartbeats without a gap
  // Rows per second that its shares are based on (capacity_watch.h). 0: not known yet.
  double capacity = 0;
  History<v1::WorkerLoad> history;  // loads of this incarnation; only counts

  bool live() const { return state == v1::WorkerStatus::LIVE; }
  bool Beats() const {
    return state == v1::WorkerStatus::LIVE || state == v1::WorkerStatus::DRAINING || state == v1::WorkerStatus::SUSPECT;
  }
};

class WorkerRegister {
 public:
  explicit WorkerRegister(const StateOptions& options) : options_(options), capacity_watch_(options.capacity) {}

  // Adds a worker of the store. A worker that was live counts as live until dead_after has passed.
  void Restore(Nanos now, const v1::StoredWorker& stored);

  // Registers a worker. Returns InvalidArgument if the id or the address is empty or a field is too large, and
  // ResourceExhausted if there are too many workers. `restarted`: the table had another incarnation of the worker,
  // whose work is lost. If that incarnation was live or draining, it crashed.
  struct Registered {
    bool restarted = false;
  };
  absl::StatusOr<Registered> Register(Nanos now, const v1::RegisterWorkerRequest& request, const transport::Peer& owner,
                                      Consequences* out);

  // Returns OK if the caller may act as the worker with this id: if there is none, if it is known only from the store
  // of a coordinator without names, or by options.may_act. A worker that sends no heartbeats may be registered again by
  // any caller. Otherwise returns the rule's error.
  absl::Status MayServe(const std::string& id, const transport::Peer& caller, bool registers) const;

  // Applies a heartbeat. Returns null if the worker has to register (again).
  WorkerEntry* Heartbeat(Nanos now, const v1::HeartbeatRequest& request, Consequences* out);

  // Drains a worker on an operator's request. A NotFound error lists the workers that send heartbeats. Returns
  // FailedPrecondition if the worker died or left.
  absl::Status Drain(Nanos now, const std::string& id, Consequences* out);

  // Makes a live worker SUSPECT after votes of its readers. Does nothing if the worker is not live.
  void RemoveOnReports(Nanos now, const std::string& id, Consequences* out);

  // Applies deaths and readmissions, and forgets workers that died or left long ago. After a pause of the coordinator
  // itself (no tick for over half of dead_after) every worker gets a new dead_after, because its heartbeats may still
  // be unread. Returns the ids of workers that died. Shares follow capacities only while `trainers_wait`.
  std::vector<std::string> Tick(Nanos now, bool trainers_wait, Consequences* out);

  // Returns the worker's capacity in rows per second. If it is unknown, returns the number of its threads times the
  // mean rate of the live workers' threads, or times 1 if no capacity is known.
  double Capacity(const WorkerEntry& worker) const;

  // Describes the loss of a DEAD or SUSPECT worker: since when, and when a SUSPECT one is readmitted. Returns "" for
  // others.
  std::string WhyLost(Nanos now, const WorkerEntry& worker) const;

  const std::map<std::string, WorkerEntry>& all() const { return workers_; }
  const WorkerEntry* Find(const std::string& id) const;
  // Returns the worker's display name, or the id of an unknown worker.
  const std::string& NameOf(const std::string& id) const;
  // Returns the most common conformance digest of live workers; of equally common ones the first in order. Returns ""
  // if no worker is live.
  std::string CommonDigest() const;
  size_t CountLive() const;
  size_t size() const { return workers_.size(); }  // includes dead workers and those that left

 private:
  // `why` is the reason in words, for the history.
  void SetState(Nanos now, WorkerEntry* worker, v1::WorkerStatus::State state, std::string why, Consequences* out);
  void Strike(Nanos now, WorkerEntry* worker);
  void Forgive(Nanos now, WorkerEntry* worker) const;
  bool Trusted(Nanos now, WorkerEntry* worker) const;
  // Returns when a SUSPECT worker is readmitted, if its heartbeats continue.
  Nanos ReadmitAt(const WorkerEntry& worker) const;
  // Returns the number of strikes within forgive_after.
  size_t CountStrikes(Nanos now, const WorkerEntry& worker) const;
  void WatchCapacity(Nanos now, bool trainers_wait, Consequences* out);
  void Store(const WorkerEntry& worker, Consequences* out) const;
  // Stores a worker that has changed otherwise than in its capacity.
  void StoreMember(const WorkerEntry& worker, Consequences* out) const;
  void SetInfo(WorkerEntry* worker, const v1::RegisterWorkerRequest& info) const;
  // Derives the display name from the worker's info. Must be called before a worker begins to send heartbeats.
  void SetName(WorkerEntry* worker) const;

  // A worker with fewer strikes than this is trusted at once when it rejoins. Otherwise it must first send heartbeats
  // steadily.
  static constexpr size_t kTrustedStrikes = 3;
  static constexpr size_t kRememberedStrikes = 64;

  const StateOptions options_;
  std::map<std::string, WorkerEntry> workers_;
  Nanos last_tick_ = -1;
  CapacityWatch capacity_watch_;
  Nanos last_look_ = 0;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_WORKER_TABLE_H_
