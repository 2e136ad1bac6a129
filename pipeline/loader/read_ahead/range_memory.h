// Memory for the records of ranges, in blocks of whole pages. Released blocks can be cached for the next range, with
// their pages and their lease: unmapping and clearing pages for each record costs as much as fetching it.
#ifndef PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RANGE_MEMORY_H_
#define PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RANGE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "pipeline/loader/budget_lease.h"

namespace penstock::loader {

// Memory of one session. Thread-safe. Must outlive its blocks. A block that leaves the cache returns its pages to the
// system, but not its addresses: a later block of the same size reuses them.
class RangeMemory {
 public:
  struct Block {
    char* data = nullptr;
    uint64_t bytes = 0;                  // whole pages
    std::unique_ptr<BudgetLease> lease;  // lease on `bytes`
  };

  // `in_all` counts the cached bytes of all objects that share it. May be null.
  explicit RangeMemory(std::shared_ptr<std::atomic<uint64_t>> in_all = nullptr) : in_all_(std::move(in_all)) {}
  ~RangeMemory();
  RangeMemory(const RangeMemory&) = delete;
  RangeMemory& operator=(const RangeMemory&) = delete;

  // Returns the size of a new block for `bytes` bytes: whole pages, whose number is rounded up by less than an eighth.
  static uint64_t Takes(uint64_t bytes);

  // Returns a cached block for `bytes` bytes that is at most a quarter larger than Takes(bytes). If there is none,
  // returns a block without data.
  Block AcquireKept(uint64_t bytes);
  // Returns a new block of Takes(bytes) bytes, which then owns `lease`. If the system has no memory, the block has no
  // data.
  Block Acquire(uint64_t bytes, std::unique_ptr<BudgetLease> lease);
  // Caches the block. After Close(), releases it.
  void Release(Block block);
  // Releases cached blocks, oldest first, until at least `bytes` are free. Returns the bytes freed.
  uint64_t ReleaseKept(uint64_t bytes);
  // Releases all cached blocks and caches none from then on.
  void Close();

  uint64_t kept() const;

 private:
  struct Kept {
    Block block;
    uint64_t released = 0;  // order of Release()
  };

  void CountKept(uint64_t more, uint64_t less) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  char* Carve(uint64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns pages to the system and releases leases, outside the lock.
  void ReleasePages(std::vector<Block> blocks);

  const std::shared_ptr<std::atomic<uint64_t>> in_all_;
  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint64_t, std::vector<Kept>> kept_ ABSL_GUARDED_BY(mutex_);  // by size; the newest is reused first
  uint64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t released_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::vector<char*>> gone_ ABSL_GUARDED_BY(mutex_);  // by size: addresses without pages
  std::vector<std::pair<char*, uint64_t>> mapped_ ABSL_GUARDED_BY(mutex_);
  char* fresh_ ABSL_GUARDED_BY(mutex_) = nullptr;  // unused rest of the last mapping
  uint64_t fresh_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RANGE_MEMORY_H_
