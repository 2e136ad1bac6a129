// An Executor of a set of threads, on the real clock.
#ifndef PENSTOCK_BASE_RUNTIME_THREAD_POOL_H_
#define PENSTOCK_BASE_RUNTIME_THREAD_POOL_H_

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/executor.h"

namespace penstock {

// Thread-safe.
class ThreadPool final : public Executor {
 public:
  // `threads`: at least 1. `name` is what the threads are called in ps and perf, with a number behind it; of 15
  // characters in all the rest is cut off.
  ThreadPool(int threads, const std::string& name);
  // Stops.
  ~ThreadPool() override;

  void Post(Task task) override;
  TimerId PostAt(Nanos when, Task task) override;
  bool Cancel(TimerId timer) override;
  Clock* clock() const override { return Clock::Real(); }

  // Posts unless `most` tasks, those with a time aside, wait already: then false, with the task dropped. For work whose
  // amount outsiders choose.
  bool TryPost(Task task, size_t most);

  // Adds threads until there are so many, or the system gives none any more. They stay. Nothing, once it is stopped.
  // Returns how many there are.
  int GrowTo(int threads);

  // Drops what has not begun, and what is posted later; returns when nothing runs any more. Any number of times; not
  // from a task.
  void Stop();
  // The same, but waits until `deadline` at most. False: a task still runs then (it hangs in a system call, say), and
  // the pool and all that its tasks use must be left to the end of the process.
  bool StopBy(Nanos deadline);

 private:
  using Due = std::pair<Nanos, TimerId>;
  static constexpr Nanos kNobodyWatches = INT64_MAX;

  // Drops what has not begun.
  void BeginStop();
  void Run();
  // False: the system gives none.
  bool AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The task whose turn it is; false when there is none.
  bool TakeNext(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for news. One idle thread at a time watches the timers, so that a timer wakes one thread only.
  void WaitForWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For the next task. The one that watches the timers only where no other is idle: a second thread would have to be
  // woken to watch them in its place.
  void WakeOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar changed_;                                                   // for idle threads,
  CondVar timers_changed_;                                            // and for the one that watches the timers
  std::deque<std::pair<Nanos, Task>> ready_ ABSL_GUARDED_BY(mutex_);  // when it was posted
  std::map<Due, Task> timers_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<TimerId, Nanos> due_ ABSL_GUARDED_BY(mutex_);
  TimerId next_timer_ ABSL_GUARDED_BY(mutex_) = 1;
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;                    // threads that wait, the one that watches aside
  Nanos watched_ ABSL_GUARDED_BY(mutex_) = kNobodyWatches;  // until when the one that watches the timers waits
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that have not ended
  CondVar ended_;
  const std::string name_;
  // Added to under the lock while it is not stopping, joined without it when it is.
  std::vector<std::thread> threads_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_THREAD_POOL_H_
