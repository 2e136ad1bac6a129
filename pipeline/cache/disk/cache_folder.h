// The folder of a disk cache: lock, list and removal of its data sets. The cache and `penstock cache` use it.
#ifndef PENSTOCK_PIPELINE_CACHE_DISK_CACHE_FOLDER_H_
#define PENSTOCK_PIPELINE_CACHE_DISK_CACHE_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock::cache {

// The lock of the one process that writes to the folder. Destruction releases it, and so does the end of the process,
// even by a crash. Movable. A default-constructed object holds no lock.
class CacheFolderLock {
 public:
  // Locks the folder and marks it as a cache. Creates the folder if it does not exist; its parent must exist.
  //   InvalidArgument     the folder is not marked as a cache, and contains files that do not belong to one
  //   FailedPrecondition  another process holds the lock
  //   others              an error of the disk
  // All errors name the folder.
  static absl::StatusOr<CacheFolderLock> Take(const std::string& folder);
  CacheFolderLock() = default;
  ~CacheFolderLock();
  CacheFolderLock(CacheFolderLock&& other) noexcept;
  CacheFolderLock& operator=(CacheFolderLock&& other) noexcept;

 private:
  explicit CacheFolderLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

// One data set in the folder.
struct DiskCacheEntry {
  uint64_t space = 0;    // number that identifies the data set
  std::string about;     // description of the data set for users
  uint64_t bytes = 0;    // size of its records and their index
  uint64_t records = 0;  // records in its index
  int64_t used_ns = 0;   // last use, in nanoseconds since 1970
};

// Returns the data sets in the folder, the most recently used first. Returns NotFound if the folder does not exist, or
// FailedPrecondition if it is not a cache.
absl::StatusOr<std::vector<DiskCacheEntry>> ListDiskCache(const std::string& folder);

// Removes all data sets of the folder, or only `space`. Returns the bytes of the removed data sets. Returns NotFound if
// the folder has no data set `space`. Other errors are those of ListDiskCache and of RemoveSpace. Removes only the
// cache's own files. A process may use a data set meanwhile: it detects the removal within seconds and fills the cache
// again. No row is lost.
absl::StatusOr<uint64_t> ClearDiskCache(const std::string& folder, std::optional<uint64_t> space = std::nullopt);

// Returns the free bytes on the folder's disk that unprivileged users can use.
absl::StatusOr<uint64_t> FreeBytes(const std::string& folder);

// Returns the path of a data set's folder: `folder` and 16 hex digits.
std::string SpaceFolder(const std::string& folder, uint64_t space);
// Returns whether the file with the records of the data set exists.
bool HasSpace(const std::string& folder, uint64_t space);
// Removes a data set and returns its bytes: 0 if it does not exist. Keeps other files in its folder.
absl::StatusOr<uint64_t> RemoveSpace(const std::string& folder, uint64_t space);

}  // namespace penstock::cache

#endif  // PENSTOCK_PIPELINE_CACHE_DISK_CACHE_FOLDER_H_
