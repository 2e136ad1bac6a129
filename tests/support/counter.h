// A number that threads raise and a test waits for.
#ifndef PENSTOCK_TESTS_SUPPORT_COUNTER_H_
#define PENSTOCK_TESTS_SUPPORT_COUNTER_H_

#include "base/mutex.h"

namespace penstock::support {

// Thread-safe. Declare it before the threads that use it.
class Counter {
 public:
  // Adds one, and returns the sum.
  int Add() {
    MutexLock lock(&mutex_);
    raised_.NotifyAll();
    return ++value_;
  }
  int value() const {
    MutexLock lock(&mutex_);
    return value_;
  }
  // Blocks until the number is at least `least`. The time limit of the test ends a wait that lasts forever.
  void WaitFor(int least) const {
    MutexLock lock(&mutex_);
    while (value_ < least) raised_.Wait(&mutex_);
  }

 private:
  mutable Mutex mutex_;
  mutable CondVar raised_;
  int value_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_COUNTER_H_
