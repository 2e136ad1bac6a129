// The memory of batches: blocks from an Allocator, kept for the next batch when one is done with.
#ifndef PENSTOCK_CLIENT_ASSEMBLY_BATCH_MEMORY_H_
#define PENSTOCK_CLIENT_ASSEMBLY_BATCH_MEMORY_H_

#include <cstddef>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "penstock/allocator.h"

namespace penstock {

// Plain memory, aligned to 64.
Allocator* DefaultAllocator();

// Sizes are rounded up (by an eighth at most), so that ragged batches find each other's blocks. Free blocks are kept
// up to `max_free_bytes`. Batches may outlive their reader, so all share the pool. Thread-safe; the allocator is never
// called under the lock.
class BatchMemory : public std::enable_shared_from_this<BatchMemory> {
 public:
  // `allocator` outlives the pool; null: DefaultAllocator().
  BatchMemory(Allocator* allocator, size_t max_free_bytes);
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  // Gives a block back when it goes.
  class Block {
   public:
    Block() = default;
    Block(Block&& other) noexcept { *this = std::move(other); }
    Block& operator=(Block&& other) noexcept;
    ~Block() { Release(); }
    std::byte* data() const { return data_; }
    size_t size() const { return size_; }
    explicit operator bool() const { return data_ != nullptr; }

   private:
    friend class BatchMemory;
    void Release();
    std::shared_ptr<BatchMemory> pool_;
    std::byte* data_ = nullptr;
    size_t size_ = 0;
  };

  // At least `bytes` bytes (one at least), uninitialized, aligned to 64; empty when the allocator has none.
  Block Allocate(size_t bytes);

  // Gives back what is kept, and from now on each block as it goes: the allocator is not called once the last block is
  // gone, whoever still holds the pool.
  void Close();

  // What a block for `bytes` is rounded up to.
  static size_t Rounded(size_t bytes);

 private:
  void GiveBack(std::byte* data, size_t size);

  Allocator* const allocator_;
  const size_t max_free_bytes_;
  Mutex mutex_;
  std::multimap<size_t, std::byte*> free_ ABSL_GUARDED_BY(mutex_);
  size_t free_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_ASSEMBLY_BATCH_MEMORY_H_
