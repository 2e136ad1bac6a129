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

// Identifies the state of a file: equal values mean equal bytes, as far as the storage can detect.
struct FileInfo {
  uint64_t size = 0;     // bytes
  int64_t mtime_ns = 0;  // since 1970, in nanoseconds; local files only
  std::string tag = {};  // the storage's own identifier of a state (an ETag, a generation); empty for local files

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
  // Reads up to `length` bytes at `offset` into `out` and returns the number of bytes, which is smaller only at the end
  // of the file. Continues interrupted reads. Errors name the file.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const = 0;
  // As ReadAt, into consecutive parts, with few system calls.
  virtual absl::StatusOr<size_t> ReadPartsAt(uint64_t offset, const std::vector<ReadPart>& parts) const;
  // Reads from the storage itself: bypasses the page cache of this machine, and uses a new connection to remote
  // storage. Blocks until done. Files without caches read as ReadAt does.
  virtual absl::StatusOr<size_t> ReadAtPastCaches(uint64_t offset, size_t length, char* out) const {
    return ReadAt(offset, length, out);
  }
  // Announces that the bytes will be read soon. May start to fetch them; does not wait for them.
  virtual void WillRead(uint64_t offset, uint64_t length) const {}
  // Returns the current size and modification time of the open file.
  virtual absl::StatusOr<FileInfo> Info() const = 0;
  virtual const std::string& path() const = 0;
  // Returns the size of a read that amortizes its latency, for sequential readers.
  virtual size_t read_unit() const { return size_t{256} << 10; }
};

// Opens a local file. Returns NotFound, PermissionDenied or another error that names the path. Rejects a directory.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFile(const std::string& path);

absl::StatusOr<FileInfo> StatFile(const std::string& path);

// Returns the whole content. Rejects files larger than `limit` bytes.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t limit = uint64_t{1} << 30);

// Replaces the content of `path` atomically and survives a crash at any point: temporary file in the same folder,
// fsync, rename, fsync of the folder. On error, removes the temporary file and keeps the old file.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content);

// Returns an absl::Status for errno `error` with the mapped code and "what: strerror".
absl::Status ErrnoStatus(int error, std::string_view what);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FILE_H_
