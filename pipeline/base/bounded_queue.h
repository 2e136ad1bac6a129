// The one queue between threads: bounded, blocking, closable with a status.
#ifndef PENSTOCK_PIPELINE_BASE_BOUNDED_QUEUE_H_
#define PENSTOCK_PIPELINE_BASE_BOUNDED_QUEUE_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/base/mutex.h"

namespace penstock {

// Thread-safe. After Close(status): Push fails with that status; Pop hands out what is left, then the status.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Waits for room.
  absl::Status Push(T item) {
    MutexLock lock(&mutex_);
    while (!closed_ && items_.size() >= capacity_) room_.Wait(&mutex_);
    if (closed_) return *closed_;
    items_.push_back(std::move(item));
    arrived_.NotifyOne();
    return absl::OkStatus();
  }

  // Waits for an item.
  absl::StatusOr<T> Pop() {
    MutexLock lock(&mutex_);
    while (!closed_ && items_.empty()) arrived_.Wait(&mutex_);
    if (items_.empty()) return *closed_;
    T item = std::move(items_.front());
    items_.pop_front();
    room_.NotifyOne();
    return item;
  }

  // `status` must not be OK: it is what waiting and later callers get. The first call counts.
  void Close(absl::Status status) {
    MutexLock lock(&mutex_);
    if (!closed_) closed_ = std::move(status);
    room_.NotifyAll();
    arrived_.NotifyAll();
  }

 private:
  const size_t capacity_;
  Mutex mutex_;
  CondVar room_, arrived_;
  std::deque<T> items_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> closed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_BASE_BOUNDED_QUEUE_H_
