// Reads small records together with their neighbors, from storage with low latency: there, two system calls take longer
// than the work of a small record. A maker that needs a record reads all neighbors that the order soon needs too, and
// copies its own. The rows of the others copy theirs from memory.
//
// No row depends on it. A record that is not here, or that is damaged here, is read alone.
#ifndef PENSTOCK_PIPELINE_LOADER_READ_AHEAD_SMALL_RECORDS_H_
#define PENSTOCK_PIPELINE_LOADER_READ_AHEAD_SMALL_RECORDS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "pipeline/cache/byte_cache.h"
#include "pipeline/loader/budget_lease.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/sources/record_buffer.h"

namespace penstock::loader {

// Thread-safe.
class SmallRecords {
 public:
  // Neighbors are up to kMostRecords records of a shard with at most kMostBytes each, on average.
  static constexpr uint64_t kMostRecords = 64;
  static constexpr uint64_t kMostBytes = 1024;
  // A session reads records alone once fewer than kLeastTaken rows for each of kTrial reads have found their record.
  static constexpr uint64_t kTrial = 4096;
  static constexpr uint64_t kLeastTaken = 8;

  // Reserves memory of the budget for a session. Returns null if there is none at present.
  using Reserve = std::function<std::unique_ptr<BudgetLease>(uint64_t session, uint64_t bytes)>;

  // `most_bytes`: limit for all neighbors in memory.
  SmallRecords(uint64_t most_bytes, Reserve reserve) : most_bytes_(most_bytes / kParts), reserve_(std::move(reserve)) {}

  void OpenSession(uint64_t session);
  // Drops the neighbors that the session has read.
  void CloseSession(uint64_t session);

  // Copies the record into `buffer` and returns it as DatasetReader::ReadRecord does, if it is in memory.
  std::optional<std::string_view> Take(uint64_t session, const LoadJob& job, uint64_t record,
                                       sources::RecordBuffer* buffer);
  // Does the same after it has read the record with its neighbors. Blocks on storage. Returns nullopt if the record
  // must be read alone.
  std::optional<std::string_view> Read(uint64_t session, const LoadJob& job, uint64_t record,
                                       sources::RecordBuffer* buffer);

  // Drops neighbors until `bytes` are free, the oldest first. Returns the bytes that are freed.
  uint64_t Release(uint64_t bytes);

 private:
  struct Neighbors;
  // The place of a record among its neighbors.
  struct Place {
    cache::CacheKey key;  // key of the first neighbor
    uint32_t shard = 0;
    uint64_t first = 0, number = 0;  // numbers in the shard of the first neighbor, and of the record
    uint64_t most = 0;               // limit for their number
  };
  struct Tally {
    uint64_t reads = 0, taken = 0;
    bool pays() const { return reads < kTrial / kParts || taken >= kLeastTaken * reads; }
  };
  struct KeyHash {
    size_t operator()(const cache::CacheKey& key) const { return key.space ^ (key.record * 0x9E3779B97F4A7C15); }
  };
  using List = std::list<std::shared_ptr<Neighbors>>;
  // A part of the table, so that makers do not wait for each other.
  struct alignas(64) Part {
    Mutex mutex;
    List by_age ABSL_GUARDED_BY(mutex);  // the oldest first
    std::unordered_map<cache::CacheKey, List::iterator, KeyHash> by_key ABSL_GUARDED_BY(mutex);
    std::unordered_map<uint64_t, Tally> tallies ABSL_GUARDED_BY(mutex);  // by session
    uint64_t bytes ABSL_GUARDED_BY(mutex) = 0;
  };
  static constexpr size_t kParts = 16;

  // Returns the place of a record, or nullopt if the order scatters its neighbors, or they are large.
  static std::optional<Place> PlaceOf(const LoadJob& job, uint64_t record);
  Part& PartOf(const Place& place) { return parts_[KeyHash()(place.key) >> 60]; }
  // Returns whether the session reads neighbors, by what it found so far.
  static bool Pays(const Part& part, uint64_t session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(part.mutex);
  // Reads the neighbors at a place. Returns null if they are too large, cannot be read, or there is no memory.
  std::shared_ptr<Neighbors> ReadAt(const Place& place, uint64_t session, const LoadJob& job) const;
  static std::optional<std::string_view> Copy(const Neighbors& from, const Place& place, const LoadJob& job,
                                              uint64_t record, sources::RecordBuffer* buffer);
  // Counts a row that takes its record, and removes neighbors without further rows. The caller keeps a reference until
  // it has released the lock.
  static void CountTaken(Part* part, List::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(part->mutex);
  static void Remove(Part* part, List::iterator at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(part->mutex);

  const uint64_t most_bytes_;  // limit for a part
  const Reserve reserve_;
  std::array<Part, kParts> parts_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_READ_AHEAD_SMALL_RECORDS_H_
