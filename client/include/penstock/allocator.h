// The memory of a reader's batches.
#ifndef PENSTOCK_ALLOCATOR_H_
#define PENSTOCK_ALLOCATOR_H_

#include <cstddef>

namespace penstock {

// Allocates the memory of batches. A trainer may implement this interface to provide pinned memory. Implementations
// must be thread-safe.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // Returns `bytes` bytes aligned to 64, or null if there is no memory. The reader then fails with ResourceExhausted.
  virtual void* Allocate(size_t bytes) = 0;
  // Releases memory that Allocate returned, with the same size.
  virtual void Deallocate(void* memory, size_t bytes) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_ALLOCATOR_H_
