// The folder of a disk cache: ownership, contents, removal. Used by the cache and by operators.
#ifndef PENSTOCK_PIPELINE_CACHE_DISK_CACHE_FOLDER_H_
#define PENSTOCK_PIPELINE_CACHE_DISK_CACHE_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock::cache {

// The lock of a process that writes to the folder. The system releases it when the process ends, however it ends.
// Movable.
class CacheFolderLock {
 public:
  // Locks the folder and marks it as a cache. Creates it if it does not exist; its parent must exist.
  //   InvalidArgument     it contains files that do not belong to a cache
  //   FailedPrecondition  another process writes to it
  //   others              the disk's error; each names the folder
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
  uint64_t space = 0;
  std::string about;     // description of the data set for users
  uint64_t bytes = 0;    // size of its files
  uint64_t records = 0;  // records in its index
  int64_t used_ns = 0;   // last use, in nanoseconds since 1970
};

// Returns the data sets in the folder, the most recently used first. Returns NotFound if the folder does not exist, or
// FailedPrecondition if it is not a cache.
absl::StatusOr<std::vector<DiskCacheEntry>> ListDiskCache(const std::string& folder);

// Removes data sets of the folder and returns their bytes: all of them, or only `space` (NotFound if it does not
// exist). A process that uses them detects the removal within seconds and starts again; no row is lost. Removes only
// the cache's own files.
absl::StatusOr<uint64_t> ClearDiskCache(const std::string& folder, std::optional<uint64_t> space = std::nullopt);

// Returns the bytes that its disk has free for this user.
absl::StatusOr<uint64_t> FreeBytes(const std::string& folder);

// SpaceFolder returns a space's folder, 16 hex digits below the cache's folder. HasSpace returns whether it exists.
// RemoveSpace removes it and returns its bytes.
std::string SpaceFolder(const std::string& folder, uint64_t space);
bool HasSpace(const std::string& folder, uint64_t space);
absl::StatusOr<uint64_t> RemoveSpace(const std::string& folder, uint64_t space);

}  // namespace penstock::cache

#endif  // PENSTOCK_PIPELINE_CACHE_DISK_CACHE_FOLDER_H_
