#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/temporaries.h"

namespace penstock {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

FileInfo InfoOf(const struct stat& st) {
  return {static_cast<uint64_t>(st.st_size), int64_t{st.st_mtim.tv_sec} * 1'000'000'000 + st.st_mtim.tv_nsec};
}

// Alignment of direct reads in memory and in the file: the largest block of common disks.
constexpr uint64_t kDirectUnit = 4096;
constexpr uint64_t kDirectBytes = uint64_t{1} << 20;  // size of one direct read

// Calls `read` again if a signal interrupts it.
template <typename Read>
ssize_t Uninterrupted(const Read& read) {
  ssize_t n;
  do {
    n = read();
  } while (n < 0 && errno == EINTR);
  return n;
}

class PosixFile final : public RandomAccessFile {
 public:
  PosixFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~PosixFile() override { close(fd_); }

  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    size_t done = 0;
    while (done < length) {
      const ssize_t n =
          Uninterrupted([&] { return pread(fd_, out + done, length - done, static_cast<off_t>(offset + done)); });
      if (n == 0) break;
      if (n < 0) return ErrnoStatus(errno, absl::StrCat(path_, ": reading at offset ", offset + done));
      done += static_cast<size_t>(n);
    }
    return done;
  }

  // Reads skipped bytes into a scratch buffer, because a second request takes longer on network file systems.
  absl::StatusOr<size_t> ReadPartsAt(uint64_t offset, const std::vector<ReadPart>& parts) const override {
    constexpr size_t kMostPieces = 64;
    char unwanted[16 << 10];
    size_t done = 0, part = 0, of_part = 0;  // the next byte is at offset of_part in parts[part]
    for (;;) {
      iovec pieces[kMostPieces];
      size_t count = 0;
      for (size_t p = part, at = of_part; p < parts.size() && count < kMostPieces;) {
        const size_t left = parts[p].bytes - at;
        const size_t bytes = parts[p].out == nullptr ? std::min(left, sizeof unwanted) : left;
        if (bytes > 0) pieces[count++] = {parts[p].out == nullptr ? unwanted : parts[p].out + at, bytes};
        at += bytes;
        if (at == parts[p].bytes) ++p, at = 0;
      }
      if (count == 0) return done;
      const ssize_t n = Uninterrupted(
          [&] { return preadv(fd_, pieces, static_cast<int>(count), static_cast<off_t>(offset + done)); });
      if (n == 0) return done;
      if (n < 0) return ErrnoStatus(errno, absl::StrCat(path_, ": reading at offset ", offset + done));
      done += static_cast<size_t>(n);
      for (auto came = static_cast<size_t>(n); came > 0 || (part < parts.size() && of_part == parts[part].bytes);) {
        const size_t bytes = std::min(came, parts[part].bytes - of_part);
        came -= bytes;
        of_part += bytes;
        if (of_part == parts[part].bytes) ++part, of_part = 0;
      }
    }
  }

  absl::StatusOr<size_t> ReadAtPastCaches(uint64_t offset, size_t length, char* out) const override {
    const uint64_t begin = offset / kDirectUnit * kDirectUnit;
    const uint64_t bytes = (offset + length - begin + kDirectUnit - 1) / kDirectUnit * kDirectUnit;
    posix_fadvise(fd_, static_cast<off_t>(begin), static_cast<off_t>(bytes), POSIX_FADV_DONTNEED);
    // Open the same file, even if its name now refers to another one.
    const int direct = open(absl::StrCat("/proc/self/fd/", fd_).c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
    if (direct < 0) return ReadAt(offset, length, out);  // file systems in memory have no direct reads
    const absl::Cleanup close_direct = [direct] { close(direct); };
    const std::unique_ptr<char, decltype(&free)> buffer(
        static_cast<char*>(std::aligned_alloc(kDirectUnit, std::min<uint64_t>(bytes, kDirectBytes))), &free);
    if (buffer == nullptr) return absl::ResourceExhaustedError(absl::StrCat(path_, ": no memory for a direct read"));
    size_t done = 0;
    for (uint64_t at = begin; done < length; at += kDirectBytes) {
      const size_t wanted = std::min<uint64_t>(begin + bytes - at, kDirectBytes);
      const ssize_t n = Uninterrupted([&] { return pread(direct, buffer.get(), wanted, static_cast<off_t>(at)); });
      if (n < 0 && errno == EINVAL) return ReadAt(offset, length, out);  // direct open succeeds, but not direct reads
      if (n < 0) return ErrnoStatus(errno, absl::StrCat(path_, ": reading at offset ", at));
      const size_t skip = at < offset ? offset - at : 0;
      if (static_cast<size_t>(n) <= skip) break;
      const size_t got = std::min(static_cast<size_t>(n) - skip, length - done);
      std::memcpy(out + done, buffer.get() + skip, got);
      done += got;
      if (static_cast<size_t>(n) < wanted) break;  // the end of the file
    }
    return done;
  }

  void WillRead(uint64_t offset, uint64_t length) const override {
    // Ignore errors: the read will report them.
    posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(length), POSIX_FADV_WILLNEED);
  }

  absl::StatusOr<FileInfo> Info() const override {
    struct stat st;
    if (fstat(fd_, &st) != 0) return ErrnoStatus(errno, path_);
    return InfoOf(st);
  }

  const std::string& path() const override { return path_; }

  // Returns PermissionDenied unless the open file has this path without symbolic links.
  absl::Status CheckPath() const {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::read_symlink(absl::StrCat("/proc/self/fd/", fd_), error);
    if (error) return ErrnoStatus(error.value(), absl::StrCat(path_, ": reading its path in /proc"));
    if (real == path_) return absl::OkStatus();
    return absl::PermissionDeniedError(absl::StrCat(path_, " leads to ", real.string(), " by a symbolic link"));
  }

  // Reads from the start to the end. May be called once. Does not rely on the size that the system reports: it is 0 for
  // pipes and files of /proc.
  absl::StatusOr<std::string> ReadToEnd(uint64_t limit) const {
    PS_ASSIGN_OR_RETURN(const FileInfo info, Info());
    if (info.size > limit) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path_, " has ", info.size, " bytes; at most ", limit, " are read"));
    }
    std::string content;
    size_t done = 0;
    for (;;) {
      if (done == content.size()) {
        // One byte more than the expected size or than the limit shows whether the file ends there.
        const uint64_t expected = done == 0 ? info.size : 2 * done;
        content.resize(std::min(std::max(expected, kLeastRead), limit) + 1);
      }
      const ssize_t n = Uninterrupted([&] { return read(fd_, content.data() + done, content.size() - done); });
      if (n < 0) return ErrnoStatus(errno, absl::StrCat(path_, ": reading at offset ", done));
      done += static_cast<size_t>(n);
      if (done > limit) {
        return absl::ResourceExhaustedError(absl::StrCat(path_, " has more than ", limit, " bytes"));
      }
      if (n == 0) break;
    }
    content.resize(done);
    return content;
  }

 private:
  static constexpr uint64_t kLeastRead = 4096;

  const std::string path_;
  const int fd_;
};

absl::StatusOr<std::unique_ptr<PosixFile>> OpenPosixFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  auto file = std::make_unique<PosixFile>(path, fd);
  struct stat st;
  if (fstat(fd, &st) != 0) return ErrnoStatus(errno, path);
  if (S_ISDIR(st.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a directory, not a file"));
  }
  return file;
}

absl::Status WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, absl::StrCat("writing ", path));
    }
    content.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<size_t> RandomAccessFile::ReadPartsAt(uint64_t offset, const std::vector<ReadPart>& parts) const {
  size_t done = 0, read = 0;  // `read`: end of the last bytes that were read; skipped parts after it may not exist
  for (const ReadPart& part : parts) {
    size_t got = part.bytes;
    if (part.out != nullptr) {
      PS_ASSIGN_OR_RETURN(got, ReadAt(offset + done, part.bytes, part.out));
      if (got > 0) read = done + got;
    }
    done += got;
    if (got < part.bytes) break;
  }
  if (read == done) return done;
  PS_ASSIGN_OR_RETURN(const FileInfo info, Info());
  return std::max<uint64_t>(read, std::min<uint64_t>(done, info.size - std::min(info.size, offset)));
}

absl::Status ErrnoStatus(int error, std::string_view what) {
  return absl::ErrnoToStatus(error, absl::string_view(what.data(), what.size()));
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenFile(const std::string& path, Links links) {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<PosixFile> file, OpenPosixFile(path));
  if (links == Links::kReject) PS_RETURN_IF_ERROR(file->CheckPath());
  return file;
}

absl::StatusOr<FileInfo> StatFile(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0) return ErrnoStatus(errno, path);
  return InfoOf(st);
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t limit) {
  PS_ASSIGN_OR_RETURN(const std::unique_ptr<PosixFile> file, OpenPosixFile(path));
  return file->ReadToEnd(limit);
}

absl::Status WriteFileAtomically(const std::string& path, std::string_view content) {
  const std::string folder = FolderOf(path);
  std::string temporary = absl::StrCat(path, std::string(kTemporarySuffix));
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    return absl::NotFoundError(absl::StrCat("writing ", path, ": there is no folder ", folder, "; make it first"));
  }
  // The temporary file's name would not help the user.
  if (fd < 0) return ErrnoStatus(errno, absl::StrCat("writing ", path));
  auto remove = absl::MakeCleanup([&] { unlink(temporary.c_str()); });
  absl::Status written = WriteAll(fd, content, path);
  if (written.ok() && fchmod(fd, 0644) != 0) written = ErrnoStatus(errno, absl::StrCat("writing ", path));
  if (written.ok() && fsync(fd) != 0) written = ErrnoStatus(errno, absl::StrCat("writing ", path, " (fsync)"));
  if (close(fd) != 0 && written.ok()) written = ErrnoStatus(errno, absl::StrCat("writing ", path, " (close)"));
  PS_RETURN_IF_ERROR(written);
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("writing ", path, " (renaming its temporary file)"));
  }
  std::move(remove).Cancel();
  SyncFolderOf(path);
  return absl::OkStatus();
}

void SyncFolderOf(const std::string& path) {
  const int fd = open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);  // not supported by some file systems
  close(fd);
}

}  // namespace penstock
