// Records that were fetched several at a time, before the rows that they are for were begun: from storage whose
// requests cost more than their bytes.
//
// A session's rows are looked at ahead, in the order of its plan, beyond what it has asked for. The records near a
// wanted one that the session will want too come with it, in one read (PlanRange). A row whose record is here takes it;
// one whose record is under way waits for it; every other row has its record brought alone, as if this were not there.
// So nothing depends on a range: where one fails, or its memory is taken, its rows read their records one by one.
//
//   position ahead -> record -> range around it -> one read into blocks -> rows take their records, and blocks go with
//   the last of theirs
#ifndef PENSTOCK_PIPELINE_LOADER_RANGES_RECORD_RANGES_H_
#define PENSTOCK_PIPELINE_LOADER_RANGES_RECORD_RANGES_H_

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
#include "pipeline/loader/ranges/range_memory.h"
#include "pipeline/loader/ranges/range_plan.h"
#include "pipeline/loader/row_request.h"

namespace penstock {

// What a session has asked for so far.
struct RequestedSpan {
  struct Place {
    uint64_t epoch = 0, position = 0;
    auto operator<=>(const Place&) const = default;
  };
  Place first, furthest;
  // The furthest of those whose records were asked for alone.
  std::optional<Place> alone;
  uint64_t rows = 0;
  void Add(const std::vector<RowRequest>& more);
};

// Thread-safe. In a shared_ptr: a range under way holds it.
class RecordRanges : public std::enable_shared_from_this<RecordRanges> {
  struct Range;
  struct Block;

 public:
  // Whether a session will ask for a row, as far as it knows. Called in calls of LookAhead alone.
  using WillAsk = absl::FunctionRef<bool(uint64_t epoch, uint64_t position, uint64_t record)>;
  struct Options {
    int most_under_way = 16;  // 0: no ranges
    RangeLimits limits = {};
    // Memory of the budget for a session's range; null: there is none now.
    std::function<std::unique_ptr<BudgetLease>(uint64_t session, uint64_t bytes)> hold;
    // Whether the record is in a cache.
    std::function<bool(const LoadJob& job, uint64_t record)> cached;
    // Whether somebody waits for memory: then nothing is kept for the next range.
    std::function<bool()> wanted;
    // A range has ended: what it holds can be given back from now on. On a thread of the storage.
    std::function<void()> ended;
    Clock* clock = Clock::Real();
  };
  struct Counts {
    uint64_t ranges = 0;  // begun
    uint64_t bytes = 0;   // that came in them
  };

  // A record that was fetched: its row's alone.
  class Taken {
   public:
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    // As DatasetReader::ReadRecord returns it; in memory of this.
    const absl::StatusOr<std::string_view>& bytes() const { return bytes_; }
    Nanos took() const { return took_; }  // its part of the range's time

   private:
    friend class RecordRanges;
    Taken() = default;
    std::shared_ptr<Block> block_;  // that it lies in
    absl::StatusOr<std::string_view> bytes_ = absl::CancelledError("");
    Nanos took_ = 0;
  };

  explicit RecordRanges(Options options) : options_(std::move(options)) {}

  // `stop` ends its ranges.
  void OpenSession(uint64_t id, std::shared_ptr<const LoadJob> job, std::stop_token stop);
  void CloseSession(uint64_t id);

  // Begins what is worth reading, before the session's row `now` is made, as far ahead as `room` bytes hold all
  // records. Never blocks; is short. Not while the session is opened or closed.
  void LookAhead(uint64_t session, const RowRequest& now, const RequestedSpan& asked, uint64_t room, WillAsk will_ask);

  // The record, where it is here; it is the caller's then.
  std::unique_ptr<Taken> Take(const LoadJob& job, uint64_t record);
  // Whether the record is here or under way; then `over` is called once when it is no longer under way: inside this
  // call, or on a thread of the storage.
  bool WhenOver(const LoadJob& job, uint64_t record, Task over);

  // What is kept for the next ranges. Who waits for memory looks here before, with the lock that `wanted` takes.
  uint64_t kept() const { return kept_->load(); }
  // Lets go of what is kept for the next ranges until `bytes` are free. Returns the bytes freed.
  uint64_t GiveKeptBack(uint64_t bytes);
  // The same, then of what is here, that which is wanted last first.
  uint64_t GiveBack(uint64_t bytes);
  // Breaks off what is under way until `bytes` will be free, in the same order: `ended` says when.
  void BreakOff(uint64_t bytes);

  Counts counts() const { return {ranges_.load(), bytes_.load()}; }

 private:
  struct Session;
  class Dropped;
  struct Entry {
    std::shared_ptr<Range> range;
    std::shared_ptr<Block> block;
    uint64_t number = 0;  // in its shard
  };
  struct KeyHash {
    size_t operator()(const CacheKey& key) const { return key.space ^ (key.record * 0x9E3779B97F4A7C15); }
  };

  // Gives the range blocks for what is wanted of it; false: there is no memory. `parts`: of its read.
  bool Allocate(Session* session, uint64_t id, Range* range, std::vector<ReadPart>* parts);
  bool Has(const CacheKey& key);
  // The range around the record, and which of its records are wanted; fewer than two are none.
  std::shared_ptr<Range> Plan(Session* session, uint64_t record, const RequestedSpan::Place& along, WillAsk will_ask);
  // How far ahead a session's records are looked at.
  struct Horizon {
    RequestedSpan::Place begin, along;  // where ranges begin, and what they take along
    bool whole_chunks = false;          // both go on to the end of a window that was begun
    RequestedSpan::Place end;           // of all of it
  };
  // Of its row `at`; `first`: the first that a range may begin with.
  static Horizon HorizonOf(const Session& session, const RequestedSpan::Place& at, const RequestedSpan::Place& first,
                           const RequestedSpan& asked, uint64_t stride, uint64_t room);
  // Has shards opened that the session's next rows need.
  void OpenShards(const Session& session, const LoadJob& job, WillAsk will_ask) const;
  // Whether the session's next record is to be waited for, since its shard is not open yet.
  bool WaitsForShard(Session* session, const LoadJob& job, uint64_t record, WillAsk will_ask) const;
  // Whether one more may be under way, which it is from then on.
  bool Reserve();
  // Begins it, for whom there is room; false: there is no memory.
  bool Begin(Session* session, uint64_t id, const std::shared_ptr<Range>& range);
  void Over(const std::shared_ptr<Range>& range, bool ok);
  // Forgets the range. Who calls has it until the lock is given up: its memory is given back outside.
  void Drop(const std::shared_ptr<Range>& range) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of those that are here, or of those that are not, the one that is wanted last; null: there is none.
  std::shared_ptr<Range> DropLast(bool here) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  const std::shared_ptr<std::atomic<uint64_t>> kept_ = std::make_shared<std::atomic<uint64_t>>(0);
  std::atomic<uint64_t> ranges_{0}, bytes_{0};
  std::atomic<int> under_way_{0};
  Mutex mutex_;
  std::unordered_map<CacheKey, Entry, KeyHash> records_ ABSL_GUARDED_BY(mutex_);  // here or under way
  std::map<uint64_t, std::shared_ptr<Session>> sessions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_RANGES_RECORD_RANGES_H_
