#include "pipeline/cache/disk/disk_space.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace penstock::cache {
namespace {

// Bytes of the index per read while it is loaded.
constexpr size_t kIndexPiece = kDiskIndexEntryBytes * 4096;

// Reads up to `length` bytes and returns their number, which is smaller at the end of the file.
absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, size_t length, char* out, const std::string& path) {
  size_t done = 0;
  while (done < length) {
    const ssize_t n = pread(fd, out + done, length - done, static_cast<off_t>(offset + done));
    if (n == 0) break;
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat(path, ": reading at offset ", offset + done));
    done += static_cast<size_t>(n);
  }
  return done;
}

absl::Status WriteAt(int fd, uint64_t offset, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("writing ", path));
    bytes.remove_prefix(static_cast<size_t>(n));
    offset += static_cast<uint64_t>(n);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> SizeOf(int fd, const std::string& path) {
  struct stat st;
  if (fstat(fd, &st) != 0) return ErrnoStatus(errno, path);
  return static_cast<uint64_t>(st.st_size);
}

}  // namespace

absl::StatusOr<std::unique_ptr<DiskSpace>> DiskSpace::Open(const std::string& folder, uint64_t space,
                                                           const std::string& about, size_t most_entries) {
  std::unique_ptr<DiskSpace> opened(new DiskSpace(folder, space));
  PS_RETURN_IF_ERROR(opened->OpenFiles(about));
  PS_RETURN_IF_ERROR(opened->TakeUpIndex(most_entries));
  return opened;
}

DiskSpace::~DiskSpace() {
  if (records_fd_ >= 0) close(records_fd_);
  if (index_fd_ >= 0) close(index_fd_);
}

absl::Status DiskSpace::OpenFiles(const std::string& about) {
  if (mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, absl::StrCat("making the folder ", folder_));
  }
  const std::string about_path = absl::StrCat(folder_, "/about");
  if (access(about_path.c_str(), F_OK) != 0) PS_RETURN_IF_ERROR(WriteFileAtomically(about_path, about + "\n"));
  const auto open_file = [this](const char* name, int* fd) -> absl::Status {
    const std::string path = absl::StrCat(folder_, "/", name);
    *fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    return *fd < 0 ? ErrnoStatus(errno, absl::StrCat("opening ", path)) : absl::OkStatus();
  };
  PS_RETURN_IF_ERROR(open_file("records", &records_fd_));
  return open_file("index", &index_fd_);
}

absl::Status DiskSpace::TakeUpIndex(size_t most_entries) {
  const std::string index_path = absl::StrCat(folder_, "/index"), records_path = absl::StrCat(folder_, "/records");
  PS_ASSIGN_OR_RETURN(const uint64_t records_size, SizeOf(records_fd_, records_path));
  std::vector<char> piece(kIndexPiece);
  uint64_t next = 0;  // offset of the next entry in the index
  MutexLock lock(&mutex_);
  for (bool more = true; more;) {
    PS_ASSIGN_OR_RETURN(const size_t n, ReadAt(index_fd_, next, piece.size(), piece.data(), index_path));
    more = n == piece.size();
    for (size_t at = 0; at + kDiskIndexEntryBytes <= n; at += kDiskIndexEntryBytes) {
      if (offsets_.size() >= most_entries) {
        more = false;
        break;
      }
      next += kDiskIndexEntryBytes;
      const auto place = ParseDiskIndexEntry(space_, std::string_view(piece.data() + at, kDiskIndexEntryBytes));
      // An entry's bytes are written before its index entry, after those of the previous entry.
      if (!place.has_value() || place->offset < records_end_ || place->end() > records_size) continue;
      offsets_.insert_or_assign(place->record, place->offset);  // a damaged record is written again later in the file
      records_end_ = place->end();
      index_end_ = next;
    }
  }
  if (ftruncate(records_fd_, static_cast<off_t>(records_end_)) != 0) return ErrnoStatus(errno, records_path);
  if (ftruncate(index_fd_, static_cast<off_t>(index_end_)) != 0) return ErrnoStatus(errno, index_path);
  bytes_ = records_end_ + index_end_;
  return absl::OkStatus();
}

bool DiskSpace::Contains(uint64_t record) const {
  MutexLock lock(&mutex_);
  return offsets_.contains(record);
}

size_t DiskSpace::entries() const {
  MutexLock lock(&mutex_);
  return offsets_.size();
}

absl::StatusOr<std::optional<std::string_view>> DiskSpace::Read(uint64_t record, uint32_t length, char* out) {
  uint64_t offset;
  {
    MutexLock lock(&mutex_);
    const auto it = offsets_.find(record);
    if (it == offsets_.end()) return std::nullopt;
    offset = it->second;
  }
  const std::string path = absl::StrCat(folder_, "/records");
  PS_ASSIGN_OR_RETURN(const size_t n, ReadAt(records_fd_, offset, kDiskHeaderBytes + length, out, path));
  const std::optional<std::string_view> bytes = CheckDiskEntry(space_, record, std::string_view(out, n));
  if (!bytes.has_value()) {
    damaged_.fetch_add(1, std::memory_order_relaxed);
    MutexLock lock(&mutex_);
    offsets_.erase(record);
  }
  return bytes;
}

void DiskSpace::WillRead(uint64_t record, uint32_t length) const {
  uint64_t offset;
  {
    MutexLock lock(&mutex_);
    const auto it = offsets_.find(record);
    if (it == offsets_.end()) return;
    offset = it->second;
  }
  posix_fadvise(records_fd_, static_cast<off_t>(offset), static_cast<off_t>(kDiskHeaderBytes + length),
                POSIX_FADV_WILLNEED);
}

absl::Status DiskSpace::Append(uint64_t record, std::string_view bytes) {
  if (Contains(record)) return absl::OkStatus();
  const DiskPlace place{record, records_end_, static_cast<uint32_t>(bytes.size())};
  const std::string records_path = absl::StrCat(folder_, "/records");
  // Writes the bytes before the index entry. A process that dies in between leaves bytes without an index entry.
  PS_RETURN_IF_ERROR(WriteAt(records_fd_, records_end_, DiskHeader(space_, record, bytes), records_path));
  PS_RETURN_IF_ERROR(WriteAt(records_fd_, records_end_ + kDiskHeaderBytes, bytes, records_path));
  PS_RETURN_IF_ERROR(WriteAt(index_fd_, index_end_, DiskIndexEntry(space_, place), absl::StrCat(folder_, "/index")));
  records_end_ = place.end();
  index_end_ += kDiskIndexEntryBytes;
  bytes_ = records_end_ + index_end_;
  MutexLock lock(&mutex_);
  offsets_.try_emplace(record, place.offset);
  return absl::OkStatus();
}

bool DiskSpace::IsInPlace() const {
  struct stat open_file, named;
  const std::string path = absl::StrCat(folder_, "/records");
  return fstat(records_fd_, &open_file) == 0 && stat(path.c_str(), &named) == 0 && open_file.st_ino == named.st_ino &&
         open_file.st_dev == named.st_dev;
}

void DiskSpace::MarkUsed() const { utimensat(AT_FDCWD, folder_.c_str(), nullptr, 0); }

}  // namespace penstock::cache
