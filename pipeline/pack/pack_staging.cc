#include "pipeline/pack/pack_staging.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "pipeline/pack/record_spool.h"

namespace penstock::pack {
namespace {

constexpr char kPart[] = "part-", kMain[] = "main";

absl::Status NotEmpty(const std::string& out) {
  return absl::FailedPreconditionError(absl::StrCat(out, " is there and not empty; take another folder, or remove it"));
}

// Returns an open descriptor of the folder that holds its lock. Otherwise returns -1 and sets errno.
int Lock(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

// Returns whether Lock() fails with this errno on a file system without locks, as some network ones are.
bool HasNoLocks(int error) { return error == ENOLCK || error == EOPNOTSUPP || error == EINVAL || error == ENOSYS; }

absl::Status MountPoint(const std::string& out) {
  return absl::FailedPreconditionError(absl::StrCat(out, " is a mount point; take a folder below it"));
}

// Removes the folders of killed processes that wrote for the same `out`. Their locks are free.
void RemoveLeftovers(const std::filesystem::path& parent, const std::string& begin) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator it(parent, ignored), end; it != end; it.increment(ignored)) {
    if (!absl::StartsWith(it->path().filename().string(), begin)) continue;
    const int lock = Lock(it->path().string());
    if (lock < 0) continue;
    std::filesystem::remove_all(it->path(), ignored);
    close(lock);
  }
}

}  // namespace

std::string PartFile(const std::string& staging, uint32_t part) { return absl::StrCat(staging, "/", kPart, part); }
std::string MainPartFile(const std::string& staging) { return absl::StrCat(staging, "/", kMain); }

absl::StatusOr<std::unique_ptr<PackStaging>> PackStaging::CreateBeside(const std::string& out) {
  const std::filesystem::path target(out), parent = target.parent_path();
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return ErrnoStatus(error.value(), absl::StrCat("creating the folder ", parent.string()));

  const std::string begin = absl::StrCat(".", target.filename().string(), ".packing-");
  RemoveLeftovers(parent, begin);
  // Until it is locked, the folder has a name that no process removes as a leftover. It keeps that name on a file
  // system without locks.
  std::string making = (parent / absl::StrCat(".", target.filename().string(), ".making-XXXXXX")).string();
  if (mkdtemp(making.data()) == nullptr) return ErrnoStatus(errno, absl::StrCat("creating ", making));
  const int lock = Lock(making);
  if (lock < 0 && HasNoLocks(errno)) return std::unique_ptr<PackStaging>(new PackStaging(out, making, lock));
  if (lock < 0) {
    const absl::Status failed = ErrnoStatus(errno, absl::StrCat("locking ", making));
    std::filesystem::remove(making, error);
    return failed;
  }
  const std::string folder = (parent / absl::StrCat(begin, making.substr(making.size() - 6))).string();
  if (rename(making.c_str(), folder.c_str()) != 0) {
    const absl::Status failed = ErrnoStatus(errno, absl::StrCat("renaming ", making));
    std::filesystem::remove(making, error);
    close(lock);
    return failed;
  }
  return std::unique_ptr<PackStaging>(new PackStaging(out, folder, lock));
}

absl::StatusOr<std::unique_ptr<PackStaging>> PackStaging::CreateApart(const std::string& name) {
  return CreateBeside(name);
}

absl::StatusOr<std::unique_ptr<PackStaging>> PackStaging::Create(const std::string& out) {
  std::error_code error;
  if (std::filesystem::exists(out, error) &&
      (!std::filesystem::is_directory(out, error) || !std::filesystem::is_empty(out, error))) {
    return NotEmpty(out);
  }
  PS_ASSIGN_OR_RETURN(std::unique_ptr<PackStaging> staging, CreateBeside(out));
  // Checks now whether Publish could replace `out`, instead of failing at the end.
  const std::string probe = staging->folder() + "/probe";
  if (rename(out.c_str(), probe.c_str()) == 0) {
    if (rename(probe.c_str(), out.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat("renaming ", probe));
  } else if (errno == EBUSY || errno == EXDEV) {
    return MountPoint(out);
  }
  return staging;
}

PackStaging::~PackStaging() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
  if (lock_ >= 0) close(lock_);
}

absl::StatusOr<std::vector<std::string>> PackStaging::Parts(const std::vector<uint32_t>& expected) const {
  std::set<uint32_t> finished, begun(expected.begin(), expected.end());
  bool main = false;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    main = main || name == kMain;
    if (!absl::StartsWith(name, kPart)) continue;
    const size_t open = name.find(kOpenSpool);
    uint32_t number = 0;
    if (!absl::SimpleAtoi(name.substr(std::strlen(kPart), open - std::strlen(kPart)), &number)) continue;
    (open == std::string::npos ? finished : begun).insert(number);
  }
  if (error) return ErrnoStatus(error.value(), absl::StrCat("listing ", folder_));
  for (const uint32_t number : begun) {
    if (finished.count(number) > 0) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "part ", number,
        " is not finished: its writer has died, has failed, or still writes; write that part again first"));
  }
  std::vector<std::string> files;
  if (main) files.push_back(MainPartFile(folder_));
  for (const uint32_t number : finished) files.push_back(PartFile(folder_, number));
  return files;
}

absl::Status PackStaging::Publish() {
  if (rename(shards().c_str(), out_.c_str()) != 0) {
    if (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR) return NotEmpty(out_);
    if (errno == EBUSY || errno == EXDEV) return MountPoint(out_);
    return ErrnoStatus(errno, absl::StrCat("renaming ", shards(), " to ", out_));
  }
  const std::string parent = std::filesystem::path(out_).parent_path().string();
  const int fd = open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    fsync(fd);  // some file systems do not support it; the rename itself is complete
    close(fd);
  }
  return absl::OkStatus();
}

}  // namespace penstock::pack
