// A whole cluster in one thread on virtual time: the real shells of coordinator, workers and clients (control loop,
// agent, stream sessions, readers' sessions) on a virtual network. Disks are not simulated: the data set is a small
// real one.
#ifndef PENSTOCK_TESTS_SIMULATION_SIM_CLUSTER_H_
#define PENSTOCK_TESTS_SIMULATION_SIM_CLUSTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/runtime/sim_scheduler.h"
#include "penstock/client.h"
#include "penstock/v1/trace.pb.h"
#include "tests/simulation/sim_coordinator_host.h"
#include "tests/simulation/sim_network.h"
#include "tests/simulation/sim_reader.h"
#include "tests/support/fake_store.h"
#include "tests/support/test_dataset.h"

namespace penstock::simulation {

class SimWorker;

// Not thread-safe. HasJob, SubmitJob and Trace require a running coordinator.
class SimCluster {
 public:
  // Starts a coordinator and no worker. The data set has 4 shards of 50 records each. The job has batches of 8 rows,
  // whose only column is the record's number ("id").
  explicit SimCluster(uint64_t seed);
  ~SimCluster();

  // ---- Events.
  // Starts a worker's process on a host of that name. It makes a row in `row_time`. After KillWorker(), the same worker
  // starts again.
  void StartWorker(const std::string& host, Nanos row_time = 10 * kMillisecond);
  void KillWorker(const std::string& host);
  bool WorkerRuns(const std::string& host) const;
  // Acts like SIGTERM: the worker leaves when its streams have moved away.
  void DrainWorker(const std::string& host);
  void KillCoordinator() { coordinator_.Kill(); }
  void StartCoordinator() { coordinator_.Start(); }  // with the content of its store

  // The coordinator's store. The coordinator's process ends if another process takes over the store.
  support::FakeStore& store() { return coordinator_.store(); }
  bool CoordinatorRuns() const { return coordinator_.loop() != nullptr; }
  // Returns the reasons why coordinators ended by themselves.
  const std::vector<absl::Status>& coordinator_exits() const { return coordinator_.exits(); }

  // Submits a job as `penstock submit` does. The result gets its value when the coordinator answers.
  using Answer = std::shared_ptr<const std::optional<absl::Status>>;
  Answer BeginSubmit(const v1::JobSpec& spec);
  // Returns whether the coordinator's status has the job.
  bool HasJob(const std::string& name);

  // Submits the job. Returns true when it is ready with `owners` workers in its view, and false if that takes too long.
  bool SubmitJob(int owners);

  // Takes a trace of the job, as `penstock trace` does. Returns all of its parts.
  absl::StatusOr<v1::GetTraceReply> Trace(uint32_t seconds);

  // ---- Readers.
  // Opens a reader on a host of that name. It pauses for `pace` between two batches.
  SimReader* OpenReader(const std::string& host, const ReaderOptions& options, Nanos pace);
  // Runs until all readers have ended. Returns false if they have not within `within`.
  bool RunReaders(Nanos within);

  SimScheduler* sim() { return &sim_; }
  SimNetwork* network() { return &network_; }
  Nanos now() { return sim_.clock()->Now(); }
  const support::TestDataset& dataset() const { return dataset_; }
  // The coordinator's host.
  static constexpr const char* kCoordinator = SimCoordinatorHost::kName;

 private:
  struct Admin;

  // Sends a request to the coordinator, and runs until it is answered.
  template <typename Rep, typename Req>
  absl::StatusOr<Rep> Ask(const Req& request);

  support::TempFolder data_;
  support::TestDataset dataset_;
  SimScheduler sim_;
  SimNetwork network_;
  SimCoordinatorHost coordinator_;
  uint64_t incarnations_ = 0;
  std::vector<std::unique_ptr<Admin>> admins_;
  std::map<std::string, std::unique_ptr<support::TempFolder>> state_folders_;
  std::map<std::string, std::unique_ptr<SimWorker>> workers_;
  std::vector<std::unique_ptr<SimReader>> readers_;
};

}  // namespace penstock::simulation

#endif  // PENSTOCK_TESTS_SIMULATION_SIM_CLUSTER_H_
