// The memory of batches: blocks from an Allocator, which are reused for later batches.
#ifndef PENSTOCK_CLIENT_ASSEMBLY_BATCH_MEMORY_H_
#define PENSTOCK_CLIENT_ASSEMBLY_BATCH_MEMORY_H_

#include <cstddef>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "penstock/allocator.h"

namespace penstock::client {

// Returns the default allocator: plain memory, aligned to 64.
Allocator* DefaultAllocator();

// A pool of blocks. Rounds sizes up to a multiple of 64, and large ones by at most an eighth, so that ragged batches
// reuse blocks of different batches. Keeps at most `max_free_bytes` bytes of free blocks in total. A block holds a
// reference to the pool, because batches may outlive their reader. Thread-safe. Never calls the allocator under the
// lock.
class BatchMemory : public std::enable_shared_from_this<BatchMemory> {
 public:
  // `allocator` must outlive the pool. Null: DefaultAllocator().
  BatchMemory(Allocator* allocator, size_t max_free_bytes);
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  // Returns its memory to the pool when it is destroyed.
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

  // Returns a block of at least `bytes` bytes (at least one), uninitialized and aligned to 64. Returns an empty block
  // if the allocator has no memory.
  Block Allocate(size_t bytes);

  // Releases the free blocks. From now on the pool releases each block when the block is destroyed. After the last
  // block is destroyed, the pool does not call the allocator, even if the pool is still referenced.
  void Close();

  // Returns the rounded size of a block for `bytes`.
  static size_t Rounded(size_t bytes);

 private:
  void Return(std::byte* data, size_t size);

  Allocator* const allocator_;
  const size_t max_free_bytes_;
  Mutex mutex_;
  std::multimap<size_t, std::byte*> free_ ABSL_GUARDED_BY(mutex_);
  size_t free_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_ASSEMBLY_BATCH_MEMORY_H_
