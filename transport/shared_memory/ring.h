// A worker's memory for the rows of one stream. Its client has it mapped too, for reading only.
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

namespace penstock {

// What is free is kept outside of it, and nothing in it is ever read here. Thread-safe; held by shared_ptr, as its
// blocks are.
class Ring final : public BlockMemory, public std::enable_shared_from_this<Ring> {
 public:
  // `bytes` is rounded up to whole pages. `charge`, which may be null, is let go of when the memory is.
  static absl::StatusOr<std::shared_ptr<Ring>> Create(uint64_t bytes, std::shared_ptr<const void> charge);

  // For rows that are to be made: a quarter is left for copies of what lies elsewhere.
  std::byte* Allocate(size_t bytes) override;
  void Deallocate(std::byte* block, size_t bytes) override;
  // A quarter is the client's: what was sent to it and not released (stream.h).
  uint64_t bytes_for_blocks() const override { return memory_.size() / 2; }

  // For a copy; null where there is no room.
  OwnedBlock AllocateCopy(size_t bytes);
  // No block is given out any more. What was sent stays as it is for as long as the client has it mapped: a ring that
  // was lost is never used again.
  void End();

  // From the ring's start; nothing when any of it lies elsewhere.
  std::optional<uint64_t> PlaceOf(const void* data, size_t size) const;
  // -1 once CloseFd was called: the client has it.
  int fd() const { return memory_.fd(); }
  void CloseFd() { memory_.CloseFd(); }
  uint64_t bytes() const { return memory_.size(); }
  uint64_t used_bytes() const;

 private:
  Ring(SealedMemory memory, std::shared_ptr<const void> charge)
      : charge_(std::move(charge)), memory_(std::move(memory)), free_(0, memory_.size()) {}
  std::byte* Take(size_t bytes, uint64_t leave);

  const std::shared_ptr<const void> charge_;  // let go of behind the memory
  SealedMemory memory_;
  mutable Mutex mutex_;
  FreePages free_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_SHARED_MEMORY_RING_H_
