// The loader's shared state: sessions, rows that wait, budget and counters behind one lock, and what its threads do.
// Inside of loader.cc; everyone else uses loader.h. Sessions and what is asked are in loader_core.cc, what the threads
// do in loader_work.cc, what caches give and take in loader_caches.cc.
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

// Thread-safe. Shared by the loader, its sessions, and every row that holds bytes of the budget.
class LoaderCore final : public BudgetLease::Owner, public std::enable_shared_from_this<LoaderCore> {
 public:
  struct Sizes {
    int threads = 1;
    uint64_t rows_bytes = 0;            // of the budget, for rows
    uint64_t thread_scratch_bytes = 0;  // of each thread, beside that
  };
  LoaderCore(const LoaderOptions& options, const Sizes& sizes);

  absl::StatusOr<uint64_t> OpenSession(std::shared_ptr<const LoadJob> job, const LoaderSessionOptions& options,
                                       RowSink* sink);
  // Drops the session's rows that are not started. `quiet` is called when no call into the sink is in progress, and
  // none will come: inside this call, or on the thread that ends the last one.
  void CloseSession(uint64_t id, Task quiet) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t Request(uint64_t id, const std::vector<RowRequest>& rows);
  std::unique_ptr<BudgetLease> Hold(uint64_t id, uint64_t bytes);
  void NowRevocable();
  void SetHead(uint64_t id, uint64_t step);
  size_t Pending(uint64_t id);

  // What thread number `thread` does until Stop().
  void RunThread(int thread);
  void Stop();
  // Once they have ended: rows that are kept, and reads that end late, hold this but not the cache on disk, whose
  // folder may be wanted again.
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
    uint64_t overhead = 0;  // of a row that is kept, its content aside
    uint64_t estimate = 0;  // bytes to grab for a row of which nothing is known yet
    uint64_t listed = 0;    // bytes of the budget for rows that wait
    RequestedSpan asked;
    int calls = 0;   // rows being made or handed over, and revocations
    int making = 0;  // rows being made
    // Rows whose shard is not ready, or whose record is being brought. The reader has the former weakly.
    std::unordered_map<const ParkedRow*, std::shared_ptr<ParkedRow>> parked;
    std::stop_source stop_reads;
    // Calls of BringAhead until it looks again, and how many they were last time.
    int look_later = 0, looked_in_vain = 0;
    int shares = 0;  // other sessions that read rows of this one
    bool closing = false;
    Task quiet;  // of CloseSession
  };
  struct Work {
    std::shared_ptr<OpenedSession> session;
    RowScheduler::Picked picked;
    uint64_t held = 0;              // bytes grabbed
    std::vector<RowRequest> ahead;  // to tell storage of
    RequestedSpan asked;            // by the session
    uint64_t range_room = 0;        // bytes that ranges of all sessions may have
    bool bring_ahead = false;       // records of rows behind it may be brought now
    int sharers = 0;                // other sessions that read the row too
    std::optional<RowKey> making;   // they wait for it
  };
  // How it went, and the row when there is one.
  struct Outcome {
    RowMaker::End end = RowMaker::End::kMade;
    uint64_t need = 0;
    uint64_t kept = 0;    // bytes that the row keeps
    bool timed = false;   // its stages were measured: the thread's times have them
    bool traced = false;  // in spans
    RowResult result;
    MadeRow made;
  };

  // Bytes of the budget for what callers keep, or for records that were fetched ahead.
  class Lists final : public BudgetLease::Owner {
   public:
    Lists(LoaderCore* core, bool ranges) : core_(core), ranges_(ranges) {}
    void Release(uint64_t account, uint64_t bytes) override { core_->ReleaseList(account, bytes, ranges_); }

   private:
    LoaderCore* const core_;
    const bool ranges_;
  };
  void ReleaseList(uint64_t account, uint64_t bytes, bool ranges) ABSL_LOCKS_EXCLUDED(mutex_);
  bool WaitsForMemory() ABSL_LOCKS_EXCLUDED(mutex_);
  // Rows that are made are worth more than records that are not: half of what is nobody's is theirs.
  uint64_t RangeRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return (budget_.total() - budget_.reserved()) / 2;
  }
  std::unique_ptr<BudgetLease> HoldRange(uint64_t id, uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  RecordRanges::Options RangesOptions();
  // Gives back what rows that wait no longer took.
  void TrimListed(OpenedSession* session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Takes what is kept for ranges to come, and gives the lock up meanwhile. False: there is none, and it did not.
  bool TakeKept(const RowScheduler::Blocked& blocked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes from a row that waits, with memory, for others that cannot have theirs. False: there is none.
  bool TakeFromHolder(const std::optional<RowScheduler::Blocked>& blocked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  bool NextWork(Work* work, int thread) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits while the thread is one too many. Its news are for another.
  void StandBy(int thread) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Process(Work* work, int number, MakerThread* thread) ABSL_LOCKS_EXCLUDED(mutex_);
  Outcome MakeRow(Work* work, MakerThread* thread) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the time of idle threads since the last look to what kept each job's rows from them. To be called before that
  // changes; looks that come fast after each other are left out.
  void LookAtIdle(bool always = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<JobActivity> ActivityOf(const std::shared_ptr<const LoadJob>& job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A row was made: what it tells of the session's rows, and for the counters.
  void Count(const Outcome& outcome, Nanos took, OpenedSession* session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  CacheSizes CacheLimitsNow() const { return {records_.limit(), decoded_.limit(), rows_.limit()}; }
  uint64_t CachesHeld() const;
  // Lets chosen caches give up `bytes` to rows, down to what they began with. False: they cannot.
  bool GiveBackCaches(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_, sizing_);
  // What caches hold, all together.
  uint64_t CachedBytes() const;
  // Records, decoded images and small rows lie on the heap, which keeps what they let go of; others, of whom some have
  // memory of another kind (files, rings), would come on top of it. Once that is much it is the system's. `before`:
  // what caches held.
  void GiveFreedBack(uint64_t before) ABSL_LOCKS_EXCLUDED(mutex_);
  // Lowers caches to these sizes, and gives what that frees to rows.
  void ShrinkCaches(const CacheSizes& sizes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(sizing_) ABSL_LOCKS_EXCLUDED(mutex_);
  // A row that was made, for the measures of what caches give.
  void CountCost(const MadeRow& made, Nanos took, OpenedSession* session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A row that another session's thread is making just now is put aside until that has ended: then it is in the cache,
  // or not, and made. Else others wait for this one.
  bool WaitsForOther(Work* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndMaking(Work* work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts in or out, by `change`, a session that reads what others read.
  void CountShares(OpenedSession* session, int change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Puts the row in work aside until its shard is ready, or its record was brought.
  std::shared_ptr<ParkedRow> Park(OpenedSession* session, RowScheduler::Picked picked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The shard of a row that was put aside is ready.
  void Unpark(const ParkedRow& row, std::shared_ptr<const void> hold) ABSL_LOCKS_EXCLUDED(mutex_);
  // False where it has gone with its session.
  bool UnparkHere(const ParkedRow& row, std::shared_ptr<const void> hold) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same for a row whose record is going to be brought, with what is to hold it; a read is under way from then on.
  std::shared_ptr<ParkedRow> ParkToRead(OpenedSession* session, RowScheduler::Picked picked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins to bring records of the session's next rows, as far as reads and memory allow: else, while the threads make
  // rows whose records are here, storage would have nothing to do.
  void BringAhead(OpenedSession* session, MakerThread* thread) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether rows wait for storage.
  bool WaitsForStorage() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return reads_ + in_ranges_ > 0; }
  // Brings the record of a row that was put aside; `held` bytes are the row's until it is made.
  void Bring(std::shared_ptr<ParkedRow> row, const OpenedSession& session, uint64_t record, uint64_t held,
             std::shared_ptr<FetchedRecord> brought) ABSL_LOCKS_EXCLUDED(mutex_);
  // A record was brought for a session's row, in so long.
  void CountRead(uint64_t id, Nanos start) ABSL_LOCKS_EXCLUDED(mutex_);
  // Storage that does not answer at once was asked for a record alone; so many bytes came.
  void CountFetched(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // A read is over, or a row's wait for a range: the next one that waits for it.
  void EndRead(bool in_range) ABSL_LOCKS_EXCLUDED(mutex_);
  // The next row that waits until it may be read goes on, if it may. `seen` keeps rows from ending under the lock.
  bool ReadNext(std::vector<std::shared_ptr<ParkedRow>>* seen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Grows what the row in work holds to `bytes`.
  absl::StatusOr<RowMaker::Answer> Grow(Work* work, uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Asks sinks for prepared rows in favor of a blocked urgent one. Gives the lock up meanwhile.
  void RevokeFor(const RowScheduler::Blocked& blocked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A call into the sink is over. Gives the lock up meanwhile when it was the last one of a session that closes.
  void EndCall(std::shared_ptr<OpenedSession> session) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Drops cache entries of jobs that are gone.
  void Sweep() ABSL_LOCKS_EXCLUDED(mutex_);

  const LoaderOptions options_;            // its disk cache aside
  std::shared_ptr<DiskCache> disk_cache_;  // null: none
  const Sizes sizes_;
  const uint64_t all_bytes_;  // for rows and caches
  ByteCache records_, decoded_;
  RowCache rows_;
  const std::shared_ptr<RecordRanges> ranges_;  // null: there are none
  const RowMaker maker_;
  Lists lists_{this, false}, range_lists_{this, true};

  // Held while sizes of caches change; taken before mutex_.
  Mutex sizing_;
  Mutex mutex_;
  CondVar work_;   // something may have become possible
  CondVar spare_;  // there are more threads wanted, or none any more
  MemoryBudget budget_ ABSL_GUARDED_BY(mutex_);
  uint64_t rows_need_ ABSL_GUARDED_BY(mutex_) = 0;    // what caches had to give back to them, while sessions are open
  uint64_t peak_before_ ABSL_GUARDED_BY(mutex_) = 0;  // of rows and caches, with other sizes of these
  uint64_t freed_from_ ABSL_GUARDED_BY(mutex_) = 0;   // what caches held at most since the heap gave memory back
  uint64_t range_bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of it, for records that were fetched ahead
  RowScheduler scheduler_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::shared_ptr<OpenedSession>> sessions_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_session_ ABSL_GUARDED_BY(mutex_) = 1;
  BusyTimes times_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<RowKey, std::vector<std::weak_ptr<ParkedRow>>, RowKeyHasher> being_made_ ABSL_GUARDED_BY(mutex_);
  int waiting_threads_ ABSL_GUARDED_BY(mutex_) = 0;
  int wanted_threads_ ABSL_GUARDED_BY(mutex_);   // those with lower numbers make rows
  int reads_under_way_ ABSL_GUARDED_BY(mutex_);  // at the most
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool revoking_ ABSL_GUARDED_BY(mutex_) = false;
  size_t holders_ ABSL_GUARDED_BY(mutex_) = 0;  // rows that hold memory while they wait their turn
  int reads_ ABSL_GUARDED_BY(mutex_) = 0;       // under way
  int in_ranges_ ABSL_GUARDED_BY(mutex_) = 0;   // rows whose records are under way in a range
  std::deque<std::weak_ptr<ParkedRow>> unread_ ABSL_GUARDED_BY(mutex_);  // put aside until one of those is over
  // Since the last fruitless revocation a sink got a row or a new head: asking again may help.
  bool may_revoke_ ABSL_GUARDED_BY(mutex_) = true;
  LoaderStats stats_ ABSL_GUARDED_BY(mutex_);
  RowCosts::Saved saved_ ABSL_GUARDED_BY(mutex_);  // by caches, since start
  // Jobs that may have entries in the caches.
  struct CachedJob {
    std::weak_ptr<const LoadJob> job;
    uint64_t record_space = 0, decoded_space = 0, shared_space = 0;
    std::shared_ptr<const void> on_disk;  // keeps the record space in use there
  };
  std::vector<CachedJob> cached_jobs_ ABSL_GUARDED_BY(mutex_);

  // What explains jobs.
  struct ThreadNow {
    std::atomic<Nanos> row_since{-1};      // when the row in work was begun; -1: there is none
    std::atomic<Nanos> reading_since{-1};  // the same of storage's call that it is in
  };
  std::vector<std::shared_ptr<JobActivity>> activities_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<JobActivity>> thread_jobs_ ABSL_GUARDED_BY(mutex_);  // that each thread works for
  std::vector<ThreadNow> threads_now_;
  IdleThreads idle_ ABSL_GUARDED_BY(mutex_);
  Nanos idle_looked_ ABSL_GUARDED_BY(mutex_) = 0;
  // The last thread that went idle left rows behind for which there is no memory.
  bool short_of_memory_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_CORE_H_
