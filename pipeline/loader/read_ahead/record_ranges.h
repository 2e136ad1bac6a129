// Fetches several records with one read before their rows are started, from storage whose requests cost more than their
// bytes.
//
// ReadAhead chooses the ranges. A row takes its record if its range is here. If the range is in flight, the row waits
// for it. Any other row fetches its record alone. No row depends on a range: if a range fails, or its memory is
// revoked, its rows read their records one by one.
//
//   ReadAhead -> range -> one read into blocks -> rows take their records
//
// A block is released with the last of its records.
#ifndef PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RECORD_RANGES_H_
#define PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RECORD_RANGES_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "base/runtime/executor.h"
#include "pipeline/cache/byte_cache.h"
#include "pipeline/loader/budget_lease.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/read_ahead/range_memory.h"
#include "pipeline/loader/read_ahead/read_ahead.h"

namespace penstock::loader {

// Thread-safe. Owned by a shared_ptr, because a range in flight holds a reference.
class RecordRanges : public std::enable_shared_from_this<RecordRanges> {
  struct Range;
  struct Block;

 public:
  struct Options {
    int most_under_way = 16;
    // Reserves memory of the budget for a session's range. Returns null if there is none at present.
    std::function<std::unique_ptr<BudgetLease>(uint64_t session, uint64_t bytes)> reserve;
    // Returns whether the record is in a cache.
    std::function<bool(const LoadJob& job, uint64_t record)> cached;
    // Returns whether rows wait although a thread is idle, which means that they probably lack memory. No blocks are
    // cached then.
    std::function<bool()> wanted;
    // Called when a range has ended, so that its memory can be revoked. Runs on a thread of the storage, or inside the
    // call that starts or cancels the range.
    std::function<void()> ended;
    Clock* clock = Clock::Real();
  };
  struct Counts {
    uint64_t ranges = 0;  // started
    uint64_t bytes = 0;   // of ranges that succeeded, with framing and gaps
  };

  // A fetched record, owned by one row.
  class Taken {
   public:
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    // Returns the record as DatasetReader::ReadRecord does. The bytes are in memory of this object.
    const absl::StatusOr<std::string_view>& bytes() const { return bytes_; }
    Nanos took() const { return took_; }  // share of the record in the time of its range

   private:
    friend class RecordRanges;
    Taken() = default;
    std::shared_ptr<Block> block_;  // the block with the record
    RecordBuffer with_head_;        // the record, if its shard has a head
    absl::StatusOr<std::string_view> bytes_ = absl::CancelledError("");
    Nanos took_ = 0;
  };

  explicit RecordRanges(Options options) : options_(std::move(options)) {}

  // Registers a session. A request to `stop` cancels its ranges.
  void OpenSession(uint64_t id, std::shared_ptr<const LoadJob> job, std::stop_token stop);
  // Drops the ranges of the session and cancels those in flight.
  void CloseSession(uint64_t id);

  // Starts the ranges that `ahead` chooses. Fast; never blocks on I/O. Has no effect after CloseSession().
  // `known.bytes` is the limit for all sessions. The sessions that look ahead share it equally.
  void LookAhead(uint64_t session, ReadAhead* ahead, ReadAhead::Known known);

  // Returns the record and passes its ownership to the caller, or returns null if the record is not here.
  std::unique_ptr<Taken> Take(const LoadJob& job, uint64_t record);
  // Returns whether the record is here or in flight. If so, calls `over` once when the read has ended: inside this
  // call, on a thread of the storage, or inside the call that cancels the range.
  bool WhenOver(const LoadJob& job, uint64_t record, Task over);

  // Returns the bytes cached for the next ranges. A thread checks them before it waits for memory, under the lock that
  // `wanted` acquires.
  uint64_t kept() const { return kept_->load(); }
  // Releases cached blocks until `bytes` are free. Returns the bytes freed.
  uint64_t ReleaseKept(uint64_t bytes);
  // Calls ReleaseKept(). Then drops fetched ranges until `bytes` are free, the range that is needed last first. Returns
  // the bytes freed. The blocks of dropped ranges are cached unless Options::wanted() is true.
  uint64_t Release(uint64_t bytes);
  // Cancels ranges in flight until they will free `bytes`, the range that is needed last first. `ended` is called when
  // the read of each has ended.
  void BreakOff(uint64_t bytes);

  Counts counts() const { return {ranges_.load(), bytes_.load()}; }

 private:
  struct Session;
  class Dropped;
  class JobRecords;
  struct Entry {
    std::shared_ptr<Range> range;
    std::shared_ptr<Block> block;
    uint64_t number = 0;  // in its shard
  };
  struct KeyHash {
    size_t operator()(const cache::CacheKey& key) const { return key.space ^ (key.record * 0x9E3779B97F4A7C15); }
  };

  // Allocates blocks for the wanted records of the range, and sets the parts of its read. Returns false if there is no
  // memory.
  bool Allocate(Session* session, uint64_t id, Range* range, std::vector<ReadPart>* parts);
  bool Has(const cache::CacheKey& key);
  // Reserves one of the `most_under_way` slots. Returns false if none is free.
  bool Reserve();
  // Starts the range. Returns false if no slot is free, there is no memory, the shard is not open, or the session is
  // closed.
  bool Begin(const std::shared_ptr<Session>& session, uint64_t id, RangeRead read);
  void Over(const std::shared_ptr<Range>& range, bool ok);
  // Removes the range from the tables. The caller keeps a reference until it has released the lock, so that memory is
  // released outside.
  void Drop(const std::shared_ptr<Range>& range) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops the range that is needed last, of those that are here or of those in flight. Returns null if there is none.
  std::shared_ptr<Range> DropLast(bool here) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const std::shared_ptr<std::atomic<uint64_t>> kept_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::atomic<uint64_t> ranges_{0}, bytes_{0};
  std::atomic<int> under_way_{0};
  Mutex mutex_;
  std::unordered_map<cache::CacheKey, Entry, KeyHash> records_ ABSL_GUARDED_BY(mutex_);  // here or in flight
  std::map<uint64_t, std::shared_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_READ_AHEAD_RECORD_RANGES_H_
