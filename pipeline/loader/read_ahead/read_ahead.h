// Decides which records of a session to read before their rows are made, how, and with how many bytes.
//
//   hint   the next requested rows: storage, or the disk cache, prepares for a read
//   read   requested rows, if storage has high latency: the record alone, into memory of its row
//   range  expected rows, requested or not, if storage has high latency: records near each other in a shard, in one
//          read, into memory of their own
//
// The caller passes the state of the loader, and executes the decisions. ReadAhead calls no session: ExpectedRows
// describes the rows that it will request.
#ifndef PENSTOCK_PIPELINE_LOADER_READ_AHEAD_READ_AHEAD_H_
#define PENSTOCK_PIPELINE_LOADER_READ_AHEAD_READ_AHEAD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/read_ahead/expected_rows.h"
#include "pipeline/loader/read_ahead/look_pace.h"
#include "pipeline/loader/read_ahead/range_plan.h"
#include "pipeline/loader/read_ahead/requested_span.h"
#include "pipeline/plan/epoch_plan.h"
#include "pipeline/sources/shard_index.h"

namespace penstock::loader {

// The nearest place that has a record, or a row that was made of it.
enum class RecordPlace { kMemory, kDiskCache, kStorage };

// Records of one shard to read at once.
struct RangeRead {
  uint32_t shard = 0;
  uint64_t shard_first = 0;  // number in the snapshot of the shard's first record
  RecordRange records;
  std::vector<uint64_t> wanted;  // numbers in the shard of the wanted records
  RequestedSpan::Place end;      // position at which the last of them is needed
};

// The look-ahead of one session. It has no lock, I/O or clock. A thread with a Turn is its only user. The static
// functions are pure.
class ReadAhead {
 public:
  using Place = RequestedSpan::Place;

  // Limits of a loader. `reads` and `ranges` are for all of its sessions together.
  struct Limits {
    int hinted_rows = 32;    // next requested rows of a session that get a hint
    int reads = 64;          // single records in flight
    int ranges = 16;         // ranges in flight; 0: no ranges
    RangeLimits range = {};  // limits of one range
  };

  // A thread's right to look ahead. One thread at a time has it. A thread without it makes its row without a look.
  class Turn {
   public:
    explicit Turn(ReadAhead* ahead) : ahead_(ahead->looking_.exchange(true) ? nullptr : ahead) {}
    ~Turn() {
      if (ahead_ != nullptr) ahead_->looking_.store(false);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool granted() const { return ahead_ != nullptr; }

   private:
    ReadAhead* const ahead_;
  };

  ReadAhead(std::shared_ptr<const LoadJob> job, const RangeLimits& limits);

  // A hint is useful if reads take at least kSlowRead. Otherwise the page cache has the records, and the loader skips
  // up to kMostHintsSkipped looks for hints.
  static constexpr Nanos kSlowRead = 20'000;
  static constexpr int kMostHintsSkipped = 15;
  // Returns how to read a requested row's record ahead.
  enum class Way { kNone, kHintDiskCache, kHintStorage, kRead };
  static Way WayOf(RecordPlace place, bool low_latency);

  // Returns the bytes that must be free before a record is read alone. `row_bytes` are those of its row, which holds
  // the record. The rest leaves `estimate` bytes for the row of each of `makers` makers.
  static uint64_t BytesForRead(uint64_t row_bytes, int makers, uint64_t estimate);
  // Returns the bytes that the ranges of all sessions may hold: half of the memory that is not reserved. Rows in
  // progress are worth more than records ahead of them.
  static uint64_t BytesForRanges(uint64_t total, uint64_t reserved) { return (total - reserved) / 2; }

  // Requested rows that one look for reads examines: far more than makers make between two looks.
  static constexpr int kRowsAtOnce = 16;
  // Returns whether a look for reads may begin. Looks are skipped after one that examined kRowsAtOnce rows and began no
  // read.
  bool BeginsReads() { return !reads_pace_.Skips(); }
  // Ends the look, which examined `examined` rows and began `begun` reads.
  void EndReads(int examined, int begun);

  // Returns whether all rows up to `end` are probably made, judged by the session's current row `at`. Rows are not made
  // in the order of their positions, so `at` must be well beyond `end`. A row that has not taken its record from a
  // range by then was made without it, for example from a cache.
  static bool HavePassed(const Place& end, const Place& at);

  // Records of the job, for decisions about ranges. Fast calls that never block.
  class Records {
   public:
    virtual ~Records() = default;
    // Returns whether the record is cached, or in a range that is here or in flight.
    virtual bool Has(uint64_t record) const = 0;
    // Returns whether the shard of the record is open.
    virtual bool IsOpen(uint64_t record) const = 0;
    // Starts to open the shard of the record.
    virtual void Open(uint64_t record) = 0;
    // Returns the index of an open shard, or null if its records cannot be read several at a time.
    virtual std::shared_ptr<const sources::ShardIndex> IndexOf(uint32_t shard) const = 0;
  };
  // State of the loader when a look for ranges begins.
  struct Known {
    Place at;  // the row that is made
    RequestedSpan requested;
    std::shared_ptr<const ExpectedRows> expected;
    uint64_t bytes = 0;  // limit for the ranges of this session
    Nanos now = 0;
  };
  // One look for ranges, during a turn.
  class RangeLook {
   public:
    RangeLook(ReadAhead* ahead, const Known& known, Records* records);
    // Returns the next range to read, or nullopt if this look is over. The look goes only as far as
    // `Known::bytes` can hold the records of all rows in between. It may finish a shuffle window that was started.
    std::optional<RangeRead> Next();
    // Call this if the range of the last Next() could not begin. A later look returns it again.
    void NotBegun();

   private:
    // Distance of the look.
    struct Horizon {
      Place begin, along;         // limits for the first record of a range, and for its other records
      bool whole_chunks = false;  // both extend to the end of a window that was started
      Place end;                  // limit for both
    };
    Horizon HorizonFrom(const Place& first, uint64_t stride) const;
    bool Wants(const Place& place, uint64_t record) const;
    // Returns whether the look must wait, because the shard of the record at `next_` is not open yet.
    bool WaitsForShard(uint64_t record);
    // Starts to open the shards of the session's next rows.
    void OpenShards();
    // Returns the range around the record at `next_`. Returns nullopt if its shard is not open or has no ranges, or if
    // the range has fewer than two wanted records or is larger than the limit.
    std::optional<RangeRead> RangeAround(uint64_t record, const Place& along) const;

    ReadAhead& ahead_;
    const Known& known_;
    Records& records_;
    const LoadJob& job_;
    Place& next_;
    Horizon horizon_;
    int left_ = 0;  // positions to examine
  };

 private:
  const std::shared_ptr<const LoadJob> job_;
  const RangeLimits limits_;
  std::atomic<bool> looking_{false};
  // Used during a Turn.
  LookPace reads_pace_, ranges_pace_;
  std::shared_ptr<const ExpectedRows> expected_;  // the description that `next_` follows
  std::optional<plan::EpochOrder> plan_;          // plan for the epoch of `next_`
  Place next_;                                    // next position to examine for ranges
  bool returned_ = false;                         // the range at `next_` was returned
  Place shuffled_upto_;                           // EpochOrder::ShuffledUpTo of `next_`
  Nanos waits_since_ = 0;                         // start of the wait for a shard to open; 0: none
  Nanos no_waits_until_ = 0;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_READ_AHEAD_READ_AHEAD_H_
