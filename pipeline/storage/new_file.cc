#include "pipeline/storage/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/temporaries.h"

namespace penstock::storage {
namespace {

// The name is hidden, so that no glob matches a half-written shard.
std::string TemporaryName(const std::string& path) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  return absl::StrCat(path.substr(0, name), ".", path.substr(name), std::string(kTemporarySuffix));
}

// Writes to a temporary name, and renames the file on Commit().
class LocalNewFile final : public NewFile {
 public:
  explicit LocalNewFile(std::string path) : path_(std::move(path)), temporary_(TemporaryName(path_)) {}
  ~LocalNewFile() override {
    if (fd_ < 0) return;
    close(fd_);
    unlink(temporary_.c_str());
  }
  LocalNewFile(const LocalNewFile&) = delete;
  LocalNewFile& operator=(const LocalNewFile&) = delete;

  absl::Status Create() {
    std::string name = temporary_;
    fd_ = mkostemp(name.data(), O_CLOEXEC);
    if (fd_ < 0) return ErrnoStatus(errno, absl::StrCat("creating ", path_));
    temporary_ = name;
    return absl::OkStatus();
  }

  absl::Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, absl::StrCat("writing ", path_));
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

  absl::Status Commit() override {
    if (fchmod(fd_, 0644) != 0 || fsync(fd_) != 0) {
      return ErrnoStatus(errno, absl::StrCat("writing ", path_));
    }
    if (rename(temporary_.c_str(), path_.c_str()) != 0) {
      return ErrnoStatus(errno, absl::StrCat("renaming ", temporary_, " to ", path_));
    }
    const int fd = std::exchange(fd_, -1);
    if (close(fd) != 0) return ErrnoStatus(errno, absl::StrCat("closing ", path_));
    SyncFolderOf(path_);
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace

absl::StatusOr<std::unique_ptr<NewFile>> NewFile::Create(const std::string& path) {
  auto file = std::make_unique<LocalNewFile>(path);
  PS_RETURN_IF_ERROR(file->Create());
  return file;
}

}  // namespace penstock::storage
