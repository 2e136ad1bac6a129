// The runtime of a simulation: one thread, virtual time, and an order of tasks that a seed determines.
#ifndef PENSTOCK_BASE_RUNTIME_SIM_SCHEDULER_H_
#define PENSTOCK_BASE_RUNTIME_SIM_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "base/runtime/executor.h"
#include "base/runtime/random_source.h"

namespace penstock {

// An Executor that runs its tasks on the test's thread when the test requests it. Tasks with the same due time run in
// an order that the seed determines. Different seeds thus exercise different races, and the same seed always repeats
// the same run, with the same order_hash(). Between tasks, time jumps to the next task's time. While a task runs, only
// Clock::Pause lets time pass. Not thread-safe.
class SimScheduler final : public Executor {
 public:
  explicit SimScheduler(uint64_t seed) : random_(seed) {}

  void Post(Task task) override { PostAt(clock_.Now(), std::move(task)); }
  TimerId PostAt(Nanos when, Task task) override;
  bool Cancel(TimerId timer) override;
  Clock* clock() const override { return &clock_; }

  // Returns a random number from the seed, uniform in [0, bound), for other draws of a simulation (delays, losses).
  // `bound` must be positive.
  uint64_t Draw(uint64_t bound);

  // Runs the next task at its time. Returns false if there is none.
  bool RunOne();
  // Runs tasks until done() returns true, or no task is left that is due by `until`. Then advances the clock to `until`
  // in the second case. Checks done() before each task. Returns done().
  bool RunUntil(absl::FunctionRef<bool()> done, Nanos until);
  // Runs tasks until none is left.
  void RunAll();
  // Runs the tasks that are due within `length` from now, and advances the clock by `length`.
  void RunFor(Nanos length);

  // Destroys all waiting tasks, and those that are posted meanwhile.
  void DropAll();

  size_t waiting() const { return tasks_.size(); }
  uint64_t tasks_run() const { return run_; }
  // Returns a hash of the order and the times of the tasks: equal for equal runs.
  uint64_t order_hash() const { return order_hash_; }

 private:
  // Sorted by time, then by the seed's draw, then by number.
  struct Place {
    Nanos when = 0;
    uint64_t draw = 0;
    TimerId id = 0;
    auto operator<=>(const Place&) const = default;
  };

  mutable ManualClock clock_;
  SeededRandom random_;
  TimerId next_ = 1;
  uint64_t run_ = 0;
  uint64_t order_hash_ = 0;
  std::map<Place, Task> tasks_;
  std::unordered_map<TimerId, Place> places_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_SIM_SCHEDULER_H_
