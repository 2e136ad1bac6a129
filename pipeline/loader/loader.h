// The loader turns positions into rows in booked slots. It knows no gRPC and is usable alone as a C++ library.
//
//   position -> plan -> record -> [budget: one lease] -> read -> parse -> decode -> augment -> slot -> sink
//
// One Loader serves any number of sessions of any number of jobs with a fixed set of threads under one byte budget.
// Within a session, rows start in the order of their steps. Between sessions, the loader shares CPU time by weight.
// Urgent rows go first.
#ifndef PENSTOCK_PIPELINE_LOADER_LOADER_H_
#define PENSTOCK_PIPELINE_LOADER_LOADER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/block_memory.h"
#include "base/runtime/clock.h"
#include "base/runtime/executor.h"
#include "base/shared_row_files.h"
#include "base/trace/trace_recorder.h"
#include "pipeline/batch/row.h"
#include "pipeline/cache/disk/disk_cache.h"
#include "pipeline/loader/budget_lease.h"
#include "pipeline/loader/cache_use.h"
#include "pipeline/loader/job_throttle.h"
#include "pipeline/loader/job_times.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/loader_stats.h"
#include "pipeline/loader/read_ahead/expected_rows.h"
#include "pipeline/loader/row_request.h"
#include "pipeline/plan/steps.h"

namespace penstock::loader {

// A row, or the reason why it has no content. Holds its bytes of the budget until it is destroyed, which may be after
// its session and its loader.
struct RowResult {
  RowResult();
  ~RowResult();
  RowResult(RowResult&&) noexcept;
  RowResult& operator=(RowResult&&) noexcept;

  // Lease on the bytes of the budget that the row holds. The first member, so that they are released last.
  std::unique_ptr<BudgetLease> bytes;
  RowRequest request;
  // Not OK: names the file, and the record and its offset if the error is the record's. The job's policy was already
  // applied.
  absl::Status status;
  bool masked = false;  // policy MASK, or SUBSTITUTE without a substitute: no content, all zero
  bool lenient = false;
  bool substituted = false;
  // Fault of the record of a masked or substituted row (base/fault.h), without the place.
  absl::Status fault;
  std::optional<uint64_t> fault_offset;  // of that record, if it is known
  // The record whose copy on this machine is damaged, if the row failed for that reason. The row then fails under every
  // policy, because another machine may have an intact copy. Never set under DamageVerdict::kOwn.
  std::optional<uint64_t> damaged_record;
  uint64_t record_id = 0;      // record of the position in the plan
  uint64_t source_record = 0;  // record with the content of the row
  // Numbers of these records among all records of their shard. Set if the job selects records; otherwise the snapshot
  // has them.
  std::optional<uint64_t> number, source_number;
  // All FIXED columns in schema order, without gaps, and the RAGGED columns in their encoding, by column. `fixed` is
  // null if the session books its own slots, and for failed and masked rows; in a booked slot, a masked row is zeros.
  // In a masked row, a RAGGED column has no elements, or one empty string if it is a `scalar` column. `ragged` is empty
  // for failed rows and for rows that were borrowed from a cache.
  OwnedBlock fixed;
  std::vector<std::string> ragged;
};

// Receives the rows of a session. The loader calls it on its makers' threads, several at once, and never with one of
// its locks held.
class RowSink {
 public:
  virtual ~RowSink() = default;

  // Delivers a row. May block only briefly, because it occupies one of the loader's threads.
  virtual void OnRow(RowResult row) = 0;

  // Returns the memory for this row, for sessions with LoaderSessionOptions::books_slots. Called at most once for a
  // row, before its content is computed. A row that fails before then is not booked. The slot's pointers must stay
  // valid until OnRow, or until the session is closed.
  virtual batch::RowSlot Book(const RowRequest& request) { return {}; }

  // Drops prepared rows, furthest step first, until it has freed `bytes` or has no row that it may drop, because an
  // urgent row of this session or of another one (`for_others`) needs memory. May keep the rows of the step that the
  // trainer waits for. Returns the bytes freed. The sink requests the dropped rows again when there is room.
  virtual size_t Revoke(size_t bytes, bool for_others) { return 0; }
};

struct LoaderSessionOptions {
  // Most rows of a step in this session's slice. The loader reserves their bytes, and those to make a row, while the
  // session is open.
  uint32_t largest_step_rows = 0;
  uint32_t weight = 1;
  JobCaps caps = {};                        // caps of the job, equal for all of its sessions
  uint64_t end_epoch = plan::kEndNotKnown;  // the reader's end epoch (plan/steps.h)
  ExpectedRows expected = {};               // the rows that the session will request, as far as they are known
  // The loader writes rows into slots that the sink books. The budget counts the FIXED columns of a row only while the
  // row is made.
  bool books_slots = false;
  // The slice of each step that the session reads. Sessions of one job whose slices overlap read the same rows.
  uint64_t rank = 0;
  uint64_t world_size = 1;
  // The budget also counts waiting rows, except the first 64, and the memory of rows beyond their content. For sessions
  // whose requests come from outside, which may request millions of tiny rows.
  bool counts_all = false;
  // Memory for RowResult::fixed while it has room. Null: the heap. The budget counts the bytes in both cases.
  std::shared_ptr<BlockMemory> row_memory = nullptr;
  // Records that are bad for this session. Null: those of the job.
  std::shared_ptr<const DecidedRecords> decided = nullptr;
  // Cached rows that RowResult::fixed may reference instead of a copy. Only for rows without RAGGED columns. The
  // session must not write to such a row.
  enum class Borrow { kNone, kSharedFiles, kAny };  // kSharedFiles: rows in LoaderOptions::shared_row_files
  Borrow borrow = Borrow::kNone;
};

// The steps of a maker: it chooses a row, makes it and delivers it.
enum class MakerStep { kChoose, kMake, kDeliver };

struct LoaderOptions {
  int threads = 0;  // 0: the CPUs of the cgroup's quota
  uint64_t memory_budget_bytes = uint64_t{1} << 30;
  uint64_t record_cache_bytes = 0;  // all three are part of the budget
  uint64_t decoded_cache_bytes = 0;
  uint64_t row_cache_bytes = 0;  // finished rows: of jobs without random draws, and rows that several sessions read
  // Caches whose sizes may change while rows are made (CacheTuning). They begin with the sizes above.
  bool choose_record_cache = false, choose_decoded_cache = false, choose_row_cache = false;
  std::shared_ptr<SharedRowFiles> shared_row_files;  // storage for finished rows; null: the heap
  // Records on this machine's disk, which the loader reads after a miss of the record cache. Null: none. The caller
  // counts DiskCacheOptions::index_bytes and queue_bytes. The budget counts the growth of the index.
  std::shared_ptr<cache::DiskCache> disk_cache;
  // Records of each session that the loader announces to storage before it reads them, so that storage can fetch them.
  int read_ahead_rows = 32;
  // Largest number of records in flight from storage with high latency (Storage::HasLowLatency).
  int reads_under_way = 64;
  // The same for ranges, each of many records that are near each other (read_ahead/record_ranges.h). 0: no ranges.
  int ranges_under_way = 16;
  uint64_t range_bytes = uint64_t{8} << 20;  // largest size of a range; tests use less
  // Limit for small records that were read with a neighbor (read_ahead/small_records.h). A window of the default order
  // has 64 MiB of records of the largest such size. 0: none.
  uint64_t small_records_bytes = uint64_t{64} << 20;
  uint64_t max_row_bytes = kMaxRowBytes;  // tests use less
  Clock* clock = Clock::Real();
  std::shared_ptr<TraceRecorder> trace;  // records rows while it is on; null: none
  // Runs the makers, one task for each of `threads`. Outlives the loader and all rows, and runs tasks until the loader
  // is destroyed. Its tasks may block on storage with low latency. Null: the loader has that many threads of its own.
  Executor* executor = nullptr;
  // For simulations, with an executor on virtual time: the time that passes before a maker's step. Null: none.
  std::function<Nanos(MakerStep step)> step_time = nullptr;
};

// Settings of a loader that may change while it runs. They do not affect the content of rows.
struct LoaderSetting {
  int threads = 1;          // makers that work, at most LoaderOptions::threads; the others wait
  int reads_under_way = 1;  // as in LoaderOptions
};

// Thread-safe, except the destructor.
class Loader {
 public:
  // A client's stream of rows. Thread-safe, except Close() and the destructor.
  class Session {
   public:
    // Unless Close() was called, closes the session and blocks until the loader no longer uses the sink. Do not call it
    // from the sink.
    virtual ~Session() = default;
    // Cancels rows that are not started and returns at once. Calls `quiet` once, inside this call or later on one of
    // the loader's threads. By then, each row in progress was delivered to OnRow, or dropped because it had to wait.
    // The loader no longer uses the sink, and it has just released the session's reserve. Make no other call on the
    // session after this one. The sink's own calls that are in progress may still request rows; the loader drops them.
    virtual void Close(Task quiet) = 0;
    // Adds the first N of `rows` and returns N. Never blocks. N is the number of rows, except with counts_all: then N
    // is limited by memory, but not 0 while fewer than 64 rows wait. Request the others again after some of the
    // accepted rows were delivered.
    virtual size_t Request(const std::vector<RowRequest>& rows) = 0;
    // Replaces LoaderSessionOptions::expected.
    virtual void Expect(ExpectedRows rows) = 0;
    // Reserves memory of the budget that the caller needs for this session, for example for lists of rows to request.
    // Returns null if there is none at present.
    virtual std::unique_ptr<BudgetLease> Reserve(uint64_t bytes) = 0;
    // Announces that the sink may now release rows that it did not release in Revoke.
    virtual void NowRevocable() = 0;
    // Makes rows of steps up to `step` urgent: the trainer waits for them.
    virtual void SetHead(uint64_t step) = 0;
    // Returns the number of rows that were requested and are not made yet. A made row that the sink has not received
    // does not count.
    virtual size_t pending() const = 0;
  };

  // Returns InvalidArgument, with the numbers, if the caches leave no room in the budget. Returns ResourceExhausted if
  // no thread can start. The loader also works with fewer threads than options.threads.
  static absl::StatusOr<std::unique_ptr<Loader>> Create(const LoaderOptions& options);
  // All sessions must be closed. Blocks until no maker runs.
  virtual ~Loader() = default;

  // Returns ResourceExhausted, with the numbers, if the largest step does not fit beside the reserves of the other
  // sessions, or into the job's caps. `sink` must live until the session is closed.
  virtual absl::StatusOr<std::unique_ptr<Session>> OpenSession(std::shared_ptr<const LoadJob> job,
                                                               const LoaderSessionOptions& options, RowSink* sink) = 0;
  // Takes effect at once: surplus threads finish their current row and then idle. Reads in flight continue.
  virtual void Set(const LoaderSetting& setting) {}
  // Follows changes of LoadJob::paused(). Rows in progress continue.
  virtual void PausesChanged() {}
  // Removes what the caches have of ended jobs with this LoadJob::record_space(), on disk too. The bytes in memory
  // include those that were freed within the last minute, because the jobs had ended. Returns Unavailable while a job
  // uses the space. Other errors are those of the disk. Blocks.
  virtual absl::StatusOr<PurgedCaches> PurgeCaches(uint64_t record_space) { return PurgedCaches(); }
  // Changes the sizes of the caches at once. Smaller caches evict entries. Larger ones get the memory that rows do not
  // need. Returns the resulting sizes.
  virtual tuning::CacheSizes SetCaches(const tuning::CacheSizes& sizes) { return {}; }
  // Returns the data for choosing cache sizes. Call it from one place only: each call restarts its measurements.
  virtual CacheUse TakeCacheUse() { return {{{}, true, true, true}, {}, 0, 0, 0, {}}; }
  virtual LoaderStats Stats() const = 0;
  // Returns the times of each existing LoadJob that has or had a session, in no order.
  virtual std::vector<JobTimes> Jobs() const { return {}; }
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_H_
