// Posts to a strand from callbacks that may outlive it, such as those of calls and streams.
#ifndef PENSTOCK_BASE_RUNTIME_MAILBOX_H_
#define PENSTOCK_BASE_RUNTIME_MAILBOX_H_

#include <utility>

#include "base/mutex.h"
#include "base/runtime/strand.h"

namespace penstock {

// Held by shared_ptr. Thread-safe.
class Mailbox {
 public:
  // `strand` must live until Close is called, or as long as the mailbox.
  explicit Mailbox(Strand* strand) : strand_(strand) {}

  // Posts to the strand. Drops the task after Close.
  void Post(Task task) {
    MutexLock lock(&mutex_);
    if (strand_ != nullptr) strand_->Post(std::move(task));
  }
  void Close() {
    MutexLock lock(&mutex_);
    strand_ = nullptr;
  }

 private:
  Mutex mutex_;
  Strand* strand_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_MAILBOX_H_
