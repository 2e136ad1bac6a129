// Makes a row from a request: one task on one thread, under the job's error policy.
//
//   (cache of rows) or
//   record -> (record cache | disk cache | storage) -> (decoded cache) -> pipeline -> slot
//
// The job's policy decides about a bad record:
//   FAIL        the row fails with a status that names file, record and offset
//   SUBSTITUTE  the row gets the content of another record of the same shard, chosen by a permutation with the key
//               (seed, record). After up to kMaxSubstitutes bad substitutes, the row is masked. The row keeps its id
//               and its random draws
//   MASK        the row is masked
// A row with more than kMaxRowBytes is a fault of its record.
//
// A wrong CRC does not yet make a record bad (LoadJob::verdict()). The record is first read again past all caches
// (End::kNotRead with RowTask::Progress::damage). If this machine's copy is damaged and other workers may have an
// intact one, the row fails under every policy, with MadeRow::damaged_record.
//
// Other errors are the row's status under every policy: storage that cannot be read (Unavailable, after retries), a
// file that is not the snapshot's (FailedPrecondition), and a row that is too large for the budget (ResourceExhausted).
// So the same job yields the same bytes on every machine.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_MAKER_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_MAKER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/runtime/clock.h"
#include "pipeline/cache/byte_cache.h"
#include "pipeline/cache/disk/disk_cache.h"
#include "pipeline/cache/row_cache.h"
#include "pipeline/loader/decided_records.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/read_ahead/read_ahead.h"
#include "pipeline/loader/read_ahead/record_ranges.h"
#include "pipeline/loader/read_ahead/small_records.h"
#include "pipeline/loader/row_costs.h"
#include "pipeline/loader/row_request.h"
#include "pipeline/loader/row_task.h"
#include "pipeline/loader/stage_sampler.h"

namespace penstock::loader {

constexpr int kMaxSubstitutes = 8;

// Returns the records whose content may replace a bad one, in the order in which they are tried: other records of its
// shard, each once, at most kMaxSubstitutes. In a balanced data set they are of its group, unless it is the only one of
// its group in the shard. A pure function of the snapshot, the record, and key.seed and record_id.
std::vector<uint64_t> SubstitutesOf(const sources::Snapshot& snapshot, const SampleKey& key, uint64_t record);

// State that a maker keeps from row to row, on whichever thread it runs.
struct MakerContext {
  augment::RowScratch scratch;
  RecordBuffer record;  // for records that are not in the cache
  // The plan used last.
  uint64_t plan_session = UINT64_MAX;
  std::optional<plan::EpochOrder> plan;
  uint64_t planned_rows = 0;  // rows whose place in a plan was found, until the loader takes the count
  StageSampler sampler;
  std::vector<Nanos> stages;  // StageTimes::own of the last row that was measured
  // Start of the call of storage in progress; -1: none.
  std::atomic<Nanos>* reading_since = nullptr;  // null: not recorded
};

struct MakerOptions {
  cache::ByteCache* records = nullptr;  // never null
  cache::ByteCache* decoded = nullptr;
  cache::DiskCache* disk = nullptr;  // null: none
  cache::RowCache* rows = nullptr;   // never null
  RecordRanges* ranges = nullptr;    // null: none
  SmallRecords* small = nullptr;     // null: records of storage with low latency are read alone
  // Scratch memory of each thread, not counted as bytes of a row.
  uint64_t thread_scratch_bytes = 0;
  uint64_t max_row_bytes = kMaxRowBytes;
  int read_attempts = 3;  // per row, if its storage fails
  Clock* clock = Clock::Real();
};

// Result of one try to make a row.
struct MadeRow {
  absl::Status status;
  bool masked = false;
  bool lenient = false;
  bool substituted = false;
  // Fault of the record, without the place. Not OK if the record was bad, whatever the policy made of the row.
  absl::Status fault;
  std::optional<uint64_t> fault_offset;
  // The record whose copy on this machine is damaged, if the row failed for that reason. Other copies may be intact.
  std::optional<uint64_t> damaged_record;
  uint64_t record_id = 0;
  uint64_t source_record = 0;
  std::optional<uint64_t> number, source_number;  // as in RowResult
  uint64_t missing_record = 0;                    // for End::kNotReady and kNotRead
  Nanos read_time = 0;                            // time of the thread
  Nanos read_began = 0;                           // start of the last read, for traces
  Nanos read_ended = 0;                           // 0: no read
  uint64_t own_reads = 0;                         // requests to storage by the thread itself
  // Requests to storage and the time of their answers, on all threads.
  uint64_t storage_reads = 0;
  Nanos storage_time = 0;
  uint64_t bytes_read = 0;
  // Values of the last attempt, for the measurements of caches.
  RowFrom from = RowFrom::kRecord;
  bool cached_record = false;
  Nanos disk_time = 0;          // to read its record from the disk cache
  Nanos from_decoded_time = 0;  // of RowFrom::kFilled: from the decoded image to the row
  uint64_t record_bytes = 0, decoded_bytes = 0, row_bytes = 0;
};

// Immutable, thread-safe. A task belongs to one caller at a time.
class RowMaker {
 public:
  explicit RowMaker(const MakerOptions& options) : options_(options) {}

  // The memory of a row that is made.
  enum class Answer { kYes, kPutBack };
  class Memory {
   public:
    virtual ~Memory() = default;
    // Reserves `bytes` in total for the row (record, row, scratch memory beyond the thread's) before the memory is
    // used. A total below an earlier one releases nothing. An error fails the row.
    virtual absl::StatusOr<Answer> Reserve(uint64_t bytes) = 0;
    // Returns the row's slot, the same one in each call. Called after Reserve().
    virtual batch::RowSlot* Slot() = 0;
    // Returns whether the caller uses this cached row, which has only FIXED columns, as it is. Otherwise it is copied
    // into the slot.
    virtual bool Borrow(const std::shared_ptr<const cache::CachedRow>& row) = 0;
  };

  // Returns the nearest place that has the record, or a finished row of it.
  RecordPlace PlaceOf(const LoadJob& job, uint64_t record) const;
  // Returns the record of a row, or nullopt if the epoch has no such position.
  std::optional<uint64_t> RecordOf(const LoadJob& job, uint64_t session, const RowRequest& request,
                                   MakerContext* context) const;
  // Announces a read of the record to the disk cache. Requires a disk cache. Has no effect if the record is not there,
  // or its shard is not ready. Never blocks.
  void HintDiskCache(const LoadJob& job, uint64_t record) const;

  struct ToFetch {
    uint64_t record = 0;
    uint64_t bytes = 0;  // memory that the row needs with this record
  };
  // Returns the row's record if it must be fetched first (Make would return End::kNotRead): its storage has high
  // latency and no cache has it. Also returns nullopt if only Make() can decide. Never blocks. Finds the row's place in
  // the plan, for Make.
  std::optional<ToFetch> RecordToFetch(const LoadJob& job, RowTask* task, MakerContext* context) const;

  enum class End {
    kMade,
    kPutBack,   // Memory::Reserve answered kPutBack: try again when that much memory is available
    kNotReady,  // the shard of made->missing_record is not ready: try again when it is
    kNotRead,   // made->missing_record must be fetched first: try again with it in task->fetched
  };
  // Makes the row, or takes it from the cache of rows. Resumes where the last try stopped (RowTask::Progress).
  // `sharers`: other sessions that read the row. Records in `decided` are bad; they are neither read nor looked up in
  // caches. Blocks only on storage with low latency and on the disk cache.
  End Make(const LoadJob& job, const DecidedRecords& decided, int sharers, Memory* memory, MakerContext* context,
           RowTask* task, MadeRow* made) const;

 private:
  class Try;

  // Finds the row's place in the plan: the record, the draws and the key in the cache of rows. Returns false if the
  // epoch has no such position.
  bool Plan(const LoadJob& job, int sharers, MakerContext* context, RowTask* task) const;

  const MakerOptions options_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_MAKER_H_
