// A worker's memory for the rows of one stream. The client maps the same memory read-only.
#ifndef PENSTOCK_TRANSPORT_SHARED_MEMORY_RING_H_
#define PENSTOCK_TRANSPORT_SHARED_MEMORY_RING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "base/block_memory.h"
#include "base/free_pages.h"
#include "base/mutex.h"
#include "base/sealed_memory.h"

namespace penstock::transport {

// Allocates blocks of the ring. The bookkeeping of free memory is outside the ring, and this process never reads the
// ring's contents. Thread-safe. The owner and all blocks hold it by shared_ptr.
class Ring final : public BlockMemory, public std::enable_shared_from_this<Ring> {
 public:
  // Creates a ring of `bytes`, rounded up to whole pages. `charge`, which may be null, is released after the memory.
  static absl::StatusOr<std::shared_ptr<Ring>> Create(uint64_t bytes, std::shared_ptr<const void> charge);

  // Allocates a block for rows to be produced. Leaves a quarter of the ring free, for copies. Returns null if the
  // rest has no room.
  std::byte* Allocate(size_t bytes) override;
  void Deallocate(std::byte* block, size_t bytes) override;
  // A quarter of the ring is for messages that the client has not released (stream.h), and a quarter for copies.
  uint64_t bytes_for_blocks() const override { return memory_.size() / 2; }

  // Returns a block for a copy, or null if there is no room.
  OwnedBlock AllocateCopy(size_t bytes);
  // Makes later allocations fail. The client may still read sent bytes, so the ring of a lost stream is never reused.
  void End();

  // Returns the offset from the ring's start, or nullopt if any of the bytes are outside the ring.
  std::optional<uint64_t> PlaceOf(const void* data, size_t size) const;
  // Returns the descriptor, or -1 after CloseFd, which is called once the client has received it.
  int fd() const { return memory_.fd(); }
  void CloseFd() { memory_.CloseFd(); }
  uint64_t bytes() const { return memory_.size(); }
  uint64_t used_bytes() const;

 private:
  Ring(SealedMemory memory, std::shared_ptr<const void> charge)
      : charge_(std::move(charge)), memory_(std::move(memory)), free_(0, memory_.size()) {}
  std::byte* Take(size_t bytes, uint64_t leave);

  const std::shared_ptr<const void> charge_;  // released after the memory
  SealedMemory memory_;
  mutable Mutex mutex_;
  FreePages free_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_RING_H_
