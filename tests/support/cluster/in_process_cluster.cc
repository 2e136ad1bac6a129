#include "tests/support/cluster/in_process_cluster.h"

#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstdlib>

namespace penstock::support {
namespace {

template <typename T>
T ValueOrExit(absl::StatusOr<T> value, const char* what) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s: %s\n", what, value.status().ToString().c_str());
  std::abort();
}

}  // namespace

InProcessCluster::InProcessCluster(const ClusterOptions& options, std::vector<sources::DataRoot> roots)
    : options_(options), roots_(std::move(roots)) {
  spdlog::set_level(spdlog::level::warn);
  folders_.push_back(std::make_unique<TempFolder>());
  coordinator::CoordinatorOptions coordinator;
  coordinator.listen = "127.0.0.1:0";
  coordinator.state_dir = folders_.back()->path();
  coordinator.heartbeat_ms = options_.heartbeat_ms;
  coordinator.dead_after_ms = options_.dead_after_ms;
  coordinator_ = ValueOrExit(coordinator::Coordinator::Start(coordinator), "coordinator");
  control_ = std::make_unique<Control>(coordinator_->address());
  for (int i = 0; i < options_.workers; ++i) AddWorker();
}

InProcessCluster::~InProcessCluster() {
  workers_.clear();
  coordinator_->Shutdown();
}

worker::Worker& InProcessCluster::AddWorker() {
  folders_.push_back(std::make_unique<TempFolder>());
  worker::WorkerOptions worker;
  worker.coordinator = coordinator_->address();
  worker.roots = roots_;
  worker.host.storage = options_.storage;
  worker.state_dir = folders_.back()->path();
  if (options_.shared_memory) worker.socket_dir = folders_.back()->path();
  worker.host.loader.threads = options_.threads;
  worker.host.threads_pinned = true;
  worker.host.read_threads = options_.read_threads;
  worker.wire_compression = options_.wire_compression;
  worker.host.loader.memory_budget_bytes = options_.memory_budget_bytes;
  worker.host.loader.record_cache_bytes = options_.record_cache_bytes;
  worker.host.loader.decoded_cache_bytes = options_.decoded_cache_bytes;
  workers_.push_back(ValueOrExit(worker::Worker::Start(worker), "worker"));
  if (!workers_.back()->WaitUntilReady(std::chrono::seconds(30))) {
    std::fprintf(stderr, "worker %s does not register\n", workers_.back()->id().c_str());
    std::abort();
  }
  return *workers_.back();
}

}  // namespace penstock::support
