// Events in the life of a worker that happen at most once, and that threads wait for.
#ifndef PENSTOCK_SERVER_WORKER_MILESTONES_H_
#define PENSTOCK_SERVER_WORKER_MILESTONES_H_

#include <array>
#include <chrono>
#include <cstddef>

#include "base/mutex.h"
#include "base/runtime/clock.h"

namespace penstock::worker {

enum class Milestone : size_t {
  kReady,     // it has registered, and knows the jobs
  kDraining,  // a drain has begun
  kStopping,  // Worker::Stop has begun
  kIdle,      // no stream is open
  kLeft,      // the coordinator knows that it leaves, or it has stopped
};

// Thread-safe.
class Milestones {
 public:
  // Reaches a milestone and notifies waiting threads.
  void Reach(Milestone milestone) {
    MutexLock lock(&mutex_);
    Ref(milestone) = true;
    changed_.NotifyAll();
  }
  // Reaches kDraining. Returns false if it was reached before, or the worker stops.
  bool BeginDraining() {
    MutexLock lock(&mutex_);
    if (Ref(Milestone::kDraining) || Ref(Milestone::kStopping)) return false;
    return Ref(Milestone::kDraining) = true;
  }
  bool Reached(Milestone milestone) {
    MutexLock lock(&mutex_);
    return Ref(milestone);
  }
  // Blocks until the milestone is reached. Returns false after `deadline`, or if the worker stops, unless
  // `also_stopping`.
  bool WaitFor(Milestone milestone, Nanos deadline, bool also_stopping) {
    MutexLock lock(&mutex_);
    while (!Ref(milestone)) {
      const Nanos wait = deadline - Clock::Real()->Now();
      if (wait <= 0 || (Ref(Milestone::kStopping) && !also_stopping)) return false;
      changed_.WaitFor(&mutex_, std::chrono::nanoseconds(wait));
    }
    return true;
  }
  // Blocks until the milestone is reached.
  void WaitFor(Milestone milestone) {
    MutexLock lock(&mutex_);
    while (!Ref(milestone)) changed_.Wait(&mutex_);
  }

 private:
  bool& Ref(Milestone milestone) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return reached_[static_cast<size_t>(milestone)];
  }

  Mutex mutex_;
  CondVar changed_;
  std::array<bool, 5> reached_ ABSL_GUARDED_BY(mutex_) = {};
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_MILESTONES_H_
