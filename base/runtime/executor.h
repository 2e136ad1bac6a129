// Where work runs, passed in: a pool of threads in a process, one thread on virtual time in a simulation. Code that
// posts to an Executor* and reads its clock runs on both without a change.
#ifndef PENSTOCK_BASE_RUNTIME_EXECUTOR_H_
#define PENSTOCK_BASE_RUNTIME_EXECUTOR_H_

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "base/runtime/clock.h"

namespace penstock {

// Run once, or dropped: destroyed without being run when its executor stops first. What must happen either way belongs
// into the destructor of something that the task owns.
using Task = absl::AnyInvocable<void() &&>;

// Of a task that waits for its time; never 0.
using TimerId = uint64_t;

// Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `task` soon, on a thread of the executor; never inside this call, which does not block. Tasks posted by one
  // thread begin in that order, but may run at the same time: a Strand runs them one after another.
  virtual void Post(Task task) = 0;

  // Runs `task` when clock() has reached `when`, before what is posted later than that.
  virtual TimerId PostAt(Nanos when, Task task) = 0;

  // Drops a task that waits for its time.
  //   true   it will not run, and is destroyed
  //   false  it has begun, or has run, or was dropped before
  virtual bool Cancel(TimerId timer) = 0;

  // The time that PostAt goes by. Lives as long as the executor.
  virtual Clock* clock() const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_EXECUTOR_H_
