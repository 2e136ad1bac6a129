// An Executor of one or more threads, on the real clock.
#ifndef PENSTOCK_BASE_RUNTIME_THREAD_POOL_H_
#define PENSTOCK_BASE_RUNTIME_THREAD_POOL_H_

#include <atomic>
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

// Thread-safe. Tasks that one thread posts start in that order.
class ThreadPool final : public Executor {
 public:
  // Starts `threads` threads, or as many as the system grants. `threads` must be at least 1. If the system grants none,
  // each post requests one again. A thread is "NAME-0", "NAME-1" and so on in ps and perf, truncated to 15 characters.
  ThreadPool(int threads, const std::string& name);
  // Calls Stop.
  ~ThreadPool() override;

  void Post(Task task) override;
  TimerId PostAt(Nanos when, Task task) override;
  bool Cancel(TimerId timer) override;
  Clock* clock() const override { return Clock::Real(); }

  // Posts the task and returns true. Drops the task and returns false if at least `most` tasks are waiting, not
  // counting timers, or after Stop. For work whose amount clients choose.
  bool TryPost(Task task, size_t most);

  // Adds threads until there are `threads`, or until the system refuses more. Added threads stay. Has no effect after
  // Stop. Returns the number of threads.
  int GrowTo(int threads);

  struct Load {
    int busy = 0;        // threads that run a task
    size_t waiting = 0;  // posted tasks that wait for a thread, without timers
  };
  Load load() const;

  // Drops the tasks that have not started and all later ones. Returns when no task runs. May be called more than once,
  // but not from a task, and not by two threads at once.
  void Stop();
  // As Stop, but waits until `deadline` at most. Returns false if a task still runs, for example because it hangs in a
  // system call. Then the pool and all objects that its tasks use must stay alive until the process exits.
  bool StopBy(Nanos deadline);

 private:
  using Due = std::pair<Nanos, TimerId>;
  static constexpr Nanos kNobodyWatches = INT64_MAX;

  // Drops the tasks that have not started.
  void BeginStop();
  void Run();
  // Returns false if the system refuses the thread.
  bool AddThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Moves the next task to run to `task`. Returns false if there is none.
  bool TakeNext(Task* task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits for a task. One idle thread at a time watches the timers, so that a timer wakes only one thread.
  void WaitForWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Wakes a thread for the next task. Wakes the thread that watches the timers only if no other thread is idle, because
  // another thread would have to be woken to watch them instead.
  void WakeOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;                                                   // for idle threads
  CondVar timers_changed_;                                            // for the thread that watches the timers
  std::deque<std::pair<Nanos, Task>> ready_ ABSL_GUARDED_BY(mutex_);  // with the time of the post
  std::map<Due, Task> timers_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<TimerId, Nanos> due_ ABSL_GUARDED_BY(mutex_);
  TimerId next_timer_ ABSL_GUARDED_BY(mutex_) = 1;
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;                    // waiting threads, without the one that watches the timers
  Nanos watched_ ABSL_GUARDED_BY(mutex_) = kNobodyWatches;  // time until which a thread watches the timers
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that have not ended
  std::atomic<int> busy_{0};                 // threads that run a task
  CondVar ended_;
  const std::string name_;
  // Threads are added under the lock before stopping, and joined without the lock while stopping.
  std::vector<std::thread> threads_;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_THREAD_POOL_H_
