// The worker's caches of record bytes and of decoded images: many readers, one byte limit.
//
// Each epoch visits every record once, so the access pattern is a cyclic scan. On such a scan, an LRU cache smaller
// than the data evicts each entry just before its next use and never hits. This cache therefore keeps its entries and
// admits more while there is room. With room for a fraction f of the data the hit rate is f, the best that any policy
// reaches on a scan in random order. Entries leave only if their space is dropped or the limit is lowered.
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

namespace penstock::cache {

// Identifies an entry by its space and its record's number in the snapshot. Within a space, equal record numbers mean
// equal bytes: a space is a snapshot, or a snapshot and a pipeline.
struct CacheKey {
  uint64_t space = 0;
  uint64_t record = 0;
  bool operator==(const CacheKey&) const = default;
};

// Thread-safe.
class ByteCache {
 public:
  // The charge per entry besides its bytes: the map's node, the string and its control block.
  static constexpr size_t kEntryOverhead = 128;

  // bytes() never exceeds the limit, except briefly after the limit is lowered. With 0, the cache stores and counts
  // nothing.
  explicit ByteCache(uint64_t limit_bytes) : limit_(limit_bytes) {}

  // Returns the entry, or null. Counts a hit or a miss.
  std::shared_ptr<const std::string> Find(const CacheKey& key);

  // Returns whether Find would return an entry. Counts nothing.
  bool Contains(const CacheKey& key);

  // Stores `value` if there is room; its capacity is charged. Returns false if there is no room, even if the cache has
  // the key. Otherwise returns true. An existing entry stays, because two threads may have made the same one.
  bool Insert(const CacheKey& key, std::shared_ptr<const std::string> value);

  // Returns whether the cache would admit an entry of `bytes` bytes now.
  bool HasRoomFor(size_t bytes) const { return bytes_.load() + bytes + kEntryOverhead <= limit(); }

  // Sets the limit and evicts entries until bytes() is within it. Entries that other threads are inserting at that
  // moment may exceed it briefly. The choice of entries is unspecified, because on a scan all are equal.
  void SetLimit(uint64_t limit_bytes);

  // Removes all entries of the space, and returns their bytes. Readers that hold an entry keep it until they release
  // it.
  uint64_t DropSpace(uint64_t space);

  uint64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_.load(); }
  uint64_t hits() const { return hits_.load(); }
  uint64_t misses() const { return misses_.load(); }
  // Returns the counters, with saved_seconds 0.
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

  // Evicts entries until the rest is within the limit.
  void Trim();

  std::atomic<uint64_t> limit_;
  std::atomic<uint64_t> bytes_{0}, hits_{0}, misses_{0}, served_{0};
  std::array<Part, 64> parts_;  // more parts than threads, so that they rarely contend
};

}  // namespace penstock::cache

#endif  // PENSTOCK_PIPELINE_CACHE_BYTE_CACHE_H_
