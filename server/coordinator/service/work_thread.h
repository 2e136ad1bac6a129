// One thread that runs what is posted to it: for work that must not block a reactor.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_WORK_THREAD_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_WORK_THREAD_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace penstock {

class WorkThread {
 public:
  explicit WorkThread(size_t capacity);
  // Runs what was posted, then ends.
  ~WorkThread();

  // Never waits: false when `capacity` pieces of work wait already.
  bool Post(std::function<void()> work);

 private:
  void Run();

  const size_t capacity_;
  Mutex mutex_;
  CondVar arrived_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_WORK_THREAD_H_
