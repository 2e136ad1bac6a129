// Where a reader's batches live.
#ifndef PENSTOCK_ALLOCATOR_H_
#define PENSTOCK_ALLOCATOR_H_

#include <cstddef>

namespace penstock {

// Memory for whole batches. A trainer may hand in pinned memory by implementing this. Thread-safe.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // `bytes` bytes aligned to 64; null when there is no memory (the reader then fails with
  // ResourceExhausted).
  virtual void* Allocate(size_t bytes) = 0;
  // Gives back what Allocate returned, with the same size.
  virtual void Deallocate(void* memory, size_t bytes) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ALLOCATOR_H_
