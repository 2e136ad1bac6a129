// Index blobs in files, by content hash: built once by a worker, fetched by the others.
#ifndef PENSTOCK_SERVER_COORDINATOR_STORE_INDEX_BLOBS_H_
#define PENSTOCK_SERVER_COORDINATOR_STORE_INDEX_BLOBS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/mutex.h"

namespace penstock {

// Thread-safe. Files are replaced in one step, so that a crash leaves whole ones only.
class IndexBlobs {
 public:
  struct Limits {
    uint64_t blob_bytes = uint64_t{64} << 20;  // of one blob
    uint64_t total_bytes = uint64_t{8} << 30;  // of all; the longest unused go first
  };

  // `folder` is made when needed. Counts what is there.
  static absl::StatusOr<std::unique_ptr<IndexBlobs>> Open(const std::string& folder, const Limits& limits);

  // InvalidArgument: the blob is no index, or of another content hash; ResourceExhausted: too large.
  // One is kept for each state of a file that has the content (copies have times of their own). A blob that is there
  // already is kept. *file, if not null, becomes the state that the blob was made from.
  absl::Status Put(uint64_t content_hash, std::string_view blob, FileInfo* file = nullptr);
  // NotFound where there is none.
  absl::StatusOr<std::string> Get(uint64_t content_hash) const;
  // The one that was made from a file in this state.
  absl::StatusOr<std::string> Get(uint64_t content_hash, const FileInfo& file) const;

  uint64_t total_bytes() const;

 private:
  IndexBlobs(std::string folder, const Limits& limits) : folder_(std::move(folder)), limits_(limits) {}
  std::string PathOf(uint64_t content_hash) const;
  // Of the blobs beside the first one.
  std::string PathOf(uint64_t content_hash, const FileInfo& file) const;
  absl::StatusOr<std::string> Read(const std::string& path, uint64_t content_hash) const;
  absl::Status MakeRoom(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string folder_;
  const Limits limits_;
  mutable Mutex mutex_;
  uint64_t total_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STORE_INDEX_BLOBS_H_
