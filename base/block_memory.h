// Sources of memory blocks other than the heap.
#ifndef PENSTOCK_BASE_BLOCK_MEMORY_H_
#define PENSTOCK_BASE_BLOCK_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace penstock {

// Thread-safe.
class BlockMemory {
 public:
  virtual ~BlockMemory() = default;
  // Returns a block aligned to at least 64 bytes, or null if there is no room.
  virtual std::byte* Allocate(size_t bytes) = 0;
  // `bytes` must be the size passed to Allocate.
  virtual void Deallocate(std::byte* block, size_t bytes) = 0;
  // Returns the approximate total size of the blocks that fit at once, including allocated ones.
  virtual uint64_t bytes_for_blocks() const = 0;
};

// Returns a block to its source: `memory`, or the heap.
class FreeBlock {
 public:
  FreeBlock() = default;
  FreeBlock(std::default_delete<std::byte[]>) {}  // NOLINT: implicit, because a heap block is a block too
  FreeBlock(std::shared_ptr<BlockMemory> memory, size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  void operator()(std::byte* block) const {
    memory_ == nullptr ? std::default_delete<std::byte[]>()(block) : memory_->Deallocate(block, bytes_);
  }

 private:
  std::shared_ptr<BlockMemory> memory_;  // null: the heap
  size_t bytes_ = 0;
};
using OwnedBlock = std::unique_ptr<std::byte[], FreeBlock>;

// Returns a block of `memory`, or of the heap if `memory` is null or has no room. The block is uninitialized.
inline OwnedBlock AllocateBlock(const std::shared_ptr<BlockMemory>& memory, size_t bytes) {
  if (memory != nullptr) {
    if (std::byte* const block = memory->Allocate(bytes)) return OwnedBlock(block, FreeBlock(memory, bytes));
  }
  return std::make_unique_for_overwrite<std::byte[]>(bytes);
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_BLOCK_MEMORY_H_
