// The files that one job's kept rows lie in, one behind another.
#ifndef PENSTOCK_PIPELINE_CACHE_ROW_FILES_H_
#define PENSTOCK_PIPELINE_CACHE_ROW_FILES_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/lent_files.h"
#include "base/mutex.h"

namespace penstock {

// Only grows: a place is written once, and goes with its whole file, when nobody holds a row of it any more.
// Thread-safe.
class RowFiles {
 public:
  explicit RowFiles(std::shared_ptr<LentFiles> files) : files_(std::move(files)) {}

  struct Row {
    std::shared_ptr<const std::string_view> bytes;  // null: the system gives no memory file
    uint64_t file = 0;                              // LentFile::id()
  };
  // A copy of the row, kept by what is returned. `limit_bytes`: of all rows there will be in all such, about, as far as
  // is known now; files are made to measure.
  Row Write(std::string_view row, uint64_t limit_bytes);
  // No more rows go to that file: it goes with those that are in it.
  void Leave(uint64_t file);

  // What a row takes.
  static uint64_t Rounded(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  struct Place {
    std::shared_ptr<LentFile> file;  // null: there is none
    std::byte* at = nullptr;
  };
  Place Take(uint64_t bytes, uint64_t file_bytes);

  const std::shared_ptr<LentFiles> files_;
  Mutex mutex_;
  std::shared_ptr<LentFile> file_ ABSL_GUARDED_BY(mutex_);  // rows go to; null: none yet
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;               // of it
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_CACHE_ROW_FILES_H_
