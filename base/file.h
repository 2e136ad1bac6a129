// Reads and writes files, with errors as absl::Status. Reads use RandomAccessFile, which object stores implement too.
#ifndef PENSTOCK_BASE_FILE_H_
#define PENSTOCK_BASE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

// Identifies the state of a file. Equal values mean equal bytes, as far as the storage can detect changes.
struct FileInfo {
  uint64_t size = 0;     // bytes
  int64_t mtime_ns = 0;  // time of the last change, in nanoseconds since 1970; local files only
  std::string tag = {};  // the storage's own identifier of the state (an ETag, a generation); empty for local files

  bool operator==(const FileInfo&) const = default;
};

// A part of a read into several buffers.
struct ReadPart {
  char* out = nullptr;  // null: skip these bytes
  size_t bytes = 0;
};

// A file open for reads at any offset. Thread-safe: supports any number of concurrent reads.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads `length` bytes at `offset` into `out` and returns the number of bytes. Returns less than `length` only if the
  // file ends earlier. Continues interrupted reads. Errors name the file.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const = 0;
  // Reads consecutive bytes at `offset` into the parts, one part after another. Returns the number of bytes read or
  // skipped. It is less than the total only if the file ends earlier. An implementation may read all parts in one call.
  virtual absl::StatusOr<size_t> ReadPartsAt(uint64_t offset, const std::vector<ReadPart>& parts) const;
  // Reads as ReadAt does, but from the storage itself: bypasses the page cache of this machine, and uses a new
  // connection to remote storage. Equals ReadAt for files that cannot bypass a cache.
  virtual absl::StatusOr<size_t> ReadAtPastCaches(uint64_t offset, size_t length, char* out) const {
    return ReadAt(offset, length, out);
  }
  // Announces a read of these bytes. May start to fetch them, but does not wait for them.
  virtual void WillRead(uint64_t offset, uint64_t length) const {}
  // Returns the state of the open file: for a local file the current one. For a remote object it is the state at the
  // open, and reads of any other state fail.
  virtual absl::StatusOr<FileInfo> Info() const = 0;
  virtual const std::string& path() const = 0;
  // Returns the bytes that a sequential reader should read at once to amortize the latency.
  virtual size_t read_unit() const { return size_t{256} << 10; }
};

enum class Links { kFollow, kReject };

// Opens a local file. Errors name the path:
//   NotFound, PermissionDenied or another code of the system
//   InvalidArgument   the path is a directory
//   PermissionDenied  Links::kReject: the path, which must be absolute, is not that of the file without symbolic links
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFile(const std::string& path, Links links = Links::kFollow);

// Returns the state of a local file. Follows links. Errors name the path.
absl::StatusOr<FileInfo> StatFile(const std::string& path);

// Returns the whole content of a local file. Reads until its end, whatever size the system reports, as for pipes and
// files of /proc. Returns ResourceExhausted if it has more than `limit` bytes.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t limit = uint64_t{1} << 30);

// Replaces the content of `path` atomically. After a crash at any point, `path` has the old or the new content. Writes
// a temporary file in the same folder, then calls fsync, renames the file, and calls fsync for the folder. On error,
// removes the temporary file and keeps the old file. Returns NotFound if the folder does not exist. The file has mode
// 0644. If `path` is a symbolic link, the file replaces the link, not its target.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content);

// Calls fsync for the folder of the file `path`, so that the file's new name survives a power failure. Some file
// systems do not support that; then does nothing.
void SyncFolderOf(const std::string& path);

// Converts errno `error` to an absl::Status with the corresponding code and the message "what: strerror(error)".
absl::Status ErrnoStatus(int error, std::string_view what);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FILE_H_
