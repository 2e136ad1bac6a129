#include "server/common/state_dir.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace penstock::server {
namespace {

absl::Status MakeFolders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0750) != 0 && errno != EEXIST) {
      return ErrnoStatus(errno, absl::StrCat("cannot make the state directory ", part));
    }
    if (end == std::string::npos) return absl::OkStatus();
  }
}

}  // namespace

StateDir::StateDir(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

StateDir::StateDir(StateDir&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

StateDir& StateDir::operator=(StateDir&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

StateDir::~StateDir() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<StateDir> StateDir::Open(const std::string& path, const std::string& role) {
  if (path.empty()) return absl::InvalidArgumentError("no state directory is configured; give --state-dir DIR");
  PS_RETURN_IF_ERROR(MakeFolders(path));
  const std::string file = absl::StrCat(path, "/", role, ".lock");
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("cannot write to the state directory: ", file));
  StateDir dir(path, fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, absl::StrCat("cannot lock ", file));
    char holder[32] = {};
    const ssize_t length = pread(fd, holder, sizeof(holder) - 1, 0);
    const std::string id(absl::StripSuffix(absl::string_view(holder, length > 0 ? length : 0), "\n"));
    return absl::FailedPreconditionError(absl::StrCat("another ", role, id.empty() ? "" : " (process ", id,
                                                      id.empty() ? "" : ")", " runs on the state directory ", path,
                                                      "; stop it, or give another --state-dir"));
  }
  // For the message above; the lock does not depend on it.
  const std::string id = absl::StrCat(getpid(), "\n");
  if (ftruncate(fd, 0) != 0 || pwrite(fd, id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) {
    return ErrnoStatus(errno, absl::StrCat("cannot write ", file));
  }
  return dir;
}

}  // namespace penstock::server
