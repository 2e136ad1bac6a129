// Finished rows, for those who read the same ones again.
//
// A row is *kept* where it is the same in each epoch (nothing in its pipeline is random): as in ByteCache, what is here
// stays and more is admitted while there is room. It is *shared* where several read one job side by side: they want it
// within moments of each other, so the oldest shared rows make room for new ones. Kept rows displace shared ones, never
// the other way round.
#ifndef PENSTOCK_PIPELINE_CACHE_ROW_CACHE_H_
#define PENSTOCK_PIPELINE_CACHE_ROW_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/mutex.h"

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

// Thread-safe.
class RowCache {
 public:
  // What an entry is charged beside its bytes.
  static constexpr size_t kEntryOverhead = 192;

  // bytes() never exceeds `limit_bytes`. 0: nothing is taken, and nothing is counted.
  explicit RowCache(uint64_t limit_bytes) : limit_(limit_bytes) {}

  // The row, or null. Counts a hit or a miss.
  std::shared_ptr<const std::string> Find(const RowKey& key);

  // Whether Find would give it. Counts nothing.
  bool Contains(const RowKey& key);

  // Whether a kept row of so many bytes would be taken now.
  bool HasRoomToKeep(size_t bytes);
  // Each returns whether the row is here now; one that is here already stays as it is.
  bool Keep(const RowKey& key, std::shared_ptr<const std::string> row);
  bool Share(const RowKey& key, std::shared_ptr<const std::string> row);

  // Removes all rows of the space. Readers that hold one keep it until they let go.
  void DropSpace(uint64_t space);

  uint64_t limit() const { return limit_; }
  uint64_t bytes() const;
  uint64_t hits() const;
  uint64_t misses() const;

 private:
  struct Entry {
    std::shared_ptr<const std::string> row;
    bool kept = false;
    std::list<RowKey>::iterator place;  // in shared_, of shared rows
  };
  using Entries = std::unordered_map<RowKey, Entry, RowKeyHasher>;
  static uint64_t Charge(const std::string& row) { return row.capacity() + kEntryOverhead; }
  // Moves the oldest shared rows to `dropped` until `bytes` more fit. False: they never will.
  bool MakeRoom(uint64_t bytes, std::list<std::shared_ptr<const std::string>>* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remove(Entries::iterator it, std::list<std::shared_ptr<const std::string>>* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t limit_;
  mutable Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::list<RowKey> shared_ ABSL_GUARDED_BY(mutex_);  // oldest first
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0, shared_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t hits_ ABSL_GUARDED_BY(mutex_) = 0, misses_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_CACHE_ROW_CACHE_H_
