#include "transport/shared_memory/local_address.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace penstock::transport {
namespace {

constexpr char kSuffix[] = ".sock";
constexpr int kBacklog = 128;
// Longest path in a socket's address.
constexpr size_t kMostPath = sizeof(sockaddr_un::sun_path) - 1;

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  if (path.empty() || path.size() > kMostPath || path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": a socket's path has at most ", kMostPath,
                                                   " bytes; choose a shorter folder with --socket-dir"));
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

constexpr int kBufferBytes = 1 << 20;

absl::StatusOr<OwnedFd> MakeSocket() {
  OwnedFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return ErrnoStatus(errno, "socket");
  GrowBuffer(fd);
  return fd;
}

// Sets the mode of a path to `mode`, and to `group` or `others` as well for these users.
absl::Status Admit(const std::string& path, mode_t mode, mode_t group, mode_t others, const SocketUsers& users) {
  if (users.kind == SocketUsers::kGroup) {
    mode |= group;
    // A service may have no right to chown, and needs none for its own group.
    struct stat info {};
    const bool has_group = lstat(path.c_str(), &info) == 0 && info.st_gid == users.group;
    if (!has_group && chown(path.c_str(), static_cast<uid_t>(-1), users.group) != 0) {
      return ErrnoStatus(errno, absl::StrCat(path, ": giving it to group ", users.group,
                                             " of --socket-group, of which the worker's user must be a member"));
    }
  }
  if (users.kind == SocketUsers::kAny) mode |= group | others;
  return chmod(path.c_str(), mode) == 0 ? absl::OkStatus() : ErrnoStatus(errno, absl::StrCat(path, ": chmod"));
}

}  // namespace

void GrowBuffer(const OwnedFd& socket) {
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &kBufferBytes, sizeof kBufferBytes);
}

std::string LocalAddress::ToString() const { return absl::StrCat(boot, ":", worker, ":", path); }

std::optional<LocalAddress> LocalAddress::Parse(const std::string& text) {
  const size_t first = text.find(':');
  if (first == std::string::npos) return std::nullopt;
  const size_t second = text.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  LocalAddress address{text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
  if (address.boot.empty() || address.worker.empty() || !absl::StartsWith(address.path, "/")) return std::nullopt;
  return address;
}

std::string BootId() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

std::string DefaultSocketDir() {
  // systemd separates several folders by colons; use the first.
  if (const std::string dir = Variable("RUNTIME_DIRECTORY"); !dir.empty()) return dir.substr(0, dir.find(':'));
  if (const std::string dir = Variable("XDG_RUNTIME_DIR"); !dir.empty()) return dir + "/penstock";
  if (geteuid() == 0) return "/run/penstock";
  return absl::StrCat("/tmp/penstock-", geteuid());
}

absl::Status PrepareSocketDir(const std::string& dir, const SocketUsers& users) {
  if (!absl::StartsWith(dir, "/")) {
    return absl::FailedPreconditionError(absl::StrCat(dir, ": --socket-dir is not an absolute path"));
  }
  if (mkdir(dir.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, absl::StrCat(dir, " (--socket-dir)"));
  struct stat info {};
  if (lstat(dir.c_str(), &info) != 0) return ErrnoStatus(errno, absl::StrCat(dir, " (--socket-dir)"));
  const char* const wrong = !S_ISDIR(info.st_mode)                         ? "is not a folder"
                            : info.st_uid != geteuid() && info.st_uid != 0 ? "belongs to another user"
                            : (info.st_mode & (S_IWGRP | S_IWOTH)) != 0    ? "can be written by other users"
                                                                           : nullptr;
  if (wrong == nullptr)
    return info.st_uid == geteuid() ? Admit(dir, info.st_mode & 07777, S_IXGRP, S_IXOTH, users) : absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(dir, " ", wrong, ", and is not used for sockets; choose another with --socket-dir"));
}

absl::StatusOr<OwnedFd> ListenAt(const std::string& path, const SocketUsers& users) {
  const std::string made = absl::StrCat(path, ".", getpid(), ".new");
  PS_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(made));
  PS_ASSIGN_OR_RETURN(OwnedFd fd, MakeSocket());
  unlink(made.c_str());  // left by a dead process with the same process id
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return ErrnoStatus(errno, absl::StrCat("bind ", made));
  }
  if (absl::Status admitted = Admit(made, 0600, S_IRGRP | S_IWGRP, S_IROTH | S_IWOTH, users); !admitted.ok()) {
    unlink(made.c_str());
    return admitted;
  }
  if (listen(fd.get(), kBacklog) != 0 || rename(made.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(made.c_str());
    return ErrnoStatus(error, absl::StrCat("listening at ", path));
  }
  return fd;
}

void RemoveDeadSockets(const std::string& dir) {
  DIR* const folder = opendir(dir.c_str());
  if (folder == nullptr) return;
  std::vector<std::string> names;
  while (const dirent* const entry = readdir(folder)) {
    if (absl::EndsWith(entry->d_name, kSuffix)) names.emplace_back(entry->d_name);
  }
  closedir(folder);
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(dir, "/", name);
    // connect() refuses a file of another kind like a dead socket.
    struct stat info {};
    if (lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) continue;
    const absl::StatusOr<sockaddr_un> address = AddressOf(path);
    const absl::StatusOr<OwnedFd> fd = MakeSocket();
    if (!address.ok() || !fd.ok()) continue;
    // A socket that is about to listen has another file name until it does.
    if (connect(fd->get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 &&
        errno == ECONNREFUSED) {
      unlink(path.c_str());
    }
  }
}

absl::StatusOr<OwnedFd> ConnectTo(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(path));
  PS_ASSIGN_OR_RETURN(OwnedFd fd, MakeSocket());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EAGAIN) {
      return absl::ResourceExhaustedError(absl::StrCat(path, ": the worker has not yet accepted ", kBacklog,
                                                       " connections of other processes to this socket"));
    }
    const bool forbidden = errno == EACCES || errno == EPERM;
    return absl::Status(forbidden ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kUnavailable,
                        absl::StrCat(path, ": ", strerror(errno)));
  }
  return fd;
}

std::optional<Peer> PeerOf(const OwnedFd& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer) return std::nullopt;
  return Peer::Host(peer.uid, peer.pid);
}

}  // namespace penstock::transport
