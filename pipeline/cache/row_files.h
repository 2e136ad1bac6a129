// The files that hold the kept rows of one space of a RowCache.
#ifndef PENSTOCK_PIPELINE_CACHE_ROW_FILES_H_
#define PENSTOCK_PIPELINE_CACHE_ROW_FILES_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "base/shared_row_files.h"

namespace penstock::cache {

// Rows are appended, and no place is written twice. A file is freed as a whole, once it takes no new rows, and neither
// the cache nor a reader holds a row of it. Thread-safe.
class RowFiles {
 public:
  explicit RowFiles(std::shared_ptr<SharedRowFiles> files) : files_(std::move(files)) {}

  struct Row {
    std::shared_ptr<const std::string_view> bytes;  // null: the system provides no memory file
    uint64_t file = 0;                              // SharedRowFile::id()
  };
  // Writes a copy of the row. The returned pointer keeps its file alive. `limit_bytes` is the expected total of all
  // rows, which determines the size of the files.
  Row Write(std::string_view row, uint64_t limit_bytes);
  // Stops writing to the file, so that it is freed with its rows. Has no effect if it is not the file for new rows.
  void Leave(uint64_t file);

  // Returns the bytes that a row occupies.
  static uint64_t Rounded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  struct Place {
    std::shared_ptr<SharedRowFile> file;  // null: no file is available
    std::byte* at = nullptr;
  };
  Place Take(uint64_t bytes, uint64_t file_bytes);

  const std::shared_ptr<SharedRowFiles> files_;
  Mutex mutex_;
  std::shared_ptr<SharedRowFile> file_ ABSL_GUARDED_BY(mutex_);  // file for new rows; null: none yet
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;                    // bytes used of file_
};

}  // namespace penstock::cache

#endif  // PENSTOCK_PIPELINE_CACHE_ROW_FILES_H_
