// The one thread that owns the coordinator's state: requests are queued, applied, committed to the store together, and
// then answered; watchers whose answer has come are let go. Nobody else touches the state, so it needs no lock, and a
// slow disk holds up replies but no reactor.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_CONTROL_LOOP_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_CONTROL_LOOP_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "server/coordinator/state/coordinator_state.h"
#include "server/coordinator/store/store.h"

namespace penstock {

// Thread-safe. Every callback is called exactly once, on the loop's thread or, when the request is refused because too
// many wait, before the call returns; it must not block.
class ControlLoop {
 public:
  using Deadline = std::chrono::system_clock::time_point;
  using ApplyDone = std::function<void(absl::Status, Reply*)>;
  using Query = std::function<void(const CoordinatorState&, Nanos now)>;
  using WatchDone = std::function<void(absl::StatusOr<v1::WatchReply>)>;

  struct Options {
    std::chrono::nanoseconds tick = std::chrono::milliseconds(25);
    size_t max_waiting = 8192;   // requests in the queue
    size_t max_watches = 16384;  // long polls held
  };

  // `store` at `store_revision` holds what `state` was restored from, and outlives the loop, as `clock` does.
  ControlLoop(CoordinatorState state, Store* store, uint64_t store_revision, const Clock* clock,
              const Options& options);
  // Stop(), then waits for the thread. Requests that come later are refused.
  ~ControlLoop();

  // Applies a request. One whose deadline has passed before its turn is not applied.
  void Apply(Request request, Deadline deadline, ApplyDone done);
  // Reads the state. False when too many wait; the query is then not run.
  bool Read(Query query);
  // A long poll: answered when there is something, empty after `wait_ms` (at most 30 s). `id` is the caller's own, to
  // cancel by.
  void Watch(uint64_t id, const v1::WatchRequest& request, WatchDone done);
  void CancelWatch(uint64_t id);
  // Lets all watchers go, now and from now on, with Unavailable. Other requests are still answered.
  void ReleaseWatches();

 private:
  struct ApplyItem {
    Request request;
    Deadline deadline;
    ApplyDone done;
  };
  struct WatchItem {
    uint64_t id;
    v1::WatchRequest request;
    WatchDone done;
    Nanos until = 0;
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
  };

  bool Enqueue(Item item, bool always);
  void Run();
  void Handle(Item item, Nanos now);
  void HandleWatch(WatchItem item, Nanos now);
  Effects ApplyEvent(Event event);
  absl::Status CommitPending();
  void ServeWatches(Nanos now);
  void FailWatches(const absl::Status& status);

  Store* const store_;
  const Clock* const clock_;
  const Options options_;

  // Of the loop's thread alone.
  CoordinatorState state_;
  uint64_t store_revision_;
  std::vector<v1::StoreEvent> pending_;  // applied, not stored yet
  absl::Status store_status_;            // of the last commit
  std::vector<Answer> answers_;
  std::map<uint64_t, WatchItem> watches_;
  uint64_t served_revision_ = 0;
  bool releasing_ = false;

  Mutex mutex_;
  CondVar arrived_;
  std::deque<Item> queue_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_CONTROL_LOOP_H_
