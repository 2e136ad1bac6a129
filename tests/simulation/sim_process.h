// The executor of one simulated process: its tasks die with it.
#ifndef PENSTOCK_TESTS_SIMULATION_SIM_PROCESS_H_
#define PENSTOCK_TESTS_SIMULATION_SIM_PROCESS_H_

#include <memory>
#include <utility>

#include "base/runtime/sim_scheduler.h"

namespace penstock::simulation {

// Not thread-safe.
class SimProcess final : public Executor {
 public:
  explicit SimProcess(SimScheduler* sim) : sim_(sim) {}
  // Calls Kill().
  ~SimProcess() override { Kill(); }

  void Post(Task task) override { PostAt(clock()->Now(), std::move(task)); }
  TimerId PostAt(Nanos when, Task task) override {
    return sim_->PostAt(when, [alive = alive_, task = std::move(task)]() mutable {
      if (*alive) std::move(task)();
    });
  }
  bool Cancel(TimerId timer) override { return sim_->Cancel(timer); }
  Clock* clock() const override { return sim_->clock(); }

  // Stops the process: none of its tasks runs afterwards.
  void Kill() { *alive_ = false; }
  // Returns whether the process lives. A callback from outside keeps the result and checks it.
  std::shared_ptr<const bool> alive() const { return alive_; }

 private:
  SimScheduler* const sim_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace penstock::simulation

#endif  // PENSTOCK_TESTS_SIMULATION_SIM_PROCESS_H_
