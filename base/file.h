// Reading and writing of files, as absl::Status. Reads go through RandomAccessFile, so that object stores can come.
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

// Which state of a file this is: equal ones mean equal bytes, as far as its storage can tell.
struct FileInfo {
  uint64_t size = 0;     // bytes
  int64_t mtime_ns = 0;  // since 1970, in nanoseconds; of local files
  std::string tag = {};  // what else a storage tells states apart by (an ETag, a generation); empty for local files

  bool operator==(const FileInfo&) const = default;
};

// A piece of a read that goes to several places.
struct ReadPart {
  char* out = nullptr;  // null: nobody wants these bytes
  size_t bytes = 0;
};

// A file open for reads at any offset. Thread-safe: any number of reads at once.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  // Reads up to `length` bytes at `offset` into `out` and returns how many there were: fewer only at the end of the
  // file. Errors name the file. Interrupted reads are continued.
  virtual absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const = 0;
  // The same, one part behind the other, with few calls.
  virtual absl::StatusOr<size_t> ReadPartsAt(uint64_t offset, const std::vector<ReadPart>& parts) const;
  // The bytes will be read soon: may begin to bring them, and does not wait for them.
  virtual void WillRead(uint64_t offset, uint64_t length) const {}
  // Size and modification time of the open file as they are now.
  virtual absl::StatusOr<FileInfo> Info() const = 0;
  virtual const std::string& path() const = 0;
  // Bytes in one read that are worth their waiting, for those who read on and on.
  virtual size_t read_unit() const { return size_t{256} << 10; }
};

// Opens a local file. NotFound, PermissionDenied or another error that names the path; a directory is refused.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFile(const std::string& path);

absl::StatusOr<FileInfo> StatFile(const std::string& path);

// The whole content; refuses files larger than `limit` bytes.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t limit = uint64_t{1} << 30);

// Replaces `path` by `content` in one step that survives a crash at any point: temporary file in the same folder,
// fsync, rename, fsync of the folder. On error nothing is left behind and the old file stands.
absl::Status WriteFileAtomically(const std::string& path, std::string_view content);

// An absl::Status for errno `error` with the mapped code and "what: strerror".
absl::Status ErrnoStatus(int error, std::string_view what);

}  // namespace penstock

#endif  // PENSTOCK_BASE_FILE_H_
