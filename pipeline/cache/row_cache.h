// A cache of finished rows, for sessions that read the same rows again.
//
// A row is *kept* if it is the same in each epoch, because nothing in its pipeline is random. As in ByteCache, kept
// rows stay, and more are admitted while there is room. A row is *shared* if several sessions read one job side by
// side. They request it within moments of each other, so it is removed once all of them have taken it. The next row
// then reuses its memory while the CPU's caches still hold it. If there is no room, new rows evict the oldest shared
// ones. Kept rows evict shared rows, never the reverse.
//
// If the cache has SharedRowFiles, it stores kept rows from kLeastSharedBytes on in files that trainers on this host
// can map (base/shared_row_files.h). The worker then sends them without a copy. Each space (the rows of one data set
// and pipeline) has its own files, so that no trainer maps rows of other data. No place in a file is reused.
#ifndef PENSTOCK_PIPELINE_CACHE_ROW_CACHE_H_
#define PENSTOCK_PIPELINE_CACHE_ROW_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/shared_mutex.h"
#include "base/shared_row_files.h"
#include "pipeline/cache/cache_stats.h"
#include "pipeline/cache/row_files.h"

namespace penstock::cache {

// Equal keys mean equal bytes. For a kept row, `number` is its record's number and the epoch is always 0. For a shared
// row, `number` is its position in the epoch.
struct RowKey {
  uint64_t space = 0;
  uint64_t epoch = 0;
  uint64_t number = 0;
  bool operator==(const RowKey&) const = default;
};
struct RowKeyHasher {
  size_t operator()(const RowKey& key) const;
};

// A row that stays unchanged while a reader holds it.
struct CachedRow {
  std::string_view bytes;
  bool in_shared_file = false;  // `bytes` are in one of the cache's SharedRowFiles
};

// Thread-safe.
class RowCache {
 public:
  // The charge per entry besides its bytes.
  static constexpr size_t kEntryOverhead = 192;
  // Smaller rows are stored on the heap.
  static constexpr size_t kLeastSharedBytes = 8 << 10;

  // bytes() never exceeds `limit_bytes`. With 0, the cache stores and counts nothing. `shared_files` provides the files
  // for kept rows; if null, they are stored on the heap.
  explicit RowCache(uint64_t limit_bytes, std::shared_ptr<SharedRowFiles> shared_files = nullptr)
      : limit_(limit_bytes), shared_files_(std::move(shared_files)) {}

  // Returns the row, or null. Counts a hit or a miss.
  std::shared_ptr<const CachedRow> Find(const RowKey& key);

  // Returns whether the cache has the row, or a thread is storing it. Counts nothing.
  bool Contains(const RowKey& key);

  // Returns whether the cache would admit a kept row of exactly `bytes` bytes now. Keep may still return false, because
  // it charges the row's capacity, or its rounded size in a file.
  bool HasRoomToKeep(size_t bytes);
  // Keep and Share return whether the cache has the row, or another thread is storing it. An existing row stays
  // unchanged.
  bool Keep(const RowKey& key, std::string row);
  // `takers` is the number of sessions that still need the row, at least 1.
  bool Share(const RowKey& key, std::string row, int takers);
  // Reports that one session has taken a shared row. Has no effect on other rows.
  void ReportTaken(const RowKey& key);

  // Sets the limit and evicts rows until bytes() is within it. Shared rows are evicted first, the oldest before others.
  // Kept rows on the heap follow, as many as necessary. Then files are evicted one after another, the newest first,
  // because the memory of a file is freed as a whole.
  void SetLimit(uint64_t limit_bytes);

  // Removes all rows of the space, and returns their bytes. Readers that hold a row keep it until they release it.
  uint64_t DropSpace(uint64_t space);

  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint64_t bytes() const;
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }
  // Returns the counters, with saved_seconds 0.
  CacheStats Stats() const;

 private:
  struct Entry {
    std::shared_ptr<const CachedRow> row;  // null: a thread is still writing it
    uint64_t charge = 0;
    bool kept = false;
    int takers = 0;                     // sessions that still need a shared row
    uint64_t file = 0;                  // SharedRowFile::id(); 0: on the heap, or still being written
    std::list<RowKey>::iterator place;  // for shared rows: position in shared_
  };
  using Entries = std::unordered_map<RowKey, Entry, RowKeyHasher>;
  using Dropped = std::list<std::shared_ptr<const CachedRow>>;
  bool GoesToSharedFile(size_t bytes) const { return shared_files_ != nullptr && bytes >= kLeastSharedBytes; }
  uint64_t Charge(const std::string& row) const;
  struct PlacedRow {
    std::shared_ptr<const CachedRow> row;
    uint64_t file = 0;  // as in Entry
  };
  // Stores a row to keep: in a file of its space if it qualifies and a file is available, otherwise on the heap.
  PlacedRow Placed(uint64_t space, std::string row);
  // Moves the oldest shared rows to `dropped` until `bytes` more fit. Returns false if they cannot fit.
  bool MakeRoom(uint64_t bytes, Dropped* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(Entries::iterator it, Dropped* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Removes kept rows until the limit holds.
  void RemoveKept(Dropped* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the rows of the space and its files.
  void RemoveSpace(uint64_t space, Dropped* dropped, std::vector<std::shared_ptr<RowFiles>>* files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<uint64_t> limit_;  // written under mutex_
  const std::shared_ptr<SharedRowFiles> shared_files_;
  mutable SharedMutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::list<RowKey> shared_ ABSL_GUARDED_BY(mutex_);                                       // oldest first
  std::unordered_map<uint64_t, std::shared_ptr<RowFiles>> files_ ABSL_GUARDED_BY(mutex_);  // by space
  uint64_t files_left_ ABSL_GUARDED_BY(mutex_) = 0;  // number of times that a file was evicted
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0, shared_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> hits_{0}, misses_{0};
  std::atomic<uint64_t> served_{0};  // bytes
};

}  // namespace penstock::cache

#endif  // PENSTOCK_PIPELINE_CACHE_ROW_CACHE_H_
