// The loader's shared state: sessions, waiting rows, budget and counters behind one lock, and the work of its makers.
// Internal to the loader; other code uses loader.h. Sessions, requests and counters are in loader_core.cc, the work of
// makers in loader_work.cc, parked rows in loader_parked.cc, reads ahead in loader_ahead.cc, memory in
// loader_memory.cc, and caps in loader_caps.cc.
//
// A maker is a task of the executor that makes rows in steps: it chooses, makes, delivers, and chooses again. Without a
// row it ends. WakeOne() posts it again. It takes one row at a time, or several of a session whose rows are cheap
// (RowScheduler::PickMore). So the lock costs little if a row takes only microseconds.
#ifndef PENSTOCK_PIPELINE_LOADER_LOADER_CORE_H_
#define PENSTOCK_PIPELINE_LOADER_LOADER_CORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "pipeline/cache/row_cache.h"
#include "pipeline/loader/budget_lease.h"
#include "pipeline/loader/busy_times.h"
#include "pipeline/loader/cache_use.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/loader_activity.h"
#include "pipeline/loader/loader_caches.h"
#include "pipeline/loader/maker_states.h"
#include "pipeline/loader/memory_budget.h"
#include "pipeline/loader/read_ahead/read_ahead.h"
#include "pipeline/loader/read_slots.h"
#include "pipeline/loader/row_maker.h"
#include "pipeline/loader/row_scheduler.h"
#include "pipeline/loader/row_task.h"

namespace penstock::loader {

// Thread-safe. The loader, its sessions, and every row that holds bytes of the budget share it.
class LoaderCore final : public BudgetLease::Owner, public std::enable_shared_from_this<LoaderCore> {
 public:
  struct Sizes {
    int makers = 1;
    uint64_t rows_bytes = 0;           // budget for rows
    uint64_t maker_scratch_bytes = 0;  // per maker, in addition to rows_bytes
  };
  // `executor` runs the makers and outlives them.
  LoaderCore(const LoaderOptions& options, const Sizes& sizes, Executor* executor);

  absl::StatusOr<uint64_t> OpenSession(std::shared_ptr<const LoadJob> job, const LoaderSessionOptions& options,
                                       RowSink* sink);
  // Drops the session's rows that are not started. Calls `quiet` when the sink has returned from its last call: inside
  // this call, or on the thread of that last call.
  void CloseSession(uint64_t id, Task quiet) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t Request(uint64_t id, const std::vector<RowRequest>& rows);
  void Expect(uint64_t id, ExpectedRows rows);
  std::unique_ptr<BudgetLease> Reserve(uint64_t id, uint64_t bytes);
  void NowRevocable();
  void SetHead(uint64_t id, uint64_t step);
  size_t Pending(uint64_t id);

  // Call this once, before the first session.
  void Start();
  // Ends all makers and waits for those that run. All sessions must be closed.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Call this after Stop(). Delivered rows, and reads that end late, keep this object alive but not the disk cache.
  void LetDiskCacheGo() { caches_.ReleaseDisk(); }

  void Set(const LoaderSetting& setting);
  void PausesChanged();
  absl::StatusOr<PurgedCaches> PurgeCaches(uint64_t record_space) ABSL_LOCKS_EXCLUDED(mutex_) {
    return caches_.Purge(record_space);
  }
  tuning::CacheSizes SetCaches(const tuning::CacheSizes& sizes) ABSL_LOCKS_EXCLUDED(mutex_) {
    return caches_.SetSizes(sizes);
  }
  CacheUse TakeCacheUse() ABSL_LOCKS_EXCLUDED(mutex_);
  LoaderStats Stats();
  std::vector<JobTimes> Jobs();
  void Release(uint64_t account, uint64_t bytes) override;

 private:
  class RowMemory;
  class ShardWaiter;
  struct OpenedSession {
    uint64_t id = 0;
    std::shared_ptr<const LoadJob> job;
    LoaderSessionOptions options;
    RowSink* sink = nullptr;
    // Guarded by the core's lock:
    std::shared_ptr<JobActivity> activity;
    uint64_t overhead = 0;             // bytes of a finished row in addition to its content
    uint64_t estimate = 0;             // bytes to reserve for a row about which nothing is known
    uint64_t listed = 0;               // bytes of the budget for waiting rows
    std::unique_ptr<ReadAhead> ahead;  // for makers, during a ReadAhead::Turn
    RequestedSpan requested;
    std::shared_ptr<const ExpectedRows> expected;  // never null
    int calls = 0;                                 // rows in progress or in delivery, and revocations
    int making = 0;                                // rows in progress
    // Rows outside the scheduler's queue that no maker has, by TaskId::number: they wait for their shard, their record,
    // a read slot or another session.
    std::unordered_map<uint64_t, std::unique_ptr<RowTask>> parked;
    LookPace hints_pace{ReadAhead::kMostHintsSkipped};  // for LookAhead
    std::stop_source stop_reads;
    int shares = 0;  // other sessions that read rows of this one
    bool closing = false;
    Task quiet;  // of CloseSession
  };
  // A session whose last call has ended. Finish() ends it without the lock.
  struct Closed {
    std::shared_ptr<OpenedSession> session;
  };
  // Result of one try to make a row.
  struct Outcome {
    RowMaker::End end = RowMaker::End::kMade;
    uint64_t need = 0;
    uint64_t kept = 0;  // bytes that the finished row holds
    Nanos took = 0;
    std::vector<Nanos> stages;  // StageTimes::own, if its stages were measured
    MadeRow made;
  };
  // A row that a maker has.
  struct TakenRow {
    std::unique_ptr<RowTask> task;        // null: parked, in the scheduler's queue, or delivered
    uint64_t held = 0;                    // reserved bytes
    int sharers = 0;                      // other sessions that read this row
    std::optional<cache::RowKey> making;  // the row for which they wait
    Outcome outcome;
    RowResult result;  // for the sink
  };
  // The rows of one session that a maker has.
  struct Work {
    std::shared_ptr<OpenedSession> session;  // null: none
    std::vector<TakenRow> rows;
    std::vector<RowRequest> ahead;  // rows whose records may be read ahead
    RequestedSpan requested;        // by the session so far
    std::shared_ptr<const ExpectedRows> expected;
    uint64_t range_bytes = 0;  // bytes for ranges of all sessions
    bool fetch_ahead = false;  // records of rows after these may be fetched now
  };
  // A parked row whose record is fetched.
  struct Fetching {
    TaskId id;
    std::shared_ptr<const LoadJob> job;
    RowRequest request;
    std::shared_ptr<FetchedRecord> fetched;
    std::stop_token stop;
    uint64_t record = 0;
    uint64_t held = 0;  // bytes that belong to the row until it is made
  };
  // Work of a maker without the lock, after its rows were counted.
  struct AfterMaking {
    std::vector<Fetching> reads;
    std::vector<std::pair<uint64_t, std::shared_ptr<ReadyWaiter>>> waits;  // for the shards of records
  };
  // Only the maker's task uses it, while the maker runs.
  struct Maker {
    int number = 0;
    MakerStep next = MakerStep::kChoose;
    Work work;
    MakerContext context;
  };
  // The work of a maker outside the lock, after it has chosen.
  struct Turn {
    enum class Next { kEnd, kChoose, kMake };
    Next next = Next::kChoose;
    std::optional<Closed> closed;
    uint64_t release_kept = 0;                        // bytes to release of cached blocks of ranges
    std::optional<RowScheduler::Blocked> revoke_for;  // a row that waits for memory
  };

  // Owner of leases for callers' lists, or for records that were fetched ahead.
  class ListOwner final : public BudgetLease::Owner {
   public:
    ListOwner(LoaderCore* core, bool ranges) : core_(core), ranges_(ranges) {}
    void Release(uint64_t account, uint64_t bytes) override { core_->ReleaseList(account, bytes, ranges_); }

   private:
    LoaderCore* const core_;
    const bool ranges_;
  };
  // Counts the index of the disk cache as it grows, up to a quarter of the memory for rows and caches.
  class IndexMemory final : public cache::DiskIndexMemory {
   public:
    explicit IndexMemory(LoaderCore* core) : core_(core) {}
    bool ReserveIndex(uint64_t bytes) override { return core_->ReserveIndex(bytes); }
    void ReleaseIndex(uint64_t bytes) override { core_->ReleaseIndex(bytes); }

   private:
    LoaderCore* const core_;
  };
  // The memory of rows, for the caches.
  class CachesRows final : public LoaderCaches::RowMemory {
   public:
    explicit CachesRows(LoaderCore* core) : core_(core) {}
    void RestartPeak(uint64_t cached) override { core_->RestartPeak(cached); }
    uint64_t Raise(uint64_t bytes) override { return core_->RaiseRows(bytes); }
    uint64_t Lower(uint64_t bytes) override { return core_->LowerRows(bytes); }

   private:
    LoaderCore* const core_;
  };
  void RestartPeak(uint64_t cached) ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t RaiseRows(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t LowerRows(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  bool ReserveIndex(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void ReleaseIndex(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void ReleaseList(uint64_t account, uint64_t bytes, bool ranges) ABSL_LOCKS_EXCLUDED(mutex_);
  bool WaitsForMemory() ABSL_LOCKS_EXCLUDED(mutex_);
  std::unique_ptr<BudgetLease> ReserveRange(uint64_t id, uint64_t bytes, uint64_t requests) ABSL_LOCKS_EXCLUDED(mutex_);
  RecordRanges::Options RangesOptions();
  // Releases the memory for waiting rows that no row needs any longer.
  void TrimListed(OpenedSession* session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Releases the memory of a waiting row for rows that lack memory. Returns false if no such row holds memory.
  bool ReleaseHolder(const std::optional<RowScheduler::Blocked>& blocked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void CountLimited() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Updates which sessions' rows are held (JobThrottle). Call this before a maker picks a row.
  void HoldRows() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Sets a timer that wakes a maker when held rows may start, unless one is set for that time or before it.
  void WakeForHeldRows() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Posts an idle maker, if there is one. Call this after a change by which a row may be ready to start.
  void WakeOne() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!states_.idle().empty()) WakeOne();
  }
  // Wakes a maker if rows wait.
  void WakeForRows() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!scheduler_.empty()) WakeOne();
  }
  // Posts a maker that runs from now on.
  void Post(int maker);
  // Runs a maker until it has nothing to do.
  void Run(Maker* maker) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does the maker's next step. Returns false if the maker has ended. Another thread may then run it already.
  bool Step(Maker* maker) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the maker's run. The caller must not use the maker without the lock afterwards.
  void EndRun(int maker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Turn NextTurn(Maker* maker) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the picked row to a maker's work. Returns false if the row now waits for another session.
  bool TakeRow(std::unique_ptr<RowTask> task, Work* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Prepares the work of a maker that has taken its rows. `blocked` is that of the choice.
  void BeginWork(const std::optional<RowScheduler::Blocked>& blocked, Maker* maker, Turn* turn)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Make the maker free memory for a row that waits for it: by revocations, or by releasing cached blocks of ranges.
  // Return false if there is nothing to free.
  bool StartsRevoking(const RowScheduler::Blocked& blocked, Turn* turn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool StartsReleasing(const RowScheduler::Blocked& blocked, Turn* turn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the bytes that a row reserves at its start. A row that needs more than its session can ever have starts
  // too, and fails.
  uint64_t StartBytes(const RowTask& row) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  RowScheduler::Need NeedOf(const RowTask& row, const RowScheduler::Blocked* behind) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the maker's rows. Returns whether any is to be delivered; the others wait.
  bool Make(Maker* maker) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes one of them.
  void MakeRow(Maker* maker, TakenRow* row) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does one try of MakeRow. `timed` and `traced`: measures its stages, with spans.
  void TryRow(Maker* maker, bool timed, bool traced, TakenRow* row) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets when the session looks for hints again, after a maker made its rows. `hinted`: its look gave hints.
  static void PaceHints(const Work& work, bool hinted);
  // Counts a row after a try to make it. If it is not made, it waits from now on.
  void EndRow(OpenedSession* session, TakenRow* row, AfterMaking* after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Deliver(Maker* maker) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the time of idle makers since the last call to the state that each job was in. Call this before that state
  // changes. Skips calls in quick succession, except with `always`.
  void LookAtIdle(bool always = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Updates the counters, and the session's estimates, after a row was made.
  void Count(const Outcome& outcome, const RowRequest& row, OpenedSession* session)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Updates the measurements of the caches' benefit after a row was made.
  void CountCost(const MadeRow& made, Nanos took, OpenedSession* session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Parks the row and returns true if another maker has it. When that maker has ended, the row is in the cache, or this
  // session makes it. Otherwise returns false; other sessions then wait for this row until EndMaking().
  bool WaitsForOther(OpenedSession* session, TakenRow* row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndMaking(TakenRow* row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds `change` to the counts of the session and of each session that reads the same rows.
  void CountShares(OpenedSession* session, int change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Parks a row in this state.
  RowTask* Park(OpenedSession* session, std::unique_ptr<RowTask> row, RowState state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Parks a row before its record is fetched, and adds the object that receives the record. Counts a read in flight.
  RowTask* ParkToRead(OpenedSession* session, std::unique_ptr<RowTask> row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Parks a row until its shard is ready. Pass the result to DatasetReader::WhenReady.
  std::shared_ptr<ReadyWaiter> ParkForShard(OpenedSession* session, std::unique_ptr<RowTask> row)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does the same for a parked row whose read could not begin. Returns null if the row was removed with its session.
  std::shared_ptr<ReadyWaiter> AwaitShard(TaskId id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns a parked row to the scheduler. `hold` is that of ReadyWaiter::OnReady.
  void Unpark(TaskId id, std::shared_ptr<const void> hold) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does the same with the lock held. Returns false if the row was removed with its session.
  bool UnparkHere(TaskId id, std::shared_ptr<const void> hold) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Hints storage about the records of the session's next rows, and starts ranges, before the maker makes its rows.
  // Returns whether it gave a hint.
  bool LookAhead(Maker* maker) ABSL_LOCKS_EXCLUDED(mutex_);
  // Starts to read the records of requested rows, after the maker has made a row. Otherwise storage would be idle while
  // the makers make rows whose records are here.
  void ReadRequested(OpenedSession* session, MakerContext* context) ABSL_LOCKS_EXCLUDED(mutex_);
  static Fetching FetchingOf(const OpenedSession& session, const RowTask& row, uint64_t record, uint64_t held);
  // Fetches the record of a parked row.
  void Fetch(Fetching row) ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a read for a session's row. It began at `start` and has ended.
  void CountRead(uint64_t id, Nanos start) ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a request for a single record to storage with high latency, and the bytes that it returned.
  void CountFetched(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a read, or a row's wait for a range, and resumes the next row that waits to read.
  void EndRead(bool in_range) ABSL_LOCKS_EXCLUDED(mutex_);
  // Resumes the next row that waits to read, if another read may start. Returns whether it did.
  bool ReadNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Grows the reservation of the row in progress to `bytes`. Returns kPutBack if memory is short at present, and
  // ResourceExhausted if the session can never have that much.
  absl::StatusOr<RowMaker::Answer> Grow(OpenedSession* session, TakenRow* row, uint64_t bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees memory for a blocked urgent row: drops ranges, calls RowSink::Revoke, and cancels ranges in flight.
  void RevokeFor(const RowScheduler::Blocked& blocked) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls RowSink::Revoke of the session, if it is open. Returns the bytes freed.
  uint64_t Revoke(uint64_t id, uint64_t bytes, bool for_others) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a call into the sink. If it was the last call of a session that closes, removes the session; the caller must
  // then call Finish() without the lock.
  std::optional<Closed> EndCall(std::shared_ptr<OpenedSession> session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(std::optional<Closed> closed) ABSL_LOCKS_EXCLUDED(mutex_);
  // Begins to close a session: removes its rows from the scheduler's queue.
  std::optional<Closed> RemoveRows(uint64_t id, Task quiet, std::vector<std::unique_ptr<RowTask>>* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const LoaderOptions options_;  // without its disk cache
  const ReadAhead::Limits limits_;
  const Sizes sizes_;
  Executor* const executor_;
  const uint64_t all_bytes_;  // for rows and caches
  CachesRows caches_rows_{this};
  LoaderCaches caches_;
  const std::shared_ptr<RecordRanges> ranges_;  // null: no ranges
  const std::unique_ptr<SmallRecords> small_;   // null: none
  const RowMaker maker_;
  ListOwner list_owner_{this, false}, range_owner_{this, true};
  IndexMemory index_memory_{this};

  Mutex mutex_;
  CondVar all_ended_;  // no maker runs
  MemoryBudget budget_ ABSL_GUARDED_BY(mutex_);
  RowScheduler scheduler_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::shared_ptr<OpenedSession>> sessions_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_session_ ABSL_GUARDED_BY(mutex_) = 1;
  BusyTimes times_ ABSL_GUARDED_BY(mutex_);
  // Rows that makers have and that other sessions read, each with the parked rows that wait for it.
  std::unordered_map<cache::RowKey, std::vector<TaskId>, cache::RowKeyHasher> being_made_ ABSL_GUARDED_BY(mutex_);
  std::vector<Maker> makers_;
  MakerStates states_ ABSL_GUARDED_BY(mutex_);
  ReadSlots slots_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  int limited_ ABSL_GUARDED_BY(mutex_) = 0;  // sessions whose throttle may hold rows
  // The time at which the first held row may start, as of the last HoldRows(); kNever: none.
  Nanos held_until_ ABSL_GUARDED_BY(mutex_) = JobThrottle::kNever;
  Nanos held_timer_ ABSL_GUARDED_BY(mutex_) = JobThrottle::kNever;  // time of the earliest timer; kNever: none
  bool revoking_ ABSL_GUARDED_BY(mutex_) = false;
  size_t holders_ ABSL_GUARDED_BY(mutex_) = 0;  // waiting rows that hold memory
  // A revocation may free memory. False after one that freed nothing, until rows, heads or memory change.
  bool may_revoke_ ABSL_GUARDED_BY(mutex_) = true;
  LoaderStats stats_ ABSL_GUARDED_BY(mutex_);
  RowCosts::Saved saved_ ABSL_GUARDED_BY(mutex_);  // time that caches saved, since the start
  LoaderActivity activity_;
  // At the last look for a row, rows waited and none could start. Unless caps hold them, they lack memory.
  bool short_of_memory_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_CORE_H_
