// The memory of a feeder's batches: one memfd, which the trainer maps too.
#ifndef PENSTOCK_CLIENT_FEED_BATCH_ARENA_H_
#define PENSTOCK_CLIENT_FEED_BATCH_ARENA_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "base/free_pages.h"
#include "base/mutex.h"
#include "base/sealed_memory.h"
#include "penstock/allocator.h"

namespace penstock::feed {

// Allocates blocks of whole pages in one anonymous file, whose size is fixed and sealed. Unused pages take no memory.
// The trainer may write to the file at any time, so the feeder never bases a decision on its contents. The list of free
// pages is outside the file. Thread-safe.
class BatchArena final : public Allocator {
 public:
  static constexpr size_t kPage = FreePages::kPage;

  // Handling of a deallocated block's pages. kRelease returns them to the system. kKeep keeps them, for a trainer that
  // has page-locked them: its device would read the removed pages, not the new ones.
  enum class Pages { kRelease, kKeep };

  // Creates an arena of `bytes`, rounded up to whole pages, at least two. The first page stays unused, so that no block
  // has the offset 0. Errors name the system call.
  static absl::StatusOr<std::unique_ptr<BatchArena>> Create(uint64_t bytes, Pages pages = Pages::kRelease);
  BatchArena(const BatchArena&) = delete;
  BatchArena& operator=(const BatchArena&) = delete;

  int fd() const { return memory_.fd(); }
  uint64_t bytes() const { return memory_.size(); }
  // Returns the total size of the allocated blocks.
  uint64_t used_bytes() const;
  // Returns the number of allocations that found no room.
  uint64_t refusals() const { return refusals_.load(); }
  // The size of the last block that found no room, and the size of all blocks at that time. Zeros before the first
  // refusal.
  struct Refusal {
    uint64_t bytes = 0, used = 0;
  };
  Refusal last_refusal() const;

  // Returns a page-aligned block, or null if no gap is large enough. Deallocate releases the pages to the system,
  // unless kKeep.
  void* Allocate(size_t bytes) override;
  void Deallocate(void* memory, size_t bytes) override;

  // Returns the offset of memory in a block from the arena's start.
  uint64_t OffsetOf(const void* memory) const;

  // Makes the system allocate the pages of the first `first` bytes, so that the first batches do not wait for them.
  // Blocks meanwhile. Returns early when `stop` becomes true or memory is short.
  void Prepare(uint64_t first, const std::atomic<bool>& stop);

  // Releases all pages, even mapped ones, after the trainer has ended: its child processes may keep the mapping.
  void ReleaseAll();
  // Releases the pages outside of blocks, unless kKeep. Later calls of Deallocate release no pages, because the trainer
  // reads them after the feeder has ended.
  void KeepUsed();

 private:
  BatchArena(SealedMemory memory, Pages pages);
  void ReleasePages(uint64_t from, uint64_t bytes) const;

  SealedMemory memory_;
  const Pages pages_;
  std::atomic<bool> keeps_;  // true: Deallocate keeps the pages
  std::atomic<uint64_t> refusals_{0};
  mutable Mutex mutex_;
  FreePages free_ ABSL_GUARDED_BY(mutex_);
  Refusal last_refusal_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::feed

#endif  // PENSTOCK_CLIENT_FEED_BATCH_ARENA_H_
