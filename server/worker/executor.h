// The worker's own threads, for all that must not run on gRPC's few callback threads or on the loader's.
#ifndef PENSTOCK_SERVER_WORKER_EXECUTOR_H_
#define PENSTOCK_SERVER_WORKER_EXECUTOR_H_

#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/clock.h"

namespace penstock {

// Runs functions on a fixed set of threads, at once or at a time. Thread-safe.
class WorkerThreads {
 public:
  explicit WorkerThreads(int threads);
  // Runs what was posted without a time, drops what waits for its time, and joins the threads.
  ~WorkerThreads();
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Never blocks. Functions posted by one thread begin in order, but may run at the same time.
  void Post(std::function<void()> function);
  // Not before `delay` has passed on the real clock.
  void PostAfter(Nanos delay, std::function<void()> function);

 private:
  void Run();

  Mutex mutex_;
  CondVar changed_;
  // By due time, then in order of arrival.
  std::multimap<Nanos, std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_EXECUTOR_H_
