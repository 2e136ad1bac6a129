#include "pipeline/cache/row_files.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/statusor.h"

namespace penstock::cache {
namespace {

// Each file needs a descriptor here and a mapping in each trainer, so there are about 64 at most. Pages that no row has
// reached use no memory.
constexpr uint64_t kFiles = 64;
constexpr uint64_t kLeastFile = uint64_t{4} << 20;
constexpr uint64_t kPage = 4096;

struct Written {
  std::shared_ptr<SharedRowFile> file;
  std::string_view bytes;
};

}  // namespace

RowFiles::Row RowFiles::Write(std::string_view row, uint64_t limit_bytes) {
  const Place place = Take(Rounded(row.size()), std::max(kLeastFile, limit_bytes / kFiles / kPage * kPage));
  if (place.file == nullptr) return {};
  std::memcpy(place.at, row.data(), row.size());
  auto written =
      std::make_shared<const Written>(Written{place.file, {reinterpret_cast<const char*>(place.at), row.size()}});
  return {{written, &written->bytes}, place.file->id()};
}

void RowFiles::Leave(uint64_t file) {
  std::shared_ptr<SharedRowFile> left;  // freed after the lock is released
  MutexLock lock(&mutex_);
  if (file_ != nullptr && file_->id() == file) left = std::move(file_);
}

RowFiles::Place RowFiles::Take(uint64_t bytes, uint64_t file_bytes) {
  MutexLock lock(&mutex_);
  if (file_ == nullptr || bytes > file_->size() - used_) {
    absl::StatusOr<std::shared_ptr<SharedRowFile>> made =
        files_->Create(std::max(file_bytes, (bytes + kPage - 1) / kPage * kPage));
    if (!made.ok()) return {};
    file_ = *std::move(made);
    used_ = 0;
  }
  const Place place{file_, file_->data() + used_};
  used_ += bytes;
  return place;
}

}  // namespace penstock::cache
