// A worker's process in a simulation: the real agent and stream sessions, with simulated rows.
#ifndef PENSTOCK_TESTS_SIMULATION_SIM_WORKER_H_
#define PENSTOCK_TESTS_SIMULATION_SIM_WORKER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/runtime/clock.h"
#include "base/runtime/sim_scheduler.h"
#include "base/trace/trace_recorder.h"
#include "net/trace/trace_taker.h"
#include "pipeline/sources/dataset_files.h"
#include "server/worker/indexes/shard_indexes.h"
#include "server/worker/jobs/served_jobs.h"
#include "server/worker/link/agent.h"
#include "server/worker/link/load_meter.h"
#include "server/worker/stream/session_acceptor.h"
#include "tests/simulation/sim_calls.h"
#include "tests/simulation/sim_coordinator_host.h"
#include "tests/simulation/sim_loader.h"
#include "tests/simulation/sim_network.h"
#include "tests/simulation/sim_process.h"

namespace penstock::simulation {

// Not thread-safe. Listens on the network from its construction until Kill().
class SimWorker {
 public:
  struct Options {
    std::string host;
    std::string state_dir;
    std::vector<sources::DataRoot> roots;
    Nanos row_time = 0;        // time to make a row
    uint64_t incarnation = 0;  // differs for each worker of a simulation
  };
  SimWorker(SimScheduler* sim, SimNetwork* network, SimCoordinatorHost* coordinator, const Options& options);
  // No task of the simulation may run afterwards.
  ~SimWorker();

  // Kills the process and its connections.
  void Kill();
  // Acts like SIGTERM, as Worker::Drain does: the worker leaves when its streams have moved away.
  void Drain();

  const std::string& host() const { return shared_.worker_id; }
  bool dead() const { return dead_; }
  bool runs() const { return !dead_ && !left_; }

 private:
  SimNetwork* const network_;
  SimProcess process_;
  SimWorkerCalls link_;
  worker::ShardIndexes indexes_;
  worker::ServedJobs jobs_;
  SimLoader loader_;
  worker::SessionShared shared_;
  worker::LoadMeter meter_;
  const std::shared_ptr<TraceRecorder> trace_ = std::make_shared<TraceRecorder>();
  net::TraceTaker traces_;
  std::shared_ptr<worker::Agent> agent_;
  worker::SessionAcceptor acceptor_;
  bool dead_ = false;
  bool left_ = false;
};

}  // namespace penstock::simulation

#endif  // PENSTOCK_TESTS_SIMULATION_SIM_WORKER_H_
