// Records kept on this machine's own disk, behind the cache in memory: for data sets that are read from farther away
// (a network file system, an object store) or are larger than memory. What it keeps outlives the process.
//
//   FOLDER/CACHEDIR.TAG          for programs that back up (https://bford.info/cachedir/)
//   FOLDER/lock                  held by the process that writes here
//   FOLDER/<space>/...           a data set's records (disk_space.h); the name is the space, 16 hex digits
//
// Nothing here is believed because it is here: each read checks the sum of what it found (disk_entry.h), and a space's
// name is a hash of the data set's content. Like the cache in memory it keeps what it has and admits while there is
// room (../byte_cache.h says why). Spaces that nobody uses make room for those in use, the longest unused first.
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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "base/runtime/thread_pool.h"
#include "pipeline/cache/byte_cache.h"
#include "pipeline/cache/disk/cache_folder.h"
#include "pipeline/cache/disk/disk_space.h"

namespace penstock {

struct DiskCacheOptions {
  std::string folder;               // made where it is not there; its parent must be
  uint64_t limit_bytes = 0;         // of all files in it; 0: half of what is free on its disk and what they have
  uint64_t queue_bytes = 16 << 20;  // memory for records that wait to be written; more are not admitted
  uint64_t index_bytes = 64 << 20;  // memory for where records lie, 48 bytes each
  Clock* clock = Clock::Real();
  // What an operator should know, once each: the disk is full, it fails. On a thread of the cache.
  std::function<void(const std::string&)> warn;
};

struct DiskCacheStats {
  uint64_t bytes = 0;        // of its files
  uint64_t limit_bytes = 0;  // of the options
  uint64_t records = 0;      // of the spaces in use
  uint64_t hits = 0, misses = 0;
  uint64_t bytes_read = 0;
  uint64_t damaged = 0;     // entries that were found damaged, and forgotten
  double read_seconds = 0;  // that the hits took
};

// Thread-safe.
class DiskCache {
 public:
  // Room that Read needs beside the record's bytes.
  static constexpr size_t kReadOverhead = kDiskHeaderBytes;

  // InvalidArgument, FailedPrecondition (another process writes there) or the disk's error, which name the folder.
  static absl::StatusOr<std::shared_ptr<DiskCache>> Open(DiskCacheOptions options);
  // Writes what waits.
  ~DiskCache();
  DiskCache(const DiskCache&) = delete;
  DiskCache& operator=(const DiskCache&) = delete;

  // Keeps a space in use until what it returns, and every copy of it, is gone. What is there of it is taken up on a
  // thread of the cache: never waits. `about` tells people which data set it is. Must not outlive the cache.
  std::shared_ptr<const void> Use(uint64_t space, const std::string& about);

  bool Contains(const CacheKey& key);
  // The record of `length` bytes, read into `out`, which has room for kReadOverhead more; nothing where it is not here.
  // Waits for the local disk. Counts a hit or a miss.
  std::optional<std::string_view> Read(const CacheKey& key, uint32_t length, char* out);
  void WillRead(const CacheKey& key, uint32_t length);
  // Offers a record that was read elsewhere: it is copied and written by and by, if its space is in use and there is
  // room. Never waits.
  void Offer(const CacheKey& key, std::string_view bytes);

  // Waits until all that was offered, used and given up before is done.
  void Flush();

  DiskCacheStats Stats() const;

 private:
  struct Space {
    std::string about;
    std::shared_ptr<DiskSpace> files;  // null: not taken up yet, or it failed
    size_t users = 0;
  };
  explicit DiskCache(DiskCacheOptions options);
  std::shared_ptr<DiskSpace> Find(uint64_t space);

  // On the writer's thread.
  void TakeUp(uint64_t space);
  void Write(const CacheKey& key, const std::string& bytes);
  void EndUse(uint64_t space);
  // Forgets spaces whose folders were removed by somebody else.
  void LookForRemoved();
  bool MakeRoom(uint64_t bytes);
  void Warn(const absl::Status& status);

  DiskCacheOptions options_;  // fixed once it is open
  CacheFolderLock lock_;
  std::atomic<uint64_t> queued_{0}, hits_{0}, misses_{0}, bytes_read_{0}, damaged_{0}, read_nanos_{0};
  std::atomic<uint64_t> unused_bytes_{0};
  std::atomic<Nanos> next_look_{0};
  std::atomic<Nanos> paused_until_{0};  // the disk is full, or fails: nothing is admitted
  std::atomic<bool> full_{false};       // the cache is: nothing is admitted until something has gone
  mutable Mutex mutex_;
  std::map<uint64_t, Space> spaces_ ABSL_GUARDED_BY(mutex_);  // those in use
  // The writer's: data sets in the folder that are not in use, the latest used first.
  std::vector<DiskCacheEntry> unused_;
  bool warned_full_ = false, warned_failing_ = false;
  ThreadPool writer_;  // one thread; last, so that it stops first
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_CACHE_DISK_DISK_CACHE_H_
