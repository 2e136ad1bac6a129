#include "pipeline/cache/disk/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "pipeline/cache/disk/disk_entry.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// The first line is that of https://bford.info/cachedir/; the second tells ours from others'.
constexpr char kTag[] = "CACHEDIR.TAG";
constexpr char kTagText[] =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Records that penstockd keeps on disk. `penstock cache clear FOLDER` removes them.\n";
constexpr const char* kSpaceFiles[] = {"records", "index", "about"};

std::string Beside(const std::string& folder, const char* name) { return absl::StrCat(folder, "/", name); }

bool IsCacheFolder(const std::string& folder) {
  const absl::StatusOr<std::string> tag = ReadWholeFile(Beside(folder, kTag), 4096);
  return tag.ok() && *tag == kTagText;
}

bool IsEmpty(const std::string& folder) {
  std::error_code error;
  return fs::is_empty(folder, error) && !error;
}

// The space whose folder has that name.
std::optional<uint64_t> SpaceOf(const std::string& name) {
  uint64_t space = 0;
  if (name.size() != 16 || !absl::SimpleHexAtoi(name, &space)) return std::nullopt;
  for (const char c : name) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c)) && (c < 'a' || c > 'f')) return std::nullopt;
  }
  return space;
}

uint64_t SizeOf(const std::string& path) {
  const absl::StatusOr<FileInfo> info = StatFile(path);
  return info.ok() ? info->size : 0;
}

DiskCacheEntry Describe(const std::string& folder, uint64_t space) {
  const std::string place = SpaceFolder(folder, space);
  DiskCacheEntry entry;
  entry.space = space;
  const uint64_t index = SizeOf(Beside(place, "index"));
  entry.bytes = SizeOf(Beside(place, "records")) + index;
  entry.records = index / kDiskIndexEntryBytes;
  const absl::StatusOr<std::string> about = ReadWholeFile(Beside(place, "about"), 4096);
  if (about.ok()) entry.about = std::string(absl::StripAsciiWhitespace(*about));
  struct stat st;
  if (stat(place.c_str(), &st) == 0) entry.used_ns = int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
  return entry;
}

}  // namespace

absl::StatusOr<CacheFolderLock> CacheFolderLock::Take(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, absl::StrCat("disk cache: making the folder ", folder));
  }
  if (!IsCacheFolder(folder)) {
    if (!IsEmpty(folder)) {
      return absl::InvalidArgumentError(
          absl::StrCat("disk cache: ", folder,
                       " has files in it that are not a cache's: ", "name a folder that is empty, or not there yet"));
    }
    PS_RETURN_IF_ERROR(WriteFileAtomically(Beside(folder, kTag), kTagText));
  }
  const std::string path = Beside(folder, "lock");
  CacheFolderLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.fd_ < 0) return ErrnoStatus(errno, absl::StrCat("disk cache: opening ", path));
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, absl::StrCat("disk cache: locking ", path));
    return absl::FailedPreconditionError(
        absl::StrCat("disk cache: another process uses ", folder, ": give each daemon a folder of its own"));
  }
  return lock;
}

CacheFolderLock::~CacheFolderLock() {
  if (fd_ >= 0) close(fd_);
}

CacheFolderLock::CacheFolderLock(CacheFolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

CacheFolderLock& CacheFolderLock::operator=(CacheFolderLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

absl::StatusOr<uint64_t> FreeBytes(const std::string& folder) {
  struct statvfs disk;
  if (statvfs(folder.c_str(), &disk) != 0) return ErrnoStatus(errno, folder);
  return uint64_t{disk.f_bavail} * disk.f_frsize;
}

std::string SpaceFolder(const std::string& folder, uint64_t space) {
  return absl::StrCat(folder, "/", absl::Hex(space, absl::kZeroPad16));
}

bool HasSpace(const std::string& folder, uint64_t space) {
  return access(Beside(SpaceFolder(folder, space), "records").c_str(), F_OK) == 0;
}

absl::StatusOr<uint64_t> RemoveSpace(const std::string& folder, uint64_t space) {
  const std::string place = SpaceFolder(folder, space);
  const uint64_t bytes = Describe(folder, space).bytes;
  for (const char* name : kSpaceFiles) {
    const std::string path = Beside(place, name);
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, absl::StrCat("removing ", path));
  }
  if (rmdir(place.c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY) {
    return ErrnoStatus(errno, absl::StrCat("removing ", place));
  }
  return bytes;
}

absl::StatusOr<std::vector<DiskCacheEntry>> ListDiskCache(const std::string& folder) {
  struct stat st;
  if (stat(folder.c_str(), &st) != 0) return ErrnoStatus(errno, folder);
  if (!IsCacheFolder(folder)) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder, " is no folder of a disk cache: it is what penstockd has as --disk-cache"));
  }
  std::vector<DiskCacheEntry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::optional<uint64_t> space = SpaceOf(it->path().filename().string());
    if (space.has_value()) entries.push_back(Describe(folder, *space));
  }
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": ", error.message()));
  std::sort(entries.begin(), entries.end(), [](const DiskCacheEntry& a, const DiskCacheEntry& b) {
    return std::pair(a.used_ns, a.space) > std::pair(b.used_ns, b.space);
  });
  return entries;
}

absl::StatusOr<uint64_t> ClearDiskCache(const std::string& folder, std::optional<uint64_t> space) {
  PS_ASSIGN_OR_RETURN(const std::vector<DiskCacheEntry> entries, ListDiskCache(folder));
  uint64_t freed = 0;
  bool found = false;
  for (const DiskCacheEntry& entry : entries) {
    if (space.has_value() && entry.space != *space) continue;
    found = true;
    PS_ASSIGN_OR_RETURN(const uint64_t bytes, RemoveSpace(folder, entry.space));
    freed += bytes;
  }
  if (space.has_value() && !found) {
    return absl::NotFoundError(absl::StrCat(folder, " has no data set ", absl::Hex(*space, absl::kZeroPad16),
                                            ": penstock cache list ", folder));
  }
  return freed;
}

}  // namespace penstock
