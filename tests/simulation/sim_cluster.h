// A whole cluster in one thread on virtual time: the real shells of coordinator, workers and clients (control loop,
// agent, stream sessions, readers' sessions) on a virtual network. Not simulated are disks: the data set is a small
// real one.
#ifndef PENSTOCK_TESTS_SIMULATION_SIM_CLUSTER_H_
#define PENSTOCK_TESTS_SIMULATION_SIM_CLUSTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/runtime/sim_scheduler.h"
#include "penstock/batch.h"
#include "penstock/client.h"
#include "server/coordinator/store/fake_store.h"
#include "tests/simulation/sim_network.h"
#include "tests/support/test_dataset.h"

namespace penstock {

// Not thread-safe.
class SimCluster {
 public:
  // A coordinator, no worker yet; a data set of 4 shards of 50 records each, its job with batches of 8 rows, whose one
  // column is the record's number ("id").
  explicit SimCluster(uint64_t seed);
  ~SimCluster();

  // ---- What happens to it.
  // A worker's process, on a host of that name, that makes a row in `row_time`. One that was killed comes back as the
  // same worker.
  void StartWorker(const std::string& host, Nanos row_time = 10 * kMillisecond);
  void KillWorker(const std::string& host);
  bool WorkerRuns(const std::string& host) const;
  // As SIGTERM: it leaves when its streams have moved away.
  void DrainWorker(const std::string& host);
  void KillCoordinator();
  void StartCoordinator();  // on what its store has

  // Submits the job and waits until it is ready with `owners` workers in its view. False when that takes long.
  bool SubmitJob(int owners);

  // ---- Readers.
  struct Reader;
  // Opens on a host of that name, and begins to read at once, batch after batch with `pace` between them; each batch is
  // checked: its rows are those of the plan, each once, in their places.
  Reader* OpenReader(const std::string& host, const ReaderOptions& options, Nanos pace);
  // Runs until all readers have ended; false when they have not by `within` from now.
  bool RunReaders(Nanos within);

  SimScheduler* sim() { return &sim_; }
  SimNetwork* network() { return &network_; }
  Nanos now() { return sim_.clock()->Now(); }
  const TestDataset& dataset() const { return dataset_; }
  // The host of the coordinator.
  static constexpr char kCoordinator[] = "coordinator";

 private:
  struct Coordinator;
  struct Worker;
  class Calls;
  class WorkerCalls;
  class ClientCalls;

  TempFolder data_;
  TestDataset dataset_;
  SimScheduler sim_;
  SimNetwork network_;
  FakeStore store_;
  uint64_t incarnations_ = 0, watches_ = 0;
  std::unique_ptr<Coordinator> coordinator_;
  std::map<std::string, std::unique_ptr<TempFolder>> state_folders_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Reader>> readers_;
};

// A trainer that reads.
struct SimCluster::Reader {
  struct Parts;
  explicit Reader(std::unique_ptr<Parts> made);
  ~Reader();

  std::unique_ptr<Parts> parts;
  uint64_t batches = 0;
  uint64_t digest = 0;     // of all rows, in order
  Nanos longest_wait = 0;  // for a batch, the first aside
  absl::Status end;        // once it has ended: OutOfRange when it has read all
  bool ended = false;
  std::string wrong;  // "", or what was wrong with a batch
};

}  // namespace penstock

#endif  // PENSTOCK_TESTS_SIMULATION_SIM_CLUSTER_H_
