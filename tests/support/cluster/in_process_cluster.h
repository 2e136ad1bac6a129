// A coordinator and workers in this process, on free ports, with state in temporary folders.
#ifndef PENSTOCK_TESTS_SUPPORT_CLUSTER_IN_PROCESS_CLUSTER_H_
#define PENSTOCK_TESTS_SUPPORT_CLUSTER_IN_PROCESS_CLUSTER_H_

#include <memory>
#include <string>
#include <vector>

#include "pipeline/storage/posix_storage.h"
#include "server/coordinator/service/coordinator.h"
#include "server/worker/worker.h"
#include "tests/support/cluster/control.h"
#include "tests/support/test_dataset.h"

namespace penstock::support {

struct ClusterOptions {
  int workers = 1;
  int threads = 1;       // threads of each worker
  int read_threads = 0;  // read threads of each worker
  worker::WireCompression wire_compression = worker::WireCompression::kAuto;
  uint64_t memory_budget_bytes = 64 << 20;
  uint64_t record_cache_bytes = 8 << 20;
  uint64_t decoded_cache_bytes = 0;
  storage::Storage* storage = storage::LocalFiles();  // for workers
  bool shared_memory = true;                          // for clients in this process, and others of this host
  uint32_t heartbeat_ms = 200;
  uint32_t dead_after_ms = 1000;
};

class InProcessCluster {
 public:
  // Returns when all workers are live. Ends the test program on failure.
  InProcessCluster(const ClusterOptions& options, std::vector<sources::DataRoot> roots);
  ~InProcessCluster();

  std::string address() const { return coordinator_->address(); }
  Control& control() { return *control_; }
  coordinator::Coordinator& coordinator() { return *coordinator_; }

  // Starts one more worker. Returns when it is registered.
  worker::Worker& AddWorker();
  worker::Worker& worker(size_t i) { return *workers_[i]; }
  // Stops and destroys all workers.
  void StopWorkers() { workers_.clear(); }

 private:
  const ClusterOptions options_;
  const std::vector<sources::DataRoot> roots_;
  std::vector<std::unique_ptr<TempFolder>> folders_;
  std::unique_ptr<coordinator::Coordinator> coordinator_;
  std::vector<std::unique_ptr<worker::Worker>> workers_;
  std::unique_ptr<Control> control_;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_CLUSTER_IN_PROCESS_CLUSTER_H_
