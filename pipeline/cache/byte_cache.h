// The worker's caches of record bytes and of decoded images: many readers, one byte limit.
//
// An epoch visits every record once, in an order that comes round again: the access pattern is a
// cyclic scan. Under it an LRU cache that is smaller than the data evicts each entry just before
// its next use and hits nothing. So this one keeps what it has and admits while there is room: with
// room for a fraction f of the data the hit rate is f, which is the best that any policy reaches on
// a scan in random order. Entries leave only when their space is dropped, or the limit is lowered.
#ifndef PENSTOCK_PIPELINE_CACHE_BYTE_CACHE_H_
#define PENSTOCK_PIPELINE_CACHE_BYTE_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "pipeline/cache/cache_stats.h"

namespace penstock {

// Entries are known by their space (what makes equal record numbers mean equal bytes: a snapshot,
// or a snapshot and a pipeline) and their record's number in the snapshot.
struct CacheKey {
  uint64_t space = 0;
  uint64_t record = 0;
  bool operator==(const CacheKey&) const = default;
};

// Thread-safe.
class ByteCache {
 public:
  // What an entry is charged beside its bytes: the map's node, the string and its control block.
  static constexpr size_t kEntryOverhead = 128;

  // bytes() never exceeds the limit, but for a moment after it was lowered. 0: nothing is kept, and nothing is counted.
  explicit ByteCache(uint64_t limit_bytes) : limit_(limit_bytes) {}

  // The entry, or null. Counts a hit or a miss.
  std::shared_ptr<const std::string> Find(const CacheKey& key);

  // Whether Find would give it. Counts nothing.
  bool Contains(const CacheKey& key);

  // Keeps `value` if there is room for it; it is charged with its capacity. Returns whether the key
  // is in the cache now. An entry that is there already stays (two threads made the same one).
  bool Insert(const CacheKey& key, std::shared_ptr<const std::string> value);

  // Whether an entry of that many bytes would be admitted now.
  bool HasRoomFor(size_t bytes) const { return bytes_.load() + bytes + kEntryOverhead <= limit(); }

  // When it returns bytes() is at most that, entries aside that are being put in just now, which go at once. Which ones
  // leave is left open: on a scan one is as good as another.
  void SetLimit(uint64_t limit_bytes);

  // Removes all entries of the space. Readers that hold one keep it until they let go.
  void DropSpace(uint64_t space);

  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(); }
  uint64_t hits() const { return hits_.load(); }
  uint64_t misses() const { return misses_.load(); }
  // Without what was saved.
  CacheStats Stats() const { return {limit(), bytes_.load(), hits_.load(), misses_.load(), served_.load(), 0}; }

 private:
  struct Hasher {
    size_t operator()(const CacheKey& key) const;
  };
  struct Part {
    mutable Mutex mutex;
    std::unordered_map<CacheKey, std::shared_ptr<const std::string>, Hasher> entries ABSL_GUARDED_BY(mutex);
  };
  static size_t Charge(const std::string& value) { return value.capacity() + kEntryOverhead; }
  Part& PartOf(const CacheKey& key) { return parts_[Hasher()(key) % parts_.size()]; }

  // Lets go of entries until the rest is within the limit.
  void Trim();

  std::atomic<uint64_t> limit_;
  std::atomic<uint64_t> bytes_{0}, hits_{0}, misses_{0}, served_{0};
  std::array<Part, 64> parts_;  // more than threads: they rarely meet
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_CACHE_BYTE_CACHE_H_
