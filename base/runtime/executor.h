// The runtime as a parameter: a pool of threads in a process, one thread on virtual time in a simulation. Code that
// posts to an Executor* and reads its clock runs on both unchanged.
#ifndef PENSTOCK_BASE_RUNTIME_EXECUTOR_H_
#define PENSTOCK_BASE_RUNTIME_EXECUTOR_H_

#include <cstdint>

#include "absl/functional/any_invocable.h"
#include "base/runtime/clock.h"

namespace penstock {

// An executor runs a task once, or drops it: destroys it without running it, if the executor stops first. Work that
// must happen in both cases belongs in the destructor of an object that the task owns.
using Task = absl::AnyInvocable<void() &&>;

// Identifies a task that waits for its time. Never 0.
using TimerId = uint64_t;

// Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;

  // Runs `task` soon on a thread of the executor. Does not block, and never runs the task inside this call. Tasks may
  // start in any order and run concurrently. A Strand runs tasks in order, one after another.
  virtual void Post(Task task) = 0;

  // Runs `task` when clock() has reached `when`, before tasks that are posted after that time.
  virtual TimerId PostAt(Nanos when, Task task) = 0;

  // Drops a task that waits for its time.
  //   true   the task will not run, and is destroyed
  //   false  the task has started, has run, or was dropped before
  virtual bool Cancel(TimerId timer) = 0;

  // Returns the clock of PostAt. It lives as long as the executor.
  virtual Clock* clock() const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_EXECUTOR_H_
