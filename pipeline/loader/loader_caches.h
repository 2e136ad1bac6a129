// The caches of a loader, and the division of memory between them and rows.
//
// Rows and caches share one part of the budget. A cache frees memory before rows may reserve it, and grows only into
// memory that rows may no longer reserve. So both together never exceed that part.
#ifndef PENSTOCK_PIPELINE_LOADER_LOADER_CACHES_H_
#define PENSTOCK_PIPELINE_LOADER_LOADER_CACHES_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "base/shared_row_files.h"
#include "pipeline/cache/byte_cache.h"
#include "pipeline/cache/disk/disk_cache.h"
#include "pipeline/cache/row_cache.h"
#include "pipeline/loader/cache_use.h"
#include "pipeline/loader/load_job.h"
#include "pipeline/loader/loader_stats.h"
#include "pipeline/loader/row_costs.h"
#include "pipeline/tuning/cache_sizes.h"

namespace penstock::loader {

// Thread-safe.
class LoaderCaches {
 public:
  struct Options {
    uint64_t bytes = 0;  // for rows and caches together
    tuning::CacheLimits limits;
    std::shared_ptr<SharedRowFiles> shared_row_files;  // storage for finished rows; null: the heap
    std::shared_ptr<cache::DiskCache> disk;            // null: no disk cache
    Clock* clock = Clock::Real();
  };
  // The limit of the memory that rows may reserve. LoaderCaches calls it only while it changes sizes, one call at a
  // time.
  class RowMemory {
   public:
    virtual ~RowMemory() = default;
    // Starts a new measurement of the peak. Called before caches shrink; `cached` is their size at that time.
    virtual void RestartPeak(uint64_t cached) = 0;
    // Raises the limit to `bytes` if it is lower. Returns the new limit.
    virtual uint64_t Raise(uint64_t bytes) = 0;
    // Sets the limit to `bytes`, or to the bytes that are reserved or in use if these are more. Returns the new limit.
    virtual uint64_t Lower(uint64_t bytes) = 0;
  };
  // `rows` must outlive this object.
  LoaderCaches(const Options& options, RowMemory* rows);

  cache::ByteCache* records() { return &records_; }
  cache::ByteCache* decoded() { return &decoded_; }
  cache::RowCache* rows() { return &rows_; }
  cache::DiskCache* disk() const { return disk_.get(); }  // null: no disk cache

  const tuning::CacheLimits& limits() const { return limits_; }
  tuning::CacheSizes sizes() const { return {records_.limit(), decoded_.limit(), rows_.limit()}; }
  // Returns the bytes that all entries occupy in memory.
  uint64_t bytes() const { return records_.bytes() + decoded_.bytes() + rows_.bytes(); }

  // Changes the sizes. Shrinks caches first. Then caches grow as far as rows leave memory for them. Returns the
  // resulting sizes.
  tuning::CacheSizes SetSizes(const tuning::CacheSizes& sizes) ABSL_LOCKS_EXCLUDED(sizing_, mutex_);
  // Moves `bytes` from the caches to the memory of rows, which the index of the disk cache uses too. Never shrinks a
  // pinned cache, or a cache below its initial size. If this does not free `bytes`, returns false and changes nothing.
  // After a release with kRows, caches cannot take that memory again until NoSessions().
  enum class For { kRows, kDiskIndex };
  bool Release(uint64_t bytes, For whom) ABSL_LOCKS_EXCLUDED(sizing_, mutex_);
  // Returns the memory that caches must leave to rows: the highest limit of rows that a release for them has set since
  // the last NoSessions(). Returns 0 if there was no such release.
  uint64_t rows_need() ABSL_LOCKS_EXCLUDED(mutex_);
  // Call this when the last session closes. Caches may then take the memory of rows again: rows_need() is 0.
  void NoSessions() ABSL_LOCKS_EXCLUDED(mutex_);

  // Registers a job that may add entries.
  void AddJob(const std::shared_ptr<const LoadJob>& job) ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops the entries in memory of jobs that no longer exist, unless an existing job shares them.
  void Sweep() ABSL_LOCKS_EXCLUDED(sweeping_, mutex_);
  // Removes what the caches have of ended jobs with this LoadJob::record_space(), on disk too. The result includes the
  // bytes in memory that Sweep dropped within the last kSweptRecently. Returns Unavailable while a job uses the space.
  // Other errors are those of the disk. Blocks.
  static constexpr Nanos kSweptRecently = 60 * kSecond;
  absl::StatusOr<PurgedCaches> Purge(uint64_t record_space) ABSL_LOCKS_EXCLUDED(sweeping_, mutex_);
  // Releases the disk cache, so that another loader can open its folder. All makers must have ended. Unlike the other
  // functions, it is not safe while another thread uses this object.
  void ReleaseDisk() ABSL_LOCKS_EXCLUDED(mutex_);

  // Sets the counters of the caches in *stats. `saved` has the seconds that the caches in memory have saved. Requires
  // that stats->storage_reads and stats->storage_seconds are set.
  void AddTo(const RowCosts::Saved& saved, LoaderStats* stats) const;

 private:
  struct CachedJob {
    std::weak_ptr<const LoadJob> job;
    uint64_t record_space = 0, decoded_space = 0, shared_space = 0;
    std::shared_ptr<const void> on_disk;  // keeps the record space in use in the disk cache
  };

  // What Sweep dropped of the ended jobs with a record space.
  struct Swept {
    uint64_t record_space = 0, bytes = 0;
    Nanos at = 0;
  };
  static constexpr size_t kMostSwept = 256;

  // Returns the memory that rows cannot have. Each cache counts with its limit, or with its bytes if these are more.
  uint64_t Held() const;
  // Shrinks the caches that are larger than in `sizes`, and grants the freed memory to rows. Returns the limit of rows.
  uint64_t Shrink(const tuning::CacheSizes& sizes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(sizing_) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns freed memory of the heap to the system once there is much of it. Records, decoded images and small rows are
  // on the heap, which keeps freed memory. Rows in files or rings could not use that memory. `before` is the size of
  // the caches before the caller freed entries.
  void ReleaseFreed(uint64_t before) ABSL_LOCKS_EXCLUDED(mutex_);

  const uint64_t all_bytes_;
  const tuning::CacheLimits limits_;
  RowMemory* const row_memory_;
  Clock* const clock_;
  std::shared_ptr<cache::DiskCache> disk_;
  cache::ByteCache records_, decoded_;
  cache::RowCache rows_;

  Mutex sweeping_;  // held while entries of ended jobs are dropped; acquired before mutex_
  // Held while sizes change. Acquired before the lock of RowMemory, and before mutex_.
  Mutex sizing_;
  // Acquired last, also with the loader's lock held; only the locks of the disk cache come after it.
  Mutex mutex_;
  uint64_t rows_need_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t freed_from_ ABSL_GUARDED_BY(mutex_) = 0;  // largest size of the caches since the heap last released memory
  std::vector<CachedJob> jobs_ ABSL_GUARDED_BY(mutex_);
  std::deque<Swept> swept_ ABSL_GUARDED_BY(mutex_);  // oldest first; at most kMostSwept
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_CACHES_H_
