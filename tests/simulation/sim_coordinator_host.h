// The coordinator's host in a simulated cluster. Its process may die and start again; its store stays.
#ifndef PENSTOCK_TESTS_SIMULATION_SIM_COORDINATOR_HOST_H_
#define PENSTOCK_TESTS_SIMULATION_SIM_COORDINATOR_HOST_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "base/runtime/random_source.h"
#include "base/runtime/sim_scheduler.h"
#include "server/coordinator/service/control_loop.h"
#include "tests/simulation/sim_network.h"
#include "tests/support/fake_store.h"

namespace penstock::simulation {

// Not thread-safe. No process runs at first.
class SimCoordinatorHost {
 public:
  static constexpr char kName[] = "coordinator";

  // `seed` determines the ids that the coordinator assigns.
  SimCoordinatorHost(SimScheduler* sim, SimNetwork* network, uint64_t seed);
  ~SimCoordinatorHost();

  // Starts a process with the content of the store. No process may run. A process that another writer supersedes ends
  // by itself.
  void Start();
  // Kills the process, which must run, and its connections.
  void Kill();
  // Destroys the process if one runs, without events on the network.
  void End();
  // Returns null if no process runs.
  coordinator::ControlLoop* loop() const;

  support::FakeStore& store() { return store_; }
  // Returns the reasons why processes ended by themselves.
  const std::vector<absl::Status>& exits() const { return exits_; }
  // Returns a new number for a watch.
  uint64_t NextWatch() { return ++watches_; }

 private:
  struct Process;

  SimScheduler* const sim_;
  SimNetwork* const network_;
  SeededRandom random_;  // for ids
  support::FakeStore store_;
  uint64_t watches_ = 0;
  std::unique_ptr<Process> process_;
  std::vector<absl::Status> exits_;
};

}  // namespace penstock::simulation

#endif  // PENSTOCK_TESTS_SIMULATION_SIM_COORDINATOR_HOST_H_
