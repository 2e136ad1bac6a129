// Who gives blocks of memory, where that is not the heap.
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
  // At least 64-byte aligned; null where there is no room now: the caller takes the heap.
  virtual std::byte* Allocate(size_t bytes) = 0;
  // `bytes` as they were asked for.
  virtual void Deallocate(std::byte* block, size_t bytes) = 0;
  // How much blocks may take before there is no room, about.
  virtual uint64_t bytes_for_blocks() const = 0;
};

// Gives a block back to whom it came from: to `memory`, or to the heap.
class FreeBlock {
 public:
  FreeBlock() = default;
  FreeBlock(std::default_delete<std::byte[]>) {}  // NOLINT: what came from the heap is a block too
  FreeBlock(std::shared_ptr<BlockMemory> memory, size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  void operator()(std::byte* block) const {
    memory_ == nullptr ? std::default_delete<std::byte[]>()(block) : memory_->Deallocate(block, bytes_);
  }

 private:
  std::shared_ptr<BlockMemory> memory_;  // null: the heap
  size_t bytes_ = 0;
};
using OwnedBlock = std::unique_ptr<std::byte[], FreeBlock>;

// Of `memory`, or, where that is null or has no room, of the heap. Not filled.
inline OwnedBlock AllocateBlock(const std::shared_ptr<BlockMemory>& memory, size_t bytes) {
  if (memory != nullptr) {
    if (std::byte* const block = memory->Allocate(bytes)) return OwnedBlock(block, FreeBlock(memory, bytes));
  }
  return std::make_unique_for_overwrite<std::byte[]>(bytes);
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_BLOCK_MEMORY_H_
