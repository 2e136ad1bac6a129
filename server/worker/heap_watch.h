// Keeps the pages of the worker, not only the counted memory, within its budget. At some times rows are on the heap, at
// others in files and rings, and the heap keeps freed memory.
#ifndef PENSTOCK_SERVER_WORKER_HEAP_WATCH_H_
#define PENSTOCK_SERVER_WORKER_HEAP_WATCH_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "base/runtime/clock.h"

namespace penstock::worker {

// Used by one thread at a time.
class HeapWatch {
 public:
  struct Heap {
    std::function<uint64_t()> own;      // memory of the process, in bytes
    std::function<uint64_t()> counted;  // the part of it that is known to be in use
    std::function<void()> release;      // returns free memory to the system
  };
  HeapWatch(uint64_t budget_bytes, Heap heap) : budget_(budget_bytes), heap_(std::move(heap)) {}

  // Returns free memory to the system if the process is close to its budget and enough of its memory may be free. This
  // takes a few milliseconds per 100 MB. The result is the time until the next call. It is short above half of the
  // budget, because rows move to files at about 400 MB/s.
  Nanos Look();

 private:
  const uint64_t budget_;
  const Heap heap_;
  // Estimate of the memory that is neither counted nor free: the rest after the last return of free memory, or less.
  uint64_t stays_ = 0;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_HEAP_WATCH_H_
