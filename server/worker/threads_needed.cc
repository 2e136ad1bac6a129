#include "server/worker/threads_needed.h"

#include <algorithm>
#include <thread>

namespace penstock::worker {
namespace {

// gRPC threads: executors, timers, completion queues. gRPC has up to 16 more, one for each CPU.
constexpr int kGrpcThreads = 8;
// Other threads of a worker: one each for index prefetch, tuning, the listening port, the local socket, the disk cache
// and the drain, 2 for self-checks, 4 to open shards, and 4 to open files.
constexpr int kOtherThreads = kExecutorThreads + kTaskThreads + 6 + 2 + 4 + 4;

}  // namespace

int ThreadsNeeded(const WorkerOptions& options) {
  const int grpc = kGrpcThreads + std::min(static_cast<int>(std::thread::hardware_concurrency()), 16);
  return options.host.loader.threads + std::max(options.host.read_threads.value_or(0), 4) + kOtherThreads + grpc;
}

}  // namespace penstock::worker
