// Records cached on this machine's own disk, behind the cache in memory. It serves data sets that are on slower storage
// (a network file system, an object store) or larger than memory. Its content outlives the process.
//
//   FOLDER/CACHEDIR.TAG          for backup programs (https://bford.info/cachedir/)
//   FOLDER/lock                  held by the process that writes here
//   FOLDER/<space>/...           a data set's records (disk_space.h); the name is the space, 16 hex digits
//
// The cache does not trust its files. Each read verifies the entry's checksum (disk_entry.h), and a space's name is a
// hash of the data set's content. Like the cache in memory, it keeps its entries and admits more while there is room
// (../byte_cache.h gives the reason). When the cache is full, it removes spaces that are not in use, the least recently
// used one first.
#ifndef PENSTOCK_PIPELINE_CACHE_DISK_DISK_CACHE_H_
#define PENSTOCK_PIPELINE_CACHE_DISK_DISK_CACHE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "base/runtime/thread_pool.h"
#include "pipeline/cache/byte_cache.h"
#include "pipeline/cache/disk/cache_folder.h"
#include "pipeline/cache/disk/disk_space.h"

namespace penstock::cache {

// Memory for the index of a disk cache, in addition to DiskCacheOptions::index_bytes. Thread-safe. Called on the
// cache's thread, without its lock.
class DiskIndexMemory {
 public:
  virtual ~DiskIndexMemory() = default;
  // Reserves the bytes and returns true, or returns false if there is no room at present.
  virtual bool ReserveIndex(uint64_t bytes) = 0;
  virtual void ReleaseIndex(uint64_t bytes) = 0;
};

struct DiskCacheOptions {
  std::string folder;               // created if it does not exist; its parent must exist
  uint64_t limit_bytes = 0;         // for all its files; 0: half of the sum of their size and the disk's free bytes
  uint64_t queue_bytes = 16 << 20;  // memory for records that wait to be written; more are not admitted
  // Memory for the index, 48 bytes per record. The index may grow beyond it, in steps of `index_step` bytes that it
  // reserves from a DiskIndexMemory.
  uint64_t index_bytes = 64 << 20;
  uint64_t index_step = 1 << 20;
  Clock* clock = Clock::Real();
  // Receives each of two warnings for operators at most once: the disk is full, or it fails. Runs on a thread of the
  // cache.
  std::function<void(const std::string&)> warn;
};

struct DiskCacheStats {
  uint64_t bytes = 0;        // size of its files
  uint64_t limit_bytes = 0;  // the limit in effect
  uint64_t records = 0;      // in the spaces in use
  uint64_t hits = 0, misses = 0;
  uint64_t bytes_read = 0;
  uint64_t damaged = 0;     // damaged entries found and dropped
  double read_seconds = 0;  // total time of the hits
};

// Thread-safe.
class DiskCache {
 public:
  // Bytes that Read needs besides the record's bytes.
  static constexpr size_t kReadOverhead = kDiskHeaderBytes;

  // Opens the cache. Returns InvalidArgument if the folder is not marked as a cache and has files that do not belong to
  // one, FailedPrecondition if another process uses the folder, or the disk's error. Each names the folder.
  static absl::StatusOr<std::shared_ptr<DiskCache>> Open(DiskCacheOptions options);
  // Writes the queued records.
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  // Lets the index grow while `memory` exists. Call this before Use().
  void GrowIndexWith(std::weak_ptr<DiskIndexMemory> memory);

  // Keeps a space in use until the returned object and all its copies are destroyed. A thread of the cache loads the
  // existing entries, so the call never waits. `about` describes the data set to users. The returned object must not
  // outlive the cache.
  std::shared_ptr<const void> Use(uint64_t space, const std::string& about);

  bool Contains(const CacheKey& key);
  // Reads the record of `length` bytes into `out`, which must have room for kReadOverhead more. Returns nullopt if the
  // record is not cached, if its entry is damaged, or if the disk fails. Blocks on the local disk. Counts a hit or a
  // miss.
  std::optional<std::string_view> Read(const CacheKey& key, uint32_t length, char* out);
  void WillRead(const CacheKey& key, uint32_t length);
  // Offers a record that was read elsewhere. If its space is in use and there is room, the cache copies it and writes
  // it later. Never blocks.
  void Offer(const CacheKey& key, std::string_view bytes);

  // Removes an unused space and returns the bytes of its files: 0 if the folder has none. Blocks until earlier releases
  // of spaces have taken effect. Returns FailedPrecondition if the space is in use, or the disk's error.
  absl::StatusOr<uint64_t> Remove(uint64_t space);

  // Blocks until all earlier calls of Offer and Use, and all earlier releases of spaces, have taken effect.
  void Flush();

  DiskCacheStats Stats() const;

 private:
  struct Space {
    std::string about;
    std::shared_ptr<DiskSpace> files;  // null: not loaded yet, or loading failed
    size_t users = 0;
  };
  explicit DiskCache(DiskCacheOptions options);
  std::shared_ptr<DiskSpace> Find(uint64_t space);
  // Runs `work` on the writer's thread, after all earlier work, and waits until it has run.
  void RunOnWriter(absl::FunctionRef<void()> work);

  // These functions run on the writer's thread.
  void TakeUp(uint64_t space);
  // Grows the index for `wanted` more entries if it can. Returns the number of entries that it then has room for.
  size_t IndexRoom(uint64_t wanted);
  // Releases memory that the index no longer needs.
  void ShrinkIndex();
  // Returns the memory for growth, or null. Forgets the bytes that an earlier DiskIndexMemory reserved.
  std::shared_ptr<DiskIndexMemory> IndexMemory();
  void Write(const CacheKey& key, const std::string& bytes);
  void EndUse(uint64_t space);
  absl::StatusOr<uint64_t> RemoveUnused(uint64_t space);
  // Reopens spaces in use whose folders another process removed or replaced. Drops unused spaces whose folders another
  // process removed.
  void LookForRemoved();
  bool MakeRoom(uint64_t bytes);
  void Warn(const absl::Status& status);

  DiskCacheOptions options_;  // constant after Open()
  CacheFolderLock lock_;
  std::atomic<uint64_t> queued_{0}, hits_{0}, misses_{0}, bytes_read_{0}, damaged_{0}, read_nanos_{0};
  std::atomic<uint64_t> unused_bytes_{0};
  std::atomic<Nanos> next_look_{0};
  std::atomic<Nanos> paused_until_{0};  // no admission until then, because a write failed or the index has no memory
  std::atomic<bool> full_{false};       // the cache is full: no admission until room becomes free
  mutable Mutex mutex_;
  std::map<uint64_t, Space> spaces_ ABSL_GUARDED_BY(mutex_);  // spaces in use
  std::weak_ptr<DiskIndexMemory> index_memory_ ABSL_GUARDED_BY(mutex_);
  bool new_index_memory_ ABSL_GUARDED_BY(mutex_) = false;  // since the writer last used it
  // Used only by the writer: bytes of index_memory_, and the time of the next request after a refusal.
  uint64_t index_grown_ = 0;
  Nanos grow_again_ = 0;
  // Used only by the writer: data sets in the folder that are not in use, the most recently used first.
  std::vector<DiskCacheEntry> unused_;
  bool warned_full_ = false, warned_failing_ = false;
  ThreadPool writer_;  // one thread; last, so that it stops first
};

}  // namespace penstock::cache

#endif  // PENSTOCK_PIPELINE_CACHE_DISK_DISK_CACHE_H_
