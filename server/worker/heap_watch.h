// Keeps the worker's memory, pages and not what was counted, within its budget: rows of one time lie on the heap, those
// of another in files and rings, and the heap keeps what it let go of.
#ifndef PENSTOCK_SERVER_WORKER_HEAP_WATCH_H_
#define PENSTOCK_SERVER_WORKER_HEAP_WATCH_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "base/mutex.h"
#include "base/runtime/clock.h"

namespace penstock {

// Thread-safe.
class HeapWatch {
 public:
  // The first pause between two times that free memory is given back. Where that gave little it becomes twice as long
  // each time, up to the last one.
  static constexpr Nanos kFirstPause = 5 * kSecond, kLongestPause = 320 * kSecond;

  struct Heap {
    std::function<uint64_t()> own;    // what the process has
    std::function<void()> give_back;  // what is free goes back to the system
  };
  HeapWatch(uint64_t budget_bytes, Heap heap) : budget_(budget_bytes), heap_(std::move(heap)) {}

  // Every now and then; `counted` bytes are in use. Gives back what is free once the process comes near its budget with
  // it: takes some milliseconds for each 100 MB then.
  void Look(uint64_t counted, Nanos now);

 private:
  const uint64_t budget_;
  const Heap heap_;
  Mutex mutex_;
  Nanos not_before_ ABSL_GUARDED_BY(mutex_) = 0;
  Nanos pause_ ABSL_GUARDED_BY(mutex_) = kFirstPause;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_HEAP_WATCH_H_
