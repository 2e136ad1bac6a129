// The loader's shared state: sessions, waiting rows, budget and counters behind one lock, and the work of its threads.
// Internal to the loader; other code uses loader.h. Sessions, requests and counters are in loader_core.cc, the work of
// threads in loader_work.cc, parked rows in loader_parked.cc, and the division of memory between rows and caches in
// loader_caches.cc.
#ifndef PENSTOCK_PIPELINE_LOADER_LOADER_CORE_H_
#define PENSTOCK_PIPELINE_LOADER_LOADER_CORE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/executor.h"
#include "pipeline/cache/byte_cache.h"
#include "pipeline/cache/row_cache.h"
#include "pipeline/loader/budget_lease.h"
#include "pipeline/loader/busy_times.h"
#include "pipeline/loader/cache_use.h"
#include "pipeline/loader/job_activity.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/memory_budget.h"
#include "pipeline/loader/row_maker.h"
#include "pipeline/loader/row_scheduler.h"

namespace penstock {

// Thread-safe. The loader, its sessions, and every row that holds bytes of the budget share it.
class LoaderCore final : public BudgetLease::Owner, public std::enable_shared_from_this<LoaderCore> {
 public:
  struct Sizes {
    int threads = 1;
    uint64_t rows_bytes = 0;            // budget for rows
    uint64_t thread_scratch_bytes = 0;  // per thread, in addition to rows_bytes
  };
  LoaderCore(const LoaderOptions& options, const Sizes& sizes);

  absl::StatusOr<uint64_t> OpenSession(std::shared_ptr<const LoadJob> job, const LoaderSessionOptions& options,
                                       RowSink* sink);
  // Drops the session's rows that are not started. Calls `quiet` when the sink has returned from its last call: inside
  // this call, or on the thread of that last call.
  void CloseSession(uint64_t id, Task quiet) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t Request(uint64_t id, const std::vector<RowRequest>& rows);
  std::unique_ptr<BudgetLease> Reserve(uint64_t id, uint64_t bytes);
  void NowRevocable();
  void SetHead(uint64_t id, uint64_t step);
  size_t Pending(uint64_t id);

  // Runs thread number `thread` until Stop().
  void RunThread(int thread);
  void Stop();
  // Call this after the threads have ended. Releases the disk cache, whose folder another loader may need. Delivered
  // rows, and reads that end late, keep this object alive but not the cache.
  void LetDiskCacheGo() ABSL_LOCKS_EXCLUDED(mutex_);

  void Set(const LoaderSetting& setting);
  CacheSizes SetCaches(const CacheSizes& sizes) ABSL_LOCKS_EXCLUDED(mutex_, sizing_);
  CacheUse TakeCacheUse() ABSL_LOCKS_EXCLUDED(mutex_);
  LoaderStats Stats();
  std::vector<JobTimes> Jobs();
  void Release(uint64_t account, uint64_t bytes) override;

 private:
  class ParkedRow;
  struct OpenedSession {
    uint64_t id = 0;
    std::shared_ptr<const LoadJob> job;
    LoaderSessionOptions options;
    RowSink* sink = nullptr;
    // Guarded by the core's lock:
    std::shared_ptr<JobActivity> activity;
    uint64_t overhead = 0;  // bytes of a finished row in addition to its content
    uint64_t estimate = 0;  // bytes to reserve for a row about which nothing is known
    uint64_t listed = 0;    // bytes of the budget for waiting rows
    RequestedSpan requested;
    int calls = 0;   // rows in progress or in delivery, and revocations
    int making = 0;  // rows in progress
    // Rows that wait for their shard, their record, their turn to read, or another session's thread. A shard's reader
    // holds only weak references to them.
    std::unordered_map<const ParkedRow*, std::shared_ptr<ParkedRow>> parked;
    std::stop_source stop_reads;
    // Calls of FetchAhead to skip, and the number that was skipped last.
    int look_later = 0, looked_in_vain = 0;
    int shares = 0;  // other sessions that read rows of this one
    bool closing = false;
    Task quiet;  // of CloseSession
  };
  struct Work {
    std::shared_ptr<OpenedSession> session;
    RowScheduler::Picked picked;
    uint64_t held = 0;              // reserved bytes
    std::vector<RowRequest> ahead;  // to announce to storage
    RequestedSpan requested;        // by the session so far
    uint64_t range_room = 0;        // bytes for ranges of all sessions
    bool fetch_ahead = false;       // records of rows after this one may be fetched now
    int sharers = 0;                // other sessions that read this row
    std::optional<RowKey> making;   // the row for which they wait
  };
  // Result of making a row, and the row if it was made.
  struct Outcome {
    RowMaker::End end = RowMaker::End::kMade;
    uint64_t need = 0;
    uint64_t kept = 0;    // bytes that the finished row holds
    bool timed = false;   // its stages were measured, into the thread's times
    bool traced = false;  // with spans
    RowResult result;
    MadeRow made;
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
  void ReleaseList(uint64_t account, uint64_t bytes, bool ranges) ABSL_LOCKS_EXCLUDED(mutex_);
  bool WaitsForMemory() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the bytes that ranges may hold: half of the memory that is not reserved. Rows in progress are worth more
  // than records ahead of them.
  uint64_t RangeRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return (budget_.total() - budget_.reserved()) / 2;
  }
  std::unique_ptr<BudgetLease> ReserveRange(uint64_t id, uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  RecordRanges::Options RangesOptions();
  // Releases the memory for waiting rows that no row needs any longer.
  void TrimListed(OpenedSession* session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Releases memory that is cached for future ranges. Unlocks mutex_ meanwhile. Returns false, without unlocking, if
  // there is none.
  bool ReleaseKept(const RowScheduler::Blocked& blocked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Releases the memory of a waiting row for rows that lack memory. Returns false if no such row holds memory.
  bool ReleaseHolder(const std::optional<RowScheduler::Blocked>& blocked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  bool NextWork(Work* work, int thread) ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks while the thread is surplus. A notification that it received was meant for another thread; passes it on.
  void StandBy(int thread) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Process(Work* work, int number, MakerThread* thread) ABSL_LOCKS_EXCLUDED(mutex_);
  Outcome MakeRow(Work* work, MakerThread* thread) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the time of idle threads since the last call to the state that each job was in. Call this before that state
  // changes. Skips calls in quick succession, except with `always`.
  void LookAtIdle(bool always = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<JobActivity> ActivityOf(const std::shared_ptr<const LoadJob>& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Updates the counters, and the session's estimates, after a row was made.
  void Count(const Outcome& outcome, Nanos took, OpenedSession* session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CacheSizes CacheLimitsNow() const { return {records_.limit(), decoded_.limit(), rows_.limit()}; }
  uint64_t CachesHeld() const;
  // Moves `bytes` from caches of chosen size to rows. A cache keeps at least its initial size. Returns false, and
  // changes nothing, if that is not enough.
  bool ReleaseCaches(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_, sizing_);
  // Returns the bytes in all caches.
  uint64_t CachedBytes() const;
  // Returns freed memory to the system once there is much of it. Records, decoded images and small rows are on the
  // heap, which keeps freed memory. Rows that use memory of other kinds (files, rings) would need theirs in addition.
  // `before`: bytes in the caches before some were freed.
  void ReleaseFreed(uint64_t before) ABSL_LOCKS_EXCLUDED(mutex_);
  // Lowers the sizes of caches to `sizes`, and grants the freed memory to rows.
  void ShrinkCaches(const CacheSizes& sizes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(sizing_) ABSL_LOCKS_EXCLUDED(mutex_);
  // Updates the measurements of the caches' benefit after a row was made.
  void CountCost(const MadeRow& made, Nanos took, OpenedSession* session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Parks the row and returns true if another session's thread is making it. When that thread has ended, the row is in
  // the cache, or this session makes it. Otherwise returns false; other sessions then wait for this row until
  // EndMaking().
  bool WaitsForOther(Work* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndMaking(Work* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds `change` to the counts of the session and of each session that reads the same rows.
  void CountShares(OpenedSession* session, int change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Parks the row of `picked` until its shard is ready, its record was fetched, or another session has made it.
  std::shared_ptr<ParkedRow> Park(OpenedSession* session, RowScheduler::Picked picked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns a parked row to the scheduler. `hold` keeps its shard ready.
  void Unpark(const ParkedRow& row, std::shared_ptr<const void> hold) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does the same with the lock held. Returns false if the row was removed with its session.
  bool UnparkHere(const ParkedRow& row, std::shared_ptr<const void> hold) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Parks a row before its record is fetched, and adds the object that receives the record. Counts a read in flight.
  std::shared_ptr<ParkedRow> ParkToRead(OpenedSession* session, RowScheduler::Picked picked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Starts to fetch records of the session's next rows, within the limits of reads and memory. Otherwise storage would
  // be idle while the threads make rows whose records are here.
  void FetchAhead(OpenedSession* session, MakerThread* thread) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns whether rows wait for storage.
  bool WaitsForStorage() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return reads_ + in_ranges_ > 0; }
  // Fetches the record of a parked row. `held` bytes belong to the row until it is made.
  void Fetch(std::shared_ptr<ParkedRow> row, const OpenedSession& session, uint64_t record, uint64_t held,
             std::shared_ptr<FetchedRecord> fetched) ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a record that was fetched for a session's row since `start`.
  void CountRead(uint64_t id, Nanos start) ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts a request for a single record to storage with high latency, and the bytes that it returned.
  void CountFetched(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends a read, or a row's wait for a range, and resumes the next row that waits to read.
  void EndRead(bool in_range) ABSL_LOCKS_EXCLUDED(mutex_);
  // Resumes the next row that waits to read, if another read may start. Returns whether it did. `seen` keeps rows alive
  // until the lock is released.
  bool ReadNext(std::vector<std::shared_ptr<ParkedRow>>* seen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Grows the reservation of the row in progress to `bytes`. Returns kPutBack if memory is short at present, and
  // ResourceExhausted if the session can never have that much.
  absl::StatusOr<RowMaker::Answer> Grow(Work* work, uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees memory for a blocked urgent row: drops ranges and calls RowSink::Revoke. Unlocks mutex_ meanwhile.
  void RevokeFor(const RowScheduler::Blocked& blocked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends a call into the sink. If it was the last call of a session that closes, closes it and unlocks mutex_
  // meanwhile.
  void EndCall(std::shared_ptr<OpenedSession> session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops cache entries of jobs that no longer exist.
  void Sweep() ABSL_LOCKS_EXCLUDED(mutex_);

  const LoaderOptions options_;            // without its disk cache
  std::shared_ptr<DiskCache> disk_cache_;  // null: none
  const Sizes sizes_;
  const uint64_t all_bytes_;  // for rows and caches
  ByteCache records_, decoded_;
  RowCache rows_;
  const std::shared_ptr<RecordRanges> ranges_;  // null: no ranges
  const RowMaker maker_;
  ListOwner list_owner_{this, false}, range_owner_{this, true};

  // Held while sizes of caches change. Acquired before mutex_.
  Mutex sizing_;
  Mutex mutex_;
  CondVar work_;   // a row may have become ready to start
  CondVar spare_;  // the number of threads has changed, or the loader stops
  MemoryBudget budget_ ABSL_GUARDED_BY(mutex_);
  // Budget for rows after caches last released memory to them. 0 when no session is open.
  uint64_t rows_need_ ABSL_GUARDED_BY(mutex_) = 0;
  // Peak of rows and caches together, before the sizes of caches last changed.
  uint64_t peak_before_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t freed_from_ ABSL_GUARDED_BY(mutex_) = 0;   // most bytes in the caches since the heap last released memory
  uint64_t range_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // bytes of the budget for records that were fetched ahead
  RowScheduler scheduler_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::shared_ptr<OpenedSession>> sessions_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_session_ ABSL_GUARDED_BY(mutex_) = 1;
  BusyTimes times_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<RowKey, std::vector<std::weak_ptr<ParkedRow>>, RowKeyHasher> being_made_ ABSL_GUARDED_BY(mutex_);
  int waiting_threads_ ABSL_GUARDED_BY(mutex_) = 0;
  int wanted_threads_ ABSL_GUARDED_BY(mutex_);   // threads with lower numbers make rows
  int reads_under_way_ ABSL_GUARDED_BY(mutex_);  // largest number of reads in flight
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool revoking_ ABSL_GUARDED_BY(mutex_) = false;
  size_t holders_ ABSL_GUARDED_BY(mutex_) = 0;                           // waiting rows that hold memory
  int reads_ ABSL_GUARDED_BY(mutex_) = 0;                                // in flight
  int in_ranges_ ABSL_GUARDED_BY(mutex_) = 0;                            // rows whose records are in flight in a range
  std::deque<std::weak_ptr<ParkedRow>> unread_ ABSL_GUARDED_BY(mutex_);  // rows that are parked until a read ends
  // A revocation may free memory, because a sink received a row or a new head since the last one that freed nothing.
  bool may_revoke_ ABSL_GUARDED_BY(mutex_) = true;
  LoaderStats stats_ ABSL_GUARDED_BY(mutex_);
  RowCosts::Saved saved_ ABSL_GUARDED_BY(mutex_);  // time that caches saved, since the start
  // Jobs that may have entries in the caches.
  struct CachedJob {
    std::weak_ptr<const LoadJob> job;
    uint64_t record_space = 0, decoded_space = 0, shared_space = 0;
    std::shared_ptr<const void> on_disk;  // keeps the record space in use in the disk cache
  };
  std::vector<CachedJob> cached_jobs_ ABSL_GUARDED_BY(mutex_);

  // State for the explanation of jobs.
  struct ThreadNow {
    std::atomic<Nanos> row_since{-1};      // start of the row in progress; -1: none
    std::atomic<Nanos> reading_since{-1};  // start of the current call of storage; -1: none
  };
  std::vector<std::shared_ptr<JobActivity>> activities_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<JobActivity>> thread_jobs_ ABSL_GUARDED_BY(mutex_);  // the job of each thread's last row
  std::vector<ThreadNow> threads_now_;
  IdleThreads idle_ ABSL_GUARDED_BY(mutex_);
  Nanos idle_looked_ ABSL_GUARDED_BY(mutex_) = 0;
  // The thread that went idle last left waiting rows for which there was no memory.
  bool short_of_memory_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_CORE_H_
