// Runs tasks one after another on an executor. Sessions and agents use it instead of a lock.
#ifndef PENSTOCK_BASE_RUNTIME_STRAND_H_
#define PENSTOCK_BASE_RUNTIME_STRAND_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "base/runtime/executor.h"

namespace penstock {

// Runs tasks in the order in which they were posted, one at a time. Each task sees the writes of the previous ones. A
// strand is a capability for clang's thread-safety analysis: fields that the tasks use are ABSL_GUARDED_BY(strand_),
// and a task begins with strand_.AssertHere().
//
// For short tasks: messages and bookkeeping. Tasks must not block or process rows. Thread-safe.
class ABSL_LOCKABLE Strand {
 public:
  // `executor` must outlive the strand.
  explicit Strand(Executor* executor);
  // Drops the tasks that have not started, and does not wait for a running one. May run inside one of the strand's
  // tasks.
  ~Strand();
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // Posts a task. Never blocks, and never runs the task inside this call.
  void Post(Task task);

  // Returns true if the caller is a task of this strand.
  bool RunsHere() const;
  // Aborts the process if the caller is not a task of this strand.
  void AssertHere() const ABSL_ASSERT_EXCLUSIVE_LOCK();

  Executor* executor() const { return executor_; }
  Clock* clock() const { return executor_->clock(); }

 private:
  struct Queue;
  friend class StrandTimer;

  Executor* const executor_;
  const std::shared_ptr<Queue> queue_;
};

// A timer of a strand, for one task at a time. Only the strand's tasks may use and destroy it. When the strand no
// longer runs tasks, any thread may destroy it.
class StrandTimer {
 public:
  // `strand` must outlive the timer.
  explicit StrandTimer(Strand* strand) : strand_(strand) {}
  ~StrandTimer() { Cancel(); }
  StrandTimer(const StrandTimer&) = delete;
  StrandTimer& operator=(const StrandTimer&) = delete;

  // Runs `task` on the strand at `when`. Cancels the previous task.
  void Set(Nanos when, Task task);
  // Cancels the task, even if its time has passed and it only waits for its turn.
  void Cancel();
  // Returns true if a task is set and has neither run nor been cancelled.
  bool pending() const { return armed_ != nullptr; }
  // Returns the time of the pending task.
  Nanos when() const { return when_; }

 private:
  struct Armed;

  Strand* const strand_;
  std::shared_ptr<Armed> armed_;
  TimerId timer_ = 0;
  Nanos when_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_STRAND_H_
