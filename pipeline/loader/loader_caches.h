// The caches of a loader, and the border between their memory and that of rows.
//
// Rows and caches share one part of the budget. A cache frees its memory before rows may reserve it, and a cache grows
// only by memory that rows have left. So both together never exceed that part.
#ifndef PENSTOCK_PIPELINE_LOADER_LOADER_CACHES_H_
#define PENSTOCK_PIPELINE_LOADER_LOADER_CACHES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/shared_row_files.h"
#include "pipeline/cache/byte_cache.h"
#include "pipeline/cache/disk/disk_cache.h"
#include "pipeline/cache/row_cache.h"
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
    std::shared_ptr<cache::DiskCache> disk;            // null: none
  };
  // The memory of rows. LoaderCaches calls it only while it changes sizes, one call at a time.
  class RowMemory {
   public:
    virtual ~RowMemory() = default;
    // Starts a new peak, before caches shrink. They hold `cached` bytes.
    virtual void RestartPeak(uint64_t cached) = 0;
    // Raises the memory of rows to at least `bytes`. Returns the result.
    virtual uint64_t Raise(uint64_t bytes) = 0;
    // Lowers the memory of rows to `bytes`, but not below the bytes that are reserved or in use. Returns the result.
    virtual uint64_t Lower(uint64_t bytes) = 0;
  };
  // `rows` must outlive this object.
  LoaderCaches(const Options& options, RowMemory* rows);

  cache::ByteCache* records() { return &records_; }
  cache::ByteCache* decoded() { return &decoded_; }
  cache::RowCache* rows() { return &rows_; }
  cache::DiskCache* disk() const { return disk_.get(); }  // null: none

  const tuning::CacheLimits& limits() const { return limits_; }
  tuning::CacheSizes sizes() const { return {records_.limit(), decoded_.limit(), rows_.limit()}; }
  // Returns the bytes in memory of all entries.
  uint64_t bytes() const { return records_.bytes() + decoded_.bytes() + rows_.bytes(); }

  // Changes the sizes. Larger caches get the memory that rows do not need. Returns the resulting sizes.
  tuning::CacheSizes SetSizes(const tuning::CacheSizes& sizes) ABSL_LOCKS_EXCLUDED(sizing_, mutex_);
  // Moves `bytes` from caches of chosen size to rows, or to the index of the disk cache. A cache keeps at least its
  // initial size. If that does not free `bytes`, returns false and changes nothing. After a release for rows, caches
  // cannot take that memory again until NoSessions().
  enum class For { kRows, kDiskIndex };
  bool Release(uint64_t bytes, For whom) ABSL_LOCKS_EXCLUDED(sizing_, mutex_);
  // Returns the largest memory of rows after a release for them since NoSessions(); 0 if there was none.
  uint64_t rows_need() ABSL_LOCKS_EXCLUDED(mutex_);
  // Call this when the last session closes. Caches may then take the memory of rows again.
  void NoSessions() ABSL_LOCKS_EXCLUDED(mutex_);

  // Registers a job that may add entries.
  void AddJob(const std::shared_ptr<const LoadJob>& job) ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops the entries of jobs that no longer exist.
  void Sweep() ABSL_LOCKS_EXCLUDED(mutex_);
  // Releases the disk cache, so that another loader can open its folder. No row may be made after this call.
  void ReleaseDisk() ABSL_LOCKS_EXCLUDED(mutex_);

  // Sets the counters of the caches in *stats. `saved` is the time that the caches in memory saved. storage_reads and
  // storage_seconds must be set before.
  void AddTo(const RowCosts::Saved& saved, LoaderStats* stats) const;

 private:
  struct CachedJob {
    std::weak_ptr<const LoadJob> job;
    uint64_t record_space = 0, decoded_space = 0, shared_space = 0;
    std::shared_ptr<const void> on_disk;  // keeps the record space in use in the disk cache
  };

  // Returns the memory that rows cannot have: for each cache its limit, or its bytes if these are more.
  uint64_t Held() const;
  // Lowers the sizes to `sizes`, and grants the freed memory to rows. Returns the memory of rows.
  uint64_t Shrink(const tuning::CacheSizes& sizes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(sizing_) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns freed memory to the system once there is much of it. Records, decoded images and small rows are on the
  // heap, which keeps freed memory. Rows in files or rings cannot use that memory. `before` is the number of bytes in
  // the caches before some were freed.
  void ReleaseFreed(uint64_t before) ABSL_LOCKS_EXCLUDED(mutex_);

  const uint64_t all_bytes_;
  const tuning::CacheLimits limits_;
  RowMemory* const row_memory_;
  std::shared_ptr<cache::DiskCache> disk_;
  cache::ByteCache records_, decoded_;
  cache::RowCache rows_;

  // Held while sizes change. Acquired before the lock of the memory of rows, and before mutex_.
  Mutex sizing_;
  Mutex mutex_;
  uint64_t rows_need_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t freed_from_ ABSL_GUARDED_BY(mutex_) = 0;  // most bytes in the caches since the heap last released memory
  std::vector<CachedJob> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_LOADER_CACHES_H_
