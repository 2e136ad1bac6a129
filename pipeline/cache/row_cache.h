// Finished rows, for those who read the same ones again.
//
// A row is *kept* where it is the same in each epoch (nothing in its pipeline is random): as in ByteCache, what is here
// stays and more is admitted while there is room. It is *shared* where several read one job side by side: they want it
// within moments of each other, so it goes when so many as it is for have had it, and its memory is the next one's
// while the CPU's caches have it; the oldest make room for new ones. Kept rows displace shared ones, never the other
// way round.
//
// Kept rows that are not small lie in files that trainers of this host can have mapped (base/lent_files.h), where the
// cache was given some: then nobody has to copy them to send them. Each space (a job's rows) has files of its own, so
// that nobody is lent what is not of his job, and no place in them is ever used a second time.
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

#include "base/lent_files.h"
#include "base/mutex.h"
#include "pipeline/cache/cache_stats.h"
#include "pipeline/cache/row_files.h"

namespace penstock {

// Equal keys mean equal bytes. Of a kept row: `number` is its record's, the epoch is 0 for all. Of a shared one: the
// position in the epoch.
struct RowKey {
  uint64_t space = 0;
  uint64_t epoch = 0;
  uint64_t number = 0;
  bool operator==(const RowKey&) const = default;
};
struct RowKeyHasher {
  size_t operator()(const RowKey& key) const;
};

// Stays as it is for as long as somebody holds it.
struct CachedRow {
  std::string_view bytes;
  bool lent = false;  // they lie in one of the cache's LentFiles
};

// Thread-safe.
class RowCache {
 public:
  // What an entry is charged beside its bytes.
  static constexpr size_t kEntryOverhead = 192;
  // Smaller rows lie on the heap.
  static constexpr size_t kLendFrom = 8 << 10;

  // bytes() never exceeds `limit_bytes`. 0: nothing is taken, and nothing is counted. `lent`: for kept rows; null: the
  // heap.
  explicit RowCache(uint64_t limit_bytes, std::shared_ptr<LentFiles> lent = nullptr)
      : limit_(limit_bytes), lent_(std::move(lent)) {}

  // The row, or null. Counts a hit or a miss.
  std::shared_ptr<const CachedRow> Find(const RowKey& key);

  // Whether Find would give it. Counts nothing.
  bool Contains(const RowKey& key);

  // Whether a kept row of so many bytes would be taken now.
  bool HasRoomToKeep(size_t bytes);
  // Each returns whether the row is here now; one that is here already stays as it is.
  bool Keep(const RowKey& key, std::string row);
  // `takers`: by how many it is still wanted, at least 1.
  bool Share(const RowKey& key, std::string row, int takers);
  // One of those who want a shared row has had it. Nothing of others.
  void Took(const RowKey& key);

  // When it returns bytes() is at most that. Shared rows go first, the oldest before others; then kept ones on the
  // heap, as many as have to; then those of one file after the other, the newest first, since the memory of a file goes
  // as a whole.
  void SetLimit(uint64_t limit_bytes);

  // Removes all rows of the space. Readers that hold one keep it until they let go.
  void DropSpace(uint64_t space);

  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint64_t bytes() const;
  uint64_t hits() const;
  uint64_t misses() const;
  // Without what was saved.
  CacheStats Stats() const;

 private:
  struct Entry {
    std::shared_ptr<const CachedRow> row;  // null: whoever keeps it is still writing it
    uint64_t charge = 0;
    bool kept = false;
    int takers = 0;                     // of shared rows
    uint64_t file = 0;                  // LentFile::id(); 0: it lies on the heap, or is still being written
    std::list<RowKey>::iterator place;  // in shared_, of shared rows
  };
  using Entries = std::unordered_map<RowKey, Entry, RowKeyHasher>;
  using Dropped = std::list<std::shared_ptr<const CachedRow>>;
  bool Lends(size_t bytes) const { return lent_ != nullptr && bytes >= kLendFrom; }
  uint64_t Charge(const std::string& row) const;
  struct PlacedRow {
    std::shared_ptr<const CachedRow> row;
    uint64_t file = 0;  // as in Entry
  };
  // The row as it is kept: in a file of its space where it is to be, and one can be had.
  PlacedRow Placed(uint64_t space, std::string row);
  // Moves the oldest shared rows to `dropped` until `bytes` more fit. False: they never will.
  bool MakeRoom(uint64_t bytes, Dropped* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(Entries::iterator it, Dropped* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Kept rows, until the limit holds.
  void RemoveKept(Dropped* dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Rows of the space, and its files.
  void RemoveSpace(uint64_t space, Dropped* dropped, std::vector<std::shared_ptr<RowFiles>>* files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<uint64_t> limit_;  // changed with the lock
  const std::shared_ptr<LentFiles> lent_;
  mutable Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::list<RowKey> shared_ ABSL_GUARDED_BY(mutex_);                                       // oldest first
  std::unordered_map<uint64_t, std::shared_ptr<RowFiles>> files_ ABSL_GUARDED_BY(mutex_);  // by space
  uint64_t files_left_ ABSL_GUARDED_BY(mutex_) = 0;  // times that rows of files had to go
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0, shared_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t hits_ ABSL_GUARDED_BY(mutex_) = 0, misses_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t served_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_CACHE_ROW_CACHE_H_
