// Memory for the records of ranges: blocks of whole pages. What is given back can be kept, pages and part of the
// budget, for the next range: pages that are taken away and cleared again for each record cost as much as to bring it.
#ifndef PENSTOCK_PIPELINE_LOADER_RANGES_RANGE_MEMORY_H_
#define PENSTOCK_PIPELINE_LOADER_RANGES_RANGE_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "pipeline/loader/budget_lease.h"

namespace penstock {

// One session's. Thread-safe. Outlives its blocks. Addresses of blocks that have gone are used again for blocks of
// their size; only their pages go back to the system.
class RangeMemory {
 public:
  struct Block {
    char* data = nullptr;
    uint64_t bytes = 0;                 // of whole pages
    std::unique_ptr<BudgetLease> grab;  // of as many
  };

  // `in_all` counts what is kept, also of others that have it; null: nobody wants to know.
  explicit RangeMemory(std::shared_ptr<std::atomic<uint64_t>> in_all = nullptr) : in_all_(std::move(in_all)) {}
  ~RangeMemory();
  RangeMemory(const RangeMemory&) = delete;
  RangeMemory& operator=(const RangeMemory&) = delete;

  // What a new block of that many bytes takes: whole pages, an eighth more at most.
  static uint64_t Takes(uint64_t bytes);

  // One that was kept, for that many bytes and not much larger; without data: there is none.
  Block TakeKept(uint64_t bytes);
  // A new one of Takes(bytes), which `grab` has; without data: the system has no memory.
  Block Take(uint64_t bytes, std::unique_ptr<BudgetLease> grab);
  // Keeps it; after Close it goes.
  void Give(Block block);
  // Lets go of what is kept, that which was given first first, until `bytes` are free. Returns the bytes freed.
  uint64_t GiveBack(uint64_t bytes);
  // All that is kept goes, and nothing is kept any more.
  void Close();

  uint64_t kept() const;

 private:
  struct Kept {
    Block block;
    uint64_t given = 0;  // when: counted
  };

  void CountKept(uint64_t more, uint64_t less) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  char* Carve(uint64_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Outside the lock: pages and budget go back.
  void LetGo(std::vector<Block> blocks);

  const std::shared_ptr<std::atomic<uint64_t>> in_all_;
  mutable Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint64_t, std::vector<Kept>> kept_ ABSL_GUARDED_BY(mutex_);  // by size; the one given last is taken first
  uint64_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t given_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::vector<char*>> gone_ ABSL_GUARDED_BY(mutex_);  // by size: addresses without pages
  std::vector<std::pair<char*, uint64_t>> mapped_ ABSL_GUARDED_BY(mutex_);
  char* fresh_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the last of them: what no block had yet
  uint64_t fresh_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_RANGES_RANGE_MEMORY_H_
