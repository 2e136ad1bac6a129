// Keeps the worker's memory, pages and not what was counted, within its budget: rows of one time lie on the heap, those
// of another in files and rings, and the heap keeps what it let go of.
#ifndef PENSTOCK_SERVER_WORKER_HEAP_WATCH_H_
#define PENSTOCK_SERVER_WORKER_HEAP_WATCH_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "base/runtime/clock.h"

namespace penstock {

// Of one thread at a time.
class HeapWatch {
 public:
  struct Heap {
    std::function<uint64_t()> own;      // bytes that the process has
    std::function<uint64_t()> counted;  // of them, those that are known to be in use
    std::function<void()> give_back;    // what is free goes back to the system
  };
  HeapWatch(uint64_t budget_bytes, Heap heap) : budget_(budget_bytes), heap_(std::move(heap)) {}

  // Gives back what is free where the process comes near its budget with it: takes some milliseconds for each 100 MB
  // then. Returns how long the next look can wait: rows come to files with some 400 MB in a second.
  Nanos Look();

 private:
  const uint64_t budget_;
  const Heap heap_;
  // Neither counted nor free, as far as is known: what was left when free memory was given back, or less.
  uint64_t stays_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_HEAP_WATCH_H_
