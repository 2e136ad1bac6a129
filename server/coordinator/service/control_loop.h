// Owns the coordinator's state. It queues requests, applies them together and answers them. Changes of jobs, bad
// records and decisions take effect when they are stored, and their requests are answered then. The loop also answers
// watchers when their job changes. All of this runs on one strand, so the state needs no lock. Nothing on the strand
// waits for the disk.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_CONTROL_LOOP_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_CONTROL_LOOP_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/random_source.h"
#include "base/runtime/strand.h"
#include "server/coordinator/service/commit_queue.h"
#include "server/coordinator/service/watch_table.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/coordinator/store/store.h"
#include "transport/peer.h"

namespace penstock::coordinator {

// A reply to watchers. All watchers with the same reply share one object.
struct WatchAnswer {
  explicit WatchAnswer(v1::WatchReply told) : reply(std::move(told)), bytes(reply.SerializeAsString()) {}
  const v1::WatchReply reply;
  const std::string bytes;  // the reply in wire format
};

// Thread-safe. Calls each `done` exactly once, in a task of the executor or in the destructor, which drops only that of
// Close. If too many requests wait, it calls `done` with an error before the call returns. Callbacks must not block.
class ControlLoop {
 public:
  // Deadline of a request that has none. Deadlines are times of the executor's clock.
  static constexpr Nanos kNoDeadline = INT64_MAX;
  using ApplyDone = std::function<void(absl::Status, Reply*)>;
  using Query = std::function<void(const CoordinatorState&, Nanos now)>;
  using WatchDone = std::function<void(absl::StatusOr<std::shared_ptr<const WatchAnswer>>)>;

  struct Options {
    Nanos tick = 25 * kMillisecond;         // interval while something waits for a tick
    Nanos quiet_tick = 100 * kMillisecond;  // interval otherwise, for dead workers, silent sessions and delayed tasks
    // Limit of requests in the queue, and of requests that wait for the store.
    size_t max_waiting = 8192;
    size_t max_watches = 16384;  // limit of open long polls
    // Watchers to serve, and as many expired ones to end, before queued requests get a turn.
    size_t watches_at_once = 256;
    // Called once, in a task of the executor, when another writer has changed the store. From then on the loop rejects
    // requests and watches.
    std::function<void(const absl::Status& why)> on_superseded = [](const absl::Status&) {};
    RandomSource* random = RandomSource::Real();  // for the ids of sessions, traces and commits
  };

  // Work for watchers so far.
  struct Counts {
    uint64_t looked_at = 0;  // number of times that a watcher was checked for changes
    uint64_t encoded = 0;    // answers made; the other watchers shared one
    uint64_t ended_empty = 0;
  };

  // The work of the loop, for metrics.
  struct Load {
    uint64_t handled = 0, rejected = 0;  // requests of Apply so far; rejected: the queue was full
    size_t queued = 0;                   // waiting items
    size_t unstored = 0;                 // requests that wait for the store
    size_t watches = 0;
    uint64_t answers_encoded = 0, answers_empty = 0;  // of watches
    CommitQueue::Counts commits;
    uint64_t uncommitted = 0;  // changes and hints that are not stored yet
  };

  // `state` was restored from `store` at `store_revision`. Store and executor must outlive the loop.
  ControlLoop(CoordinatorState state, Store* store, uint64_t store_revision, Executor* executor,
              const Options& options);
  // Call it after the executor has stopped or, if the executor has one thread, on that thread. Rejects waiting
  // requests, runs queued queries and drops the callback of Close. Facts that are not stored are lost; see Close.
  ~ControlLoop();

  // Applies a request, unless its deadline has passed before its turn. Two kinds of request do not start a turn, and
  // wait for the next tick at the latest: a session report that names no failed worker, and a heartbeat while no task
  // waits for a worker to fetch it. Waking a thread for each would take longer than applying them. `caller` is the
  // process that sent the request.
  void Apply(Request request, Nanos deadline, ApplyDone done, transport::Peer caller = {});
  // Reads the state. Returns false if too many requests wait; the query is then not run.
  bool Read(Query query);
  // Calls `done` with OK if requests are served; otherwise with the reason: another writer has changed the store, the
  // loop is stopping, or too many requests wait.
  void CheckServing(std::function<void(absl::Status)> done);
  // Starts a long poll. The answer is the changes or, after about `wait_ms` (at most 30 s), an empty reply. The caller
  // chooses a new `id` for each call, and passes it to CancelWatch.
  void Watch(uint64_t id, const v1::WatchRequest& request, WatchDone done);
  void CancelWatch(uint64_t id);
  // Ends all current and future watches with Unavailable. Other requests are still answered.
  void ReleaseWatches();
  // Tries once more to store the facts that are not stored, and then calls `done`.
  void Close(std::function<void()> done);

  // Call it in a query.
  Load load() const;

  // For tests. Call it in a task of the executor, or while the executor runs no task.
  const Counts& counts() const { return counts_; }

 private:
  struct ApplyItem {
    Request request;
    Nanos deadline;
    ApplyDone done;
    transport::Peer caller;
  };
  struct WatchItem {
    uint64_t id;
    v1::WatchRequest request;
    WatchDone done;
    std::string sharing;  // equal for watchers with the same reply
  };
  struct CancelItem {
    uint64_t id;
  };
  struct ReleaseItem {};
  struct CheckItem {
    std::function<void(absl::Status)> done;
  };
  struct CloseItem {
    std::function<void()> done;
  };
  using Item = std::variant<ApplyItem, Query, WatchItem, CancelItem, ReleaseItem, CheckItem, CloseItem>;
  // An answer that waits until the entries `first` to `last` of the commit queue are stored.
  struct Answer {
    ApplyDone done;
    absl::Status status;
    Reply reply;
    uint64_t first = 0, last = 0;
    bool admin = false;
  };

  // `soon`: posts a turn; otherwise the item waits for the next tick at the latest. `always`: accepts the item even if
  // the queue is full.
  bool Enqueue(Item item, bool always, bool soon = true);
  // Returns whether the request may wait for the next tick.
  bool CanWait(const Request& request) const;
  // Schedules the next tick for `when`, unless it is scheduled earlier.
  void TickBy(Nanos when) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Handles all queued items, starts a commit, answers, and serves some of the watchers.
  void Turn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Handle(Item item, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void HandleApply(ApplyItem item, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void HandleWatch(WatchItem item, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Logs the effects, and moves their facts and changes to the commit queue.
  void Gather(Effects* effects) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Ends the changes of a commit and answers their requests.
  void CommitEnded(CommitQueue::Result result) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void EndChange(CommitQueue::Entry entry, const absl::Status& stored, Nanos now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // Rejects everything from now on, because another writer has changed the store.
  void StopServing(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void ServeWatches(Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void LookAt(uint64_t id, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void EndEmpty(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Finish(uint64_t id, absl::StatusOr<std::shared_ptr<const WatchAnswer>> answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void FailWatches(const absl::Status& status);

  const Options options_;

  // Only for tasks of the strand.
  CoordinatorState state_;
  std::deque<Answer> waiting_;    // answers that wait for the store, ordered by `last`
  std::vector<ApplyItem> held_;   // requests that must wait for a change of their job
  absl::Status superseded_;       // not OK: the reply to all requests
  std::function<void()> closed_;  // after Close
  WatchTable table_;
  std::unordered_map<uint64_t, WatchItem> watches_;
  // Answers at `shared_revision_`; null if there are no changes.
  std::map<std::string, std::shared_ptr<const WatchAnswer>> shared_;
  std::shared_ptr<const WatchAnswer> empty_;
  uint64_t shared_revision_ = 0;
  Counts counts_;
  uint64_t handled_ = 0;
  bool releasing_ = false;
  Nanos release_heap_at_ = 0;  // time of the next return of freed memory to the system, after a large job; 0: none

  // Whether tasks wait for heartbeats to fetch them, as of the last turn.
  std::atomic<bool> tasks_wait_{false};
  std::atomic<uint64_t> rejected_{0};
  mutable Mutex mutex_;
  std::deque<Item> queue_ ABSL_GUARDED_BY(mutex_);
  bool turn_posted_ ABSL_GUARDED_BY(mutex_) = false;
  bool tick_asked_ ABSL_GUARDED_BY(mutex_) = false;  // since the last turn, by an item that waits for the tick

  Strand strand_;
  StrandTimer tick_;
  CommitQueue commits_;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_CONTROL_LOOP_H_
