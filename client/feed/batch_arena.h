// The memory that a feeder's batches lie in: one memfd, which the trainer maps too.
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

namespace penstock {

// Blocks of whole pages of one file without a name, whose size is fixed and sealed. Pages that nobody uses take no
// memory. What lies in it may be written by the trainer at any time, so nothing here is read for a decision: what is
// free is kept elsewhere. Thread-safe.
class BatchArena final : public Allocator {
 public:
  static constexpr size_t kPage = FreePages::kPage;

  // What becomes of the pages of a block that is given back. kKeep: they stay the arena's, for a trainer that has
  // page-locked them: a device goes on reading a page that the file has lost.
  enum class Pages { kGiveBack, kKeep };

  // `bytes` is rounded up to whole pages. Errors name the system call.
  static absl::StatusOr<std::unique_ptr<BatchArena>> Create(uint64_t bytes, Pages pages = Pages::kGiveBack);
  BatchArena(const BatchArena&) = delete;
  BatchArena& operator=(const BatchArena&) = delete;

  int fd() const { return memory_.fd(); }
  uint64_t bytes() const { return memory_.size(); }
  // Of blocks that are given out.
  uint64_t used_bytes() const;
  // How often there was no room.
  uint64_t refusals() const { return refusals_.load(); }

  // Aligned to pages; null when no gap is large enough. Deallocate gives the pages back to the system, unless kKeep.
  void* Allocate(size_t bytes) override;
  void Deallocate(void* memory, size_t bytes) override;

  // Where something that lies in a block is, from the arena's start.
  uint64_t OffsetOf(const void* memory) const;

  // Has the system make the pages of the first `first` bytes, so that the first batches need not wait for them. Takes a
  // while; stops early when `stop` becomes true.
  void Prepare(uint64_t first, const std::atomic<bool>& stop);

  // Gives back all pages, whoever has them mapped: for when the trainer has ended and its children go on.
  void GiveBackAll();

 private:
  BatchArena(SealedMemory memory, Pages pages);

  SealedMemory memory_;
  const Pages pages_;
  std::atomic<uint64_t> refusals_{0};
  mutable Mutex mutex_;
  FreePages free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_FEED_BATCH_ARENA_H_
