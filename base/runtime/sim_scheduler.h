// The runtime of a simulation: one thread, virtual time, and an order that a seed decides.
#ifndef PENSTOCK_BASE_RUNTIME_SIM_SCHEDULER_H_
#define PENSTOCK_BASE_RUNTIME_SIM_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "base/runtime/executor.h"

namespace penstock {

// An Executor whose tasks run when the test says so, on the test's thread. Tasks that are due at one time run in an
// order that the seed draws, so that unlike seeds try unlike races, and one seed is one run, again and again:
// order_hash() is then the same. Time stands still while a task runs and jumps to the next task's time between tasks.
// Not thread-safe.
class SimScheduler final : public Executor {
 public:
  explicit SimScheduler(uint64_t seed) : random_(seed) {}

  void Post(Task task) override { PostAt(clock_.Now(), std::move(task)); }
  TimerId PostAt(Nanos when, Task task) override;
  bool Cancel(TimerId timer) override;
  Clock* clock() const override { return &clock_; }

  // A number of the seed's, for what else a simulation draws (delays, losses): uniform in [0, bound); bound > 0.
  uint64_t Draw(uint64_t bound);

  // Runs the next task, at its time. False when there is none.
  bool RunOne();
  // Runs tasks until done() holds, which is asked before each, or the next one lies behind `until` (the clock is then
  // at `until`), or there is none. Returns done().
  bool RunUntil(absl::FunctionRef<bool()> done, Nanos until);
  // Runs what happens within `length` from now.
  void RunFor(Nanos length);

  // Destroys all tasks that wait, and those posted meanwhile.
  void DropAll();

  size_t waiting() const { return tasks_.size(); }
  uint64_t tasks_run() const { return run_; }
  // Of the order in which tasks ran, and when: equal for two runs that did the same.
  uint64_t order_hash() const { return order_hash_; }

 private:
  // When, then by the seed's draw, then by number.
  struct Place {
    Nanos when = 0;
    uint64_t draw = 0;
    TimerId id = 0;
    auto operator<=>(const Place&) const = default;
  };
  uint64_t Random();

  mutable ManualClock clock_;
  uint64_t random_;
  TimerId next_ = 1;
  uint64_t run_ = 0;
  uint64_t order_hash_ = 0;
  std::map<Place, Task> tasks_;
  std::unordered_map<TimerId, Place> places_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_SIM_SCHEDULER_H_
