// The threads that copy rows into batches.
#ifndef PENSTOCK_CLIENT_SESSION_COPY_POOL_H_
#define PENSTOCK_CLIENT_SESSION_COPY_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace penstock {

// Runs tasks in the order in which they come, on a few threads. Add never waits, since gRPC's threads call it: what it
// holds is bounded by the streams' backlogs (transport/worker_stream.h). Thread-safe.
class CopyPool {
 public:
  // threads: at least 1.
  explicit CopyPool(int threads);
  // Stops.
  ~CopyPool();

  // False, with the task dropped, once the pool stops.
  bool Add(std::function<void()> task);
  // Drops the tasks that have not begun, waits for the others. Any number of times; not from a task.
  void Stop();

 private:
  void Run();

  Mutex mutex_;
  CondVar added_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_COPY_POOL_H_
