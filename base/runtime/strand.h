// Tasks one after another on an executor: what a session or an agent does, without a lock of its own.
#ifndef PENSTOCK_BASE_RUNTIME_STRAND_H_
#define PENSTOCK_BASE_RUNTIME_STRAND_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "base/runtime/executor.h"

namespace penstock {

// Runs tasks in the order in which they were posted, never two at a time; each sees what those before it wrote. It is a
// capability for clang's thread-safety analysis: fields of the tasks are ABSL_GUARDED_BY(strand_), and a task begins
// with strand_.AssertHere().
//
// For messages and bookkeeping, which are short; not for rows, and nothing that blocks. Thread-safe.
class ABSL_LOCKABLE Strand {
 public:
  // `executor` outlives the strand.
  explicit Strand(Executor* executor);
  // Drops the tasks that have not begun. May happen inside a task of its own.
  ~Strand();
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  // Never blocks, never runs the task inside this call.
  void Post(Task task);

  // Whether the caller is a task of this strand.
  bool RunsHere() const;
  // Ends the process when it is not.
  void AssertHere() const ABSL_ASSERT_EXCLUSIVE_LOCK();

  Executor* executor() const { return executor_; }
  Clock* clock() const { return executor_->clock(); }

 private:
  struct Queue;
  friend class StrandTimer;

  Executor* const executor_;
  const std::shared_ptr<Queue> queue_;
};

// One time at which a strand is to do something. Used by the strand's tasks alone; destroyed by one of them, or when
// the strand runs no more.
class StrandTimer {
 public:
  // `strand` outlives the timer.
  explicit StrandTimer(Strand* strand) : strand_(strand) {}
  ~StrandTimer() { Cancel(); }
  StrandTimer(const StrandTimer&) = delete;
  StrandTimer& operator=(const StrandTimer&) = delete;

  // Runs `task` on the strand at `when`. What was set before is cancelled.
  void Set(Nanos when, Task task);
  // What was set will not run, also when its time has come and only its turn has not.
  void Cancel();
  // Set, and neither run nor cancelled.
  bool pending() const { return armed_ != nullptr; }
  // Of the pending task.
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
