// Index blobs in files, by content hash. One worker builds an index, and the others fetch it.
#ifndef PENSTOCK_SERVER_COORDINATOR_STORE_INDEX_BLOBS_H_
#define PENSTOCK_SERVER_COORDINATOR_STORE_INDEX_BLOBS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/mutex.h"

namespace penstock::coordinator {

// Thread-safe. Files are replaced atomically, so a crash leaves only complete files.
class IndexBlobs {
 public:
  struct Limits {
    uint64_t blob_bytes = uint64_t{64} << 20;  // limit for one blob
    uint64_t total_bytes = uint64_t{8} << 30;  // limit for all; the least recently used are removed first
  };

  // Opens the store in `folder`, which it creates if needed. Counts the bytes of its blobs.
  static absl::StatusOr<std::unique_ptr<IndexBlobs>> Open(const std::string& folder, const Limits& limits);

  // Stores a blob. Returns InvalidArgument if the blob is not an index or has another content hash, and
  // ResourceExhausted if it is too large. Keeps one blob for each state of a file with the content, because copies have
  // different times. Does not replace a blob of the same state. If the blob is valid and `file` is not null, sets *file
  // to the state of the file from which the blob was made.
  absl::Status Put(uint64_t content_hash, std::string_view blob, FileInfo* file = nullptr);
  // Returns the first stored blob of the content, or another blob of it if that one was removed. Returns NotFound if
  // the store keeps no blob of the content.
  absl::StatusOr<std::string> Get(uint64_t content_hash) const;
  // Returns the blob that was made from a file in this state, or NotFound.
  absl::StatusOr<std::string> Get(uint64_t content_hash, const FileInfo& file) const;

  // Removes all blobs of these contents, and returns their bytes. Errors name the file.
  absl::StatusOr<uint64_t> Remove(const std::vector<uint64_t>& content_hashes);

  uint64_t total_bytes() const;

 private:
  IndexBlobs(std::string folder, const Limits& limits) : folder_(std::move(folder)), limits_(limits) {}
  std::string PathOf(uint64_t content_hash) const;
  // Path of the second and further blobs of the content. If the first blob is removed to make room, another one takes
  // its path.
  std::string PathOf(uint64_t content_hash, const FileInfo& file) const;
  absl::StatusOr<std::string> Read(const std::string& path, uint64_t content_hash) const;
  absl::Status MakeRoom(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string folder_;
  const Limits limits_;
  mutable Mutex mutex_;
  uint64_t total_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STORE_INDEX_BLOBS_H_
