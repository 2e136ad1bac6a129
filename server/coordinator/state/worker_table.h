// The workers: who is registered, who is live, who must wait before it is trusted again. Pure
// state.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_WORKER_TABLE_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_WORKER_TABLE_H_

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/coordinator/explain/history.h"
#include "server/coordinator/state/events.h"

namespace penstock {

struct WorkerEntry {
  v1::RegisterWorkerRequest info;
  v1::WorkerLoad load;
  // LIVE       has ranges and gets tasks
  // DRAINING   has no ranges; still answers until it says that it leaves
  // SUSPECT    beats, but was removed on reports or keeps coming and going
  // DEAD       no heartbeat for dead_after
  // LEFT       said that it leaves
  v1::WorkerStatus::State state = v1::WorkerStatus::LIVE;
  Nanos last_beat = 0;
  Nanos since = 0;             // when `state` began
  bool drain_ordered = false;  // by an operator: told with each heartbeat
  std::deque<Nanos> strikes;   // when it was removed or crashed, each forgiven after forgive_after; a bounded number
  Nanos steady_since = 0;      // beats without a gap
  // Rows per second that its shares are made for (capacity_watch.h); 0: none was taken over.
  double capacity = 0;
  History<v1::WorkerLoad> history;  // of this incarnation, without words

  bool live() const { return state == v1::WorkerStatus::LIVE; }
  bool Beats() const {
    return state == v1::WorkerStatus::LIVE || state == v1::WorkerStatus::DRAINING || state == v1::WorkerStatus::SUSPECT;
  }
};

class WorkerRegister {
 public:
  explicit WorkerRegister(const StateOptions& options) : options_(options), capacity_watch_(options.capacity) {}

  // A worker of the store: one that was live counts as live until dead_after has passed.
  void Restore(Nanos now, const v1::StoredWorker& stored);

  // InvalidArgument: no id, no address or no threads; ResourceExhausted: too many workers. A new
  // incarnation of a live worker means that it crashed: `restarted` is then true, and what it was
  // doing is lost.
  struct Registered {
    bool restarted = false;
  };
  absl::StatusOr<Registered> Register(Nanos now, const v1::RegisterWorkerRequest& request, Consequences* out);

  // Null when the worker has to register (again).
  WorkerEntry* Heartbeat(Nanos now, const v1::HeartbeatRequest& request, Consequences* out);

  // An operator's wish. NotFound lists the workers there are.
  absl::Status Drain(Nanos now, const std::string& id, Consequences* out);

  // Most sessions cannot reach it.
  void RemoveOnReports(Nanos now, const std::string& id, Consequences* out);

  // Deaths, readmissions, and the forgetting of those long gone. After a pause of the coordinator
  // itself (no tick for half of dead_after) everyone is given a fresh dead_after: heartbeats wait
  // to be read. Returns the ids of those that died.
  // Shares follow capacities only while `trainers_wait`.
  std::vector<std::string> Tick(Nanos now, bool trainers_wait, Consequences* out);

  // Capacity in rows per second, relative among workers: what was taken over, else threads times the
  // mean rate of the others' threads.
  double Capacity(const WorkerEntry& worker) const;

  // How long a SUSPECT must beat on before it is readmitted, and why; for the status.
  std::string WhyOut(Nanos now, const WorkerEntry& worker) const;

  const std::map<std::string, WorkerEntry>& all() const { return workers_; }
  const WorkerEntry* Find(const std::string& id) const;
  // The conformance digest of most live workers (the first in order among equals); "" without any.
  std::string CommonDigest() const;
  size_t CountLive() const;
  size_t size() const { return workers_.size(); }  // those who have died or left included

 private:
  void SetState(Nanos now, WorkerEntry* worker, v1::WorkerStatus::State state, Consequences* out);
  void Strike(Nanos now, WorkerEntry* worker);
  void Forgive(Nanos now, WorkerEntry* worker) const;
  bool Trusted(Nanos now, WorkerEntry* worker) const;
  // When a SUSPECT may be readmitted, if it beats on.
  Nanos ReadmitAt(const WorkerEntry& worker) const;
  // How often it was struck in the last forgive_after.
  size_t CountStrikes(Nanos now, const WorkerEntry& worker) const;
  void WatchCapacity(Nanos now, bool trainers_wait, Consequences* out);
  void Store(const WorkerEntry& worker, Consequences* out) const;

  // A worker may die or crash this often within forgive_after before it has to be steady first.
  static constexpr size_t kTrustedStrikes = 3;
  static constexpr size_t kRememberedStrikes = 64;

  const StateOptions options_;
  std::map<std::string, WorkerEntry> workers_;
  Nanos last_tick_ = -1;
  CapacityWatch capacity_watch_;
  Nanos last_look_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_WORKER_TABLE_H_
