// Queue of calls that wait for a thread of an executor, most urgent first.
#ifndef PENSTOCK_PIPELINE_STORAGE_CALL_QUEUE_H_
#define PENSTOCK_PIPELINE_STORAGE_CALL_QUEUE_H_

#include <array>
#include <deque>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "pipeline/storage/storage.h"

namespace penstock::storage {

// Thread-safe. Runs every added call once. `cancelled` is true if the call's stop was requested, the queue was
// destroyed or the executor was stopped before the call began.
class CallQueue {
 public:
  using Call = absl::AnyInvocable<void(bool cancelled) &&>;

  // `executor` must outlive this object.
  explicit CallQueue(Executor* executor) : executor_(executor), state_(std::make_shared<State>()) {}
  // Cancels the waiting calls on this thread, and blocks until running calls have ended. Must not run in one of them.
  ~CallQueue();

  void Add(const CallOptions& options, Call call);

 private:
  static constexpr size_t kPriorities = 3;
  struct Waiting {
    std::stop_token stop;
    Call call;
  };
  struct State {
    Mutex mutex;
    CondVar idle;
    std::array<std::deque<Waiting>, kPriorities> waiting ABSL_GUARDED_BY(mutex);
    int running ABSL_GUARDED_BY(mutex) = 0;
    bool closed ABSL_GUARDED_BY(mutex) = false;
  };
  // Runs the most urgent call, if any. With `cancelled`, the call only reports its cancellation.
  static void RunOne(State* state, bool cancelled);

  Executor* const executor_;
  const std::shared_ptr<State> state_;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_CALL_QUEUE_H_
