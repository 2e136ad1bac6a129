// The loader: positions in, rows in booked slots out. It knows no gRPC and is usable alone as a C++ library.
//
//   position -> plan -> record -> [budget: one grab] -> read -> parse -> decode -> augment -> slot -> sink
//
// One Loader serves any number of sessions of any number of jobs with a fixed set of threads under one byte budget.
// Within a session rows are started in the order of their steps; between sessions CPU is shared by weight, and fetched
// rows and rows of a head step go first.
#ifndef PENSTOCK_PIPELINE_LOADER_LOADER_H_
#define PENSTOCK_PIPELINE_LOADER_LOADER_H_

#include <cstddef>
#include <cstdint>
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
#include "pipeline/loader/job_times.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/loader_stats.h"
#include "pipeline/loader/row_request.h"
#include "pipeline/plan/steps.h"

namespace penstock {

// One row, or the reason why there is none. Holds its bytes of the budget until it is destroyed, which may
// be after its session and its loader.
struct RowResult {
  RowResult();
  ~RowResult();
  RowResult(RowResult&&) noexcept;
  RowResult& operator=(RowResult&&) noexcept;

  // What the row holds of the budget: bytes->bytes(). First, so that it is given back last.
  std::unique_ptr<BudgetLease> bytes;
  RowRequest request;
  absl::Status status;  // not OK: names file, record and offset; the job's policy has been applied before
  bool masked = false;  // policy MASK (or SUBSTITUTE found none): no content, all zero
  bool lenient = false;
  bool substituted = false;
  // Of a masked or substituted row: what is wrong with its record (base/fault.h), less the place; and the record's
  // offset, where it is known.
  absl::Status fault;
  std::optional<uint64_t> fault_offset;
  // Where `status` is DataLoss because this machine's copy of that record is damaged, under every policy: the record
  // may be intact elsewhere. Nothing under DamageVerdict::kOwn.
  std::optional<uint64_t> damaged_record;
  uint64_t record_id = 0;      // that the plan gives for the position
  uint64_t source_record = 0;  // whose content it is
  // All FIXED columns in schema order, dense (null where the session books its own slots, and for failed and masked
  // rows; in a booked slot a masked row is zeros), and the RAGGED columns in their encoding, by column (a masked row:
  // no elements, or one empty string in a `scalar` column).
  OwnedBlock fixed;
  std::vector<std::string> ragged;
};

// Where a session's rows go. Called on the loader's threads, never with a loader's lock held.
class RowSink {
 public:
  virtual ~RowSink() = default;

  // The row is ready. May block only briefly: it holds one of the loader's threads.
  virtual void OnRow(RowResult row) = 0;

  // In-process sessions (LoaderSessionOptions::books_slots): the memory for this row, booked before it is computed.
  // Called once before each row; the slot's pointers stay valid until OnRow.
  virtual RowSlot Book(const RowRequest& request) { return {}; }

  // Whether the session will ask for the row, as far as is known: its record may then be fetched with others, long
  // before. False costs no more than that. Many calls a row: short.
  virtual bool WillAsk(uint64_t epoch, uint64_t position, uint64_t record) { return false; }

  // The budget is needed for an urgent row, of another session (`for_others`) or of this one: drop prepared rows,
  // furthest step first, until `bytes` are free or nothing is left to drop, and ask for them again with Request when
  // there is room. Returns the bytes freed.
  virtual size_t Revoke(size_t bytes, bool for_others) { return 0; }
};

struct LoaderSessionOptions {
  uint32_t largest_step_rows = 0;  // of this session's slice; its bytes are reserved while the session is open
  uint32_t weight = 1;
  uint64_t end_epoch = kEndNotKnown;  // the first that it is not going to read, or kWithoutEnd
  bool books_slots = false;  // rows are written into slots that the sink books; their bytes are not the budget's
  // Whose slice of each step it reads: sessions of one job whose slices overlap read the same rows.
  uint64_t rank = 0;
  uint64_t world_size = 1;
  // What is asked for is an outsider's choice: rows that wait, and what rows take beside their content, are the
  // budget's too, so that millions of tiny rows are.
  bool counts_all = false;
  // Where RowResult::fixed is to lie while there is room; null: the heap. The bytes are the budget's all the same.
  std::shared_ptr<BlockMemory> row_memory = nullptr;
  // Records that are bad for this session; null: those of the job.
  std::shared_ptr<const DecidedRecords> decided = nullptr;
  // Rows of the cache that RowResult::fixed may be a view of instead of a copy, where they have no RAGGED columns: such
  // a row is only read.
  enum class Borrow { kNone, kLent, kAny };  // kLent: those in LoaderOptions::lent_rows
  Borrow borrow = Borrow::kNone;
};

struct LoaderOptions {
  int threads = 0;  // 0: the CPUs that the cgroup's quota gives
  uint64_t memory_budget_bytes = uint64_t{1} << 30;
  uint64_t record_cache_bytes = 0;  // all three inside the budget
  uint64_t decoded_cache_bytes = 0;
  uint64_t row_cache_bytes = 0;  // finished rows: of jobs that draw nothing, and those that several sessions read
  // Those whose sizes may be chosen while rows are made (CacheTuning); they begin as above.
  bool choose_record_cache = false, choose_decoded_cache = false, choose_row_cache = false;
  std::shared_ptr<SharedRowFiles> lent_rows;  // where finished rows are kept; null: on the heap
  // Records on this machine's disk, behind the cache in memory; null: none. Its memory is the caller's to count.
  std::shared_ptr<DiskCache> disk_cache;
  // Storage is told of so many records of each session before they are read, so that it brings them meanwhile.
  int read_ahead_rows = 32;
  // Records under way at once from storage that does not answer at once (Storage::HasLowLatency).
  int reads_under_way = 64;
  // The same of ranges, each of many records that are near each other (ranges/record_ranges.h); 0: none are read.
  int ranges_under_way = 16;
  uint64_t range_bytes = uint64_t{8} << 20;  // of one, at most; lower in tests alone
  uint64_t max_row_bytes = kMaxRowBytes;     // lower in tests alone
  Clock* clock = Clock::Real();
  std::shared_ptr<TraceRecorder> trace;  // of rows, while it is on; null: none
};

// What of a loader can be set while it runs. Whatever is set, rows are the same.
struct LoaderSetting {
  int threads = 1;          // that make rows, of LoaderOptions::threads at the most; the others wait
  int reads_under_way = 1;  // as LoaderOptions has it
};

class Loader {
 public:
  // One client's stream of rows. Thread-safe.
  class Session {
   public:
    // Closes, and waits for the rows that are being made (their OnRow comes first), unless Close was called.
    virtual ~Session() = default;
    // Cancels what is not started and returns at once. `quiet` is called once, inside this call or later on one of the
    // loader's threads: when the rows that were being made have come to OnRow and the sink is not touched any more; the
    // reserve is given back just before. Nothing else is called on the session afterwards, but for what the sink's own
    // calls that are under way ask for: that is dropped.
    virtual void Close(Task quiet) = 0;
    // Adds rows to make and returns how many it took: the first so many. Never blocks. It takes all, or, with
    // counts_all, as many as there is memory for, and always some while few wait; the rest is to be asked for again
    // when some of those that were taken have come.
    virtual size_t Request(const std::vector<RowRequest>& rows) = 0;
    // Memory of the budget for what the caller keeps for this session, lists of rows to ask for; null where there is
    // none now.
    virtual std::unique_ptr<BudgetLease> Hold(uint64_t bytes) = 0;
    // The sink may give back now what it did not give back when it was asked.
    virtual void NowRevocable() = 0;
    // Rows of steps up to `step` have become urgent: the trainer waits.
    virtual void SetHead(uint64_t step) = 0;
    // Rows asked for and not yet handed to the sink.
    virtual size_t pending() const = 0;
  };

  // InvalidArgument where the caches leave no room in the budget, with the numbers.
  static absl::StatusOr<std::unique_ptr<Loader>> Create(const LoaderOptions& options);
  virtual ~Loader() = default;  // all sessions must be gone

  // ResourceExhausted, with the numbers, when the largest step does not fit beside the other sessions' reserves.
  // `sink` must outlive the session.
  virtual absl::StatusOr<std::unique_ptr<Session>> OpenSession(std::shared_ptr<const LoadJob> job,
                                                               const LoaderSessionOptions& options, RowSink* sink) = 0;
  // At once: a thread too many makes its row, and no other; reads that are under way go on. Thread-safe.
  virtual void Set(const LoaderSetting& setting) {}
  // Other sizes of the caches, now: smaller ones let go of what they have too much, larger ones take what rows do not
  // need. Returns the sizes that there are then. Thread-safe.
  virtual CacheSizes SetCaches(const CacheSizes& sizes) { return {}; }
  // What their sizes may be chosen by; for one caller.
  virtual CacheUse TakeCacheUse() { return {{{}, true, true, true}, {}, 0, 0, 0, {}}; }
  virtual LoaderStats Stats() const = 0;
  // Of each job with a session now, or of late, by name.
  virtual std::vector<JobTimes> Jobs() const { return {}; }
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_H_
