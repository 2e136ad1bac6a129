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

namespace penstock::cache {
namespace {

namespace fs = std::filesystem;

// The first line follows https://bford.info/cachedir/. The second identifies our caches.
constexpr char kTag[] = "CACHEDIR.TAG";
constexpr char kLock[] = "lock";
constexpr char kTagText[] =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Records that penstockd keeps on disk. `penstock cache clear FOLDER` removes them.\n";
constexpr const char* kSpaceFiles[] = {"records", "index", "about"};

std::string Beside(const std::string& folder, const char* name) { return absl::StrCat(folder, "/", name); }

// Does not follow links or open the file, because opening a FIFO would wait for a writer.
bool IsRegular(const std::string& path) {
  struct stat st;
  return lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

std::string SmallText(const std::string& path) { return IsRegular(path) ? ReadWholeFile(path, 4096).value_or("") : ""; }

bool HasTag(const std::string& folder) { return SmallText(Beside(folder, kTag)) == kTagText; }

bool IsEmpty(const std::string& folder) {
  std::error_code error;
  return fs::is_empty(folder, error) && !error;
}

// Returns the space whose folder has that name.
std::optional<uint64_t> SpaceOf(const std::string& name) {
  uint64_t space = 0;
  if (name.size() != 16 || !absl::SimpleHexAtoi(name, &space)) return std::nullopt;
  for (const char c : name) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c)) && (c < 'a' || c > 'f')) return std::nullopt;
  }
  return space;
}

// Returns whether all files in the folder have names of a cache's files, with at least one besides the tag. If so, a
// damaged or lost tag is written again.
bool HoldsCacheFilesAlone(const std::string& folder) {
  bool any = false;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == kTag) continue;
    if (name != kLock && !SpaceOf(name).has_value()) return false;
    any = true;
  }
  return any && !error;
}

bool IsCacheFolder(const std::string& folder) { return HasTag(folder) || HoldsCacheFilesAlone(folder); }

// Removes a link, a FIFO or an empty folder that has the name of a regular file.
absl::Status RemoveUnlessRegular(const std::string& path) {
  struct stat st;
  if (lstat(path.c_str(), &st) != 0 || S_ISREG(st.st_mode)) return absl::OkStatus();
  if ((S_ISDIR(st.st_mode) ? rmdir(path.c_str()) : unlink(path.c_str())) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("disk cache: removing ", path, ", which is not a file"));
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
  entry.about = std::string(absl::StripAsciiWhitespace(SmallText(Beside(place, "about"))));
  struct stat st;
  if (stat(place.c_str(), &st) == 0) entry.used_ns = int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec;
  return entry;
}

}  // namespace

absl::StatusOr<CacheFolderLock> CacheFolderLock::Take(const std::string& folder) {
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, absl::StrCat("disk cache: making the folder ", folder));
  }
  if (!HasTag(folder)) {
    if (!IsEmpty(folder) && !HoldsCacheFilesAlone(folder)) {
      return absl::InvalidArgumentError(
          absl::StrCat("disk cache: ", folder,
                       " has files in it that are not a cache's: ", "name a folder that is empty, or not there yet"));
    }
    PS_RETURN_IF_ERROR(RemoveUnlessRegular(Beside(folder, kTag)));
    PS_RETURN_IF_ERROR(WriteFileAtomically(Beside(folder, kTag), kTagText));
  }
  const std::string path = Beside(folder, kLock);
  PS_RETURN_IF_ERROR(RemoveUnlessRegular(path));
  if (access(path.c_str(), R_OK | W_OK) != 0) chmod(path.c_str(), 0644);
  CacheFolderLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
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
        absl::StrCat(folder, " is not a disk cache; name the folder that penstockd got as --disk-cache"));
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

}  // namespace penstock::cache
