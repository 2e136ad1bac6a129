// The shell that owns the coordinator's state: requests are queued, applied together, committed to the store together,
// and then answered; watchers whose answer has come are let go. One strand does it all, so the state needs no lock, and
// a slow disk holds up replies but no reactor.
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
#include "base/runtime/strand.h"
#include "server/coordinator/service/watch_table.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/coordinator/store/store.h"

namespace penstock {

// What a watcher is told: one object for all who are told the same.
struct WatchAnswer {
  explicit WatchAnswer(v1::WatchReply told) : reply(std::move(told)), bytes(reply.SerializeAsString()) {}
  const v1::WatchReply reply;
  const std::string bytes;  // the reply as the wire has it
};

// Thread-safe. Every callback is called exactly once, by a task of the executor or, when the request is refused because
// too many wait, before the call returns; it must not block.
class ControlLoop {
 public:
  // By the executor's clock.
  static constexpr Nanos kNoDeadline = INT64_MAX;
  using ApplyDone = std::function<void(absl::Status, Reply*)>;
  using Query = std::function<void(const CoordinatorState&, Nanos now)>;
  using WatchDone = std::function<void(absl::StatusOr<std::shared_ptr<const WatchAnswer>>)>;

  struct Options {
    Nanos tick = 25 * kMillisecond;         // where something waits for one
    Nanos quiet_tick = 100 * kMillisecond;  // where nothing does: deaths, files, what tasks wait for
    size_t max_waiting = 8192;              // requests in the queue
    size_t max_watches = 16384;             // long polls held
    // Watchers looked at, and as many whose time is over, before requests that have come have their turn.
    size_t watches_at_once = 256;
  };

  // What watchers have cost so far.
  struct Counts {
    uint64_t looked_at = 0;  // was asked whether there is something for them
    uint64_t encoded = 0;    // answers made; the others were shared
    uint64_t ended_empty = 0;
  };

  // `store` at `store_revision` holds what `state` was restored from. Commits run on the executor, and may take as long
  // as the disk does. Store and executor outlive the loop.
  ControlLoop(CoordinatorState state, Store* store, uint64_t store_revision, Executor* executor,
              const Options& options);
  // For when the executor has stopped or, where it has one thread, on that. What has not had its turn is refused, what
  // is not stored is tried once more.
  ~ControlLoop();

  // Applies a request. One whose deadline has passed before its turn is not applied. What says each second how a
  // process does, while there are no tasks to be fetched, is applied with the next tick: waking a thread for each takes
  // longer than all that is done with them.
  void Apply(Request request, Nanos deadline, ApplyDone done);
  // Reads the state. False when too many wait; the query is then not run.
  bool Read(Query query);
  // A long poll: answered when there is something, empty after `wait_ms` (at most 30 s). `id` is the caller's own, to
  // cancel by; another for each.
  void Watch(uint64_t id, const v1::WatchRequest& request, WatchDone done);
  void CancelWatch(uint64_t id);
  // Lets all watchers go, now and from now on, with Unavailable. Other requests are still answered.
  void ReleaseWatches();

  // For tests: by a task of the executor, or when it runs none.
  const Counts& counts() const { return counts_; }

 private:
  struct ApplyItem {
    Request request;
    Nanos deadline;
    ApplyDone done;
  };
  struct WatchItem {
    uint64_t id;
    v1::WatchRequest request;
    WatchDone done;
    std::string sharing;  // equal for those who are told the same
  };
  struct CancelItem {
    uint64_t id;
  };
  struct ReleaseItem {};
  using Item = std::variant<ApplyItem, Query, WatchItem, CancelItem, ReleaseItem>;
  struct Answer {
    ApplyDone done;
    Effects effects;
    bool durable;  // has facts, which must be stored first
    bool admin;    // asked by hand
  };

  // `soon`: for a turn of its own; else with the next tick, at the latest.
  bool Enqueue(Item item, bool always, bool soon = true);
  // Whether the request may wait for the next tick.
  bool CanWait(const Request& request) const;
  // The next tick is to come then, if not sooner.
  void TickBy(Nanos when) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  // All that waits, a commit, the answers, and some of the watchers.
  void Turn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Handle(Item item, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void HandleWatch(WatchItem item, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  Effects ApplyEvent(Event event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  absl::Status CommitPending() ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void ServeWatches(Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void LookAt(uint64_t id, Nanos now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void EndEmpty(uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void Finish(uint64_t id, absl::StatusOr<std::shared_ptr<const WatchAnswer>> answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(strand_);
  void FailWatches(const absl::Status& status);

  Store* const store_;
  const Options options_;

  // Of the strand's tasks alone.
  CoordinatorState state_;
  uint64_t store_revision_;
  std::vector<v1::StoreEvent> pending_;  // applied, not stored yet
  absl::Status store_status_;            // of the last commit
  std::vector<Answer> answers_;
  WatchTable table_;
  std::unordered_map<uint64_t, WatchItem> watches_;
  // Answers at `shared_revision_`, null where there is nothing to be told.
  std::map<std::string, std::shared_ptr<const WatchAnswer>> shared_;
  std::shared_ptr<const WatchAnswer> empty_;
  uint64_t shared_revision_ = 0;
  Counts counts_;
  bool releasing_ = false;
  Nanos give_back_at_ = 0;  // memory that a large job's preparation or end has freed; 0: nothing to be given back

  // As of the last turn: whether heartbeats are waited for, which fetch tasks.
  std::atomic<bool> tasks_wait_{false};
  Mutex mutex_;
  std::deque<Item> queue_ ABSL_GUARDED_BY(mutex_);
  bool turn_posted_ ABSL_GUARDED_BY(mutex_) = false;
  bool tick_asked_ ABSL_GUARDED_BY(mutex_) = false;  // since the last turn, by what waits for it

  Strand strand_;
  StrandTimer tick_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_CONTROL_LOOP_H_
