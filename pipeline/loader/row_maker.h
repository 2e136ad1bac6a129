// From a request to a row: one task on one thread, under the job's error policy.
//
//   (cache of rows) or
//   record -> (record cache | cache on disk | storage) -> (decoded cache) -> pipeline -> slot
//
// What a record's fault gets is the job's policy:
//   FAIL        the row's status, with file, record and offset
//   SUBSTITUTE  the content of another record of the same shard, chosen by a permutation that is keyed by (seed,
//               record), up to kMaxSubstitutes of them, then a masked row; the row keeps its id and its draws
//   MASK        a masked row
// A wrong CRC is not yet a fault of the record (LoadJob::verdict()): the record is read again past all caches
// (End::kNotRead with reads->damage), and where this machine's copy is damaged and other workers may have an intact
// one, the row fails under every policy, with MadeRow::damaged_record. A row of more than kMaxRowBytes is a fault of
// its record. What is no record's fault is never covered up: storage that cannot be read (Unavailable, after retries),
// a file that is not the snapshot's (FailedPrecondition) and a row that is too large for the budget (ResourceExhausted)
// are the row's status under every policy, so that the same job gives the same bytes on every machine.
#ifndef PENSTOCK_PIPELINE_LOADER_ROW_MAKER_H_
#define PENSTOCK_PIPELINE_LOADER_ROW_MAKER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/runtime/clock.h"
#include "pipeline/cache/byte_cache.h"
#include "pipeline/cache/disk/disk_cache.h"
#include "pipeline/cache/row_cache.h"
#include "pipeline/loader/decided_records.h"
#include "pipeline/loader/fetched_record.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/ranges/record_ranges.h"
#include "pipeline/loader/row_costs.h"
#include "pipeline/loader/row_request.h"
#include "pipeline/loader/stage_sampler.h"

namespace penstock {

constexpr int kMaxSubstitutes = 8;

// The records whose content may stand for a broken one, in the order in which they are tried: other records of its
// shard, each once, at most kMaxSubstitutes. A pure function of (snapshot, seed, record).
std::vector<uint64_t> SubstitutesOf(const Snapshot& snapshot, uint64_t seed, uint64_t record);

// What one thread keeps from row to row.
struct MakerThread {
  RowScratch scratch;
  RecordBuffer record;  // of records that are not in the cache
  // The plan used last.
  uint64_t plan_session = UINT64_MAX;
  std::optional<EpochPlan> plan;
  StageSampler sampler;
  std::vector<Nanos> stages;  // of the last row that was measured: StageTimes::own
  // When the call of storage's that it is in began; -1: it is in none.
  std::atomic<Nanos>* reading_since = nullptr;  // null: nobody asks
};

struct MakerOptions {
  ByteCache* records = nullptr;  // never null
  ByteCache* decoded = nullptr;
  DiskCache* disk = nullptr;       // null: none
  RowCache* rows = nullptr;        // never null
  RecordRanges* ranges = nullptr;  // null: none
  // Scratch that each thread has beside any row's bytes.
  uint64_t thread_scratch_bytes = 0;
  uint64_t max_row_bytes = kMaxRowBytes;
  int read_tries = 3;  // of a row, where storage fails
  Clock* clock = Clock::Real();
};

// How a row came out.
struct MadeRow {
  absl::Status status;
  bool masked = false;
  bool lenient = false;
  bool substituted = false;
  // Not OK where the record was at fault, whatever became of the row: what is wrong with it, less the place.
  absl::Status fault;
  std::optional<uint64_t> fault_offset;
  // The row failed because this machine's copy of that record is damaged, which says nothing of other copies.
  std::optional<uint64_t> damaged_record;
  uint64_t record_id = 0;
  uint64_t source_record = 0;
  uint64_t missing_record = 0;  // of End::kNotReady and kNotRead
  Nanos read_time = 0;          // of the thread
  Nanos read_began = 0;         // its last read, for who traces
  Nanos read_ended = 0;         // 0: there was none
  // What storage was asked for, and how long it took, on whatever thread.
  uint64_t storage_reads = 0;
  Nanos storage_time = 0;
  uint64_t bytes_read = 0;
  // Of its last attempt, for who counts what caches give.
  RowFrom from = RowFrom::kRecord;
  bool cached_record = false;
  Nanos disk_time = 0;          // of its record, from the cache on disk
  Nanos from_decoded_time = 0;  // of RowFrom::kFilled: on from the decoded image
  uint64_t record_bytes = 0, decoded_bytes = 0, row_bytes = 0;
};

// Immutable, thread-safe.
class RowMaker {
 public:
  explicit RowMaker(const MakerOptions& options) : options_(options) {}

  // Whether the row may use `bytes` in all (record, row, scratch beyond the thread's): asked, with growing numbers,
  // before memory is used. An error fails the row.
  enum class Answer { kYes, kPutBack };
  using Book = absl::FunctionRef<absl::StatusOr<Answer>(uint64_t bytes)>;
  // The slot to write to, always the same one; called only after the memory was booked.
  using GetSlot = absl::FunctionRef<RowSlot*()>;
  // Whether the caller takes a row of the cache as it is, which has FIXED columns alone; else it is copied into the
  // slot.
  using Borrow = absl::FunctionRef<bool(const std::shared_ptr<const CachedRow>& row)>;

  // Whether a cache of records has it.
  bool HasCached(const LoadJob& job, uint64_t record) const;

  // Tells storage of the row's record, unless the cache has it. Does not wait.
  void Announce(const LoadJob& job, uint64_t session, const RowRequest& request, MakerThread* thread) const;

  struct ToBring {
    uint64_t record = 0;
    uint64_t bytes = 0;  // that the row needs for it, as `book` would be asked
  };
  // The row's record, where it must be brought first (End::kNotRead would say so): storage does not answer at once and
  // no cache has it. Nothing too where only Make can tell. Does not wait.
  std::optional<ToBring> RecordToBring(const LoadJob& job, uint64_t session, const RowRequest& request,
                                       MakerThread* thread) const;

  enum class End {
    kMade,
    kPutBack,   // `book` said so; try again later with what it was asked for
    kNotReady,  // the shard of made->missing_record is not ready: try again when it is
    kNotRead,   // made->missing_record must be brought first: try again with it in reads->brought
  };
  // Makes the row, or takes it from the cache of rows. `sharers`: other sessions that read it too. `session` identifies
  // the caller's stream of requests for the plan that `thread` keeps; *reads is the row's, from try to try. Records in
  // `decided` are bad, and are neither read nor looked for in caches. Waits for nothing but storage that answers at
  // once.
  End Make(const LoadJob& job, uint64_t session, const DecidedRecords& decided, const RowRequest& request, int sharers,
           Book book, GetSlot get_slot, Borrow borrow, MakerThread* thread, ReadAttempts* reads, MadeRow* made) const;

 private:
  enum class Attempt { kNone, kRecord, kDamagedCopy, kOther, kPutBack, kNotReady, kNotRead };
  // Bytes of a row and its record of so many.
  static uint64_t NeedOf(const LoadJob& job, uint64_t record_bytes);
  // What the row is known by in the cache of rows; nothing where it is not looked for there.
  std::optional<RowKey> KeyOf(const LoadJob& job, const RowRequest& request, uint64_t record, bool shared) const;
  // One attempt with the content of record `source`.
  Attempt Try(const LoadJob& job, const DecidedRecords& decided, const SampleKey& key, uint64_t source, Book book,
              GetSlot get_slot, MakerThread* thread, ReadAttempts* reads, MadeRow* made) const;
  // Handles a wrong read of record `source`. `damage` (DataLoss): the error of a first read, or the verdict on the
  // copy.
  Attempt DamageOf(const LoadJob& job, uint64_t source, const absl::Status& damage, bool verdict, ReadAttempts* reads,
                   MadeRow* made) const;
  // The record's bytes, `length` of them, in the cache (then *cached holds them), in `brought` (null: it was not), in a
  // range (then *taken has them) or in the thread's buffer; nothing where they must be brought first.
  std::optional<absl::StatusOr<std::string_view>> Read(const LoadJob& job, uint64_t record, uint64_t length,
                                                       MakerThread* thread, const FetchedRecord* brought,
                                                       std::shared_ptr<const std::string>* cached,
                                                       std::unique_ptr<RecordRanges::Taken>* taken,
                                                       MadeRow* made) const;

  const MakerOptions options_;
};

// Bytes that the FIXED columns of a row take in a buffer of its own, and an upper bound of its RAGGED columns when
// the record has `record_bytes`.
uint64_t RaggedBound(const RowSchema& schema, uint64_t record_bytes);

// Makes `slot` the row without content: zeros, no elements, one empty string in `scalar` columns.
void MaskRow(const RowSchema& schema, RowSlot* slot);

// Points the slot's FIXED columns one after another into `bytes` (schema.FixedBytes() of them).
void PointInto(const RowSchema& schema, std::byte* bytes, RowSlot* slot);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_ROW_MAKER_H_
