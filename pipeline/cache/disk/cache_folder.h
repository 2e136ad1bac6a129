// The folder of a cache on disk: whose it is, what lies in it, how it is cleared. For the cache itself and for
// operators.
#ifndef PENSTOCK_PIPELINE_CACHE_DISK_CACHE_FOLDER_H_
#define PENSTOCK_PIPELINE_CACHE_DISK_CACHE_FOLDER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock {

// Held while a process writes into the folder; goes with the process, however it ends. Movable.
class CacheFolderLock {
 public:
  // Makes the folder where it is not there (its parent must be) and marks it as a cache's.
  //   InvalidArgument     it has files in it that are no cache's
  //   FailedPrecondition  another process writes there
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
  std::string about;     // which data set it is, for people
  uint64_t bytes = 0;    // of its files
  uint64_t records = 0;  // that its index names
  int64_t used_ns = 0;   // when it was used last, since 1970
};

// What lies in the folder, the latest used first. NotFound, or FailedPrecondition where it is no cache's.
absl::StatusOr<std::vector<DiskCacheEntry>> ListDiskCache(const std::string& folder);

// Removes data sets of the folder and returns their bytes: all of them, or `space` alone (NotFound where it is not
// there). A process that uses them notices within seconds and begins anew; no row is lost. Removes nothing but the
// cache's own files.
absl::StatusOr<uint64_t> ClearDiskCache(const std::string& folder, std::optional<uint64_t> space = std::nullopt);

// What its disk has free for us.
absl::StatusOr<uint64_t> FreeBytes(const std::string& folder);

// A space's folder, as 16 hex digits below the cache's; whether it is there; and its end, with the bytes that it had.
std::string SpaceFolder(const std::string& folder, uint64_t space);
bool HasSpace(const std::string& folder, uint64_t space);
absl::StatusOr<uint64_t> RemoveSpace(const std::string& folder, uint64_t space);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_CACHE_DISK_CACHE_FOLDER_H_
