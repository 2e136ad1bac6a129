#include "base/sealed_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/open_files.h"

// Since Linux 5.1; older headers do not define it.
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace penstock {

SealedMemory::SealedMemory(OwnedFd fd, std::byte* data, uint64_t size) : fd_(std::move(fd)), data_(data), size_(size) {}

SealedMemory::SealedMemory(SealedMemory&& other) noexcept
    : fd_(std::move(other.fd_)), data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

SealedMemory::~SealedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

absl::StatusOr<SealedMemory> SealedMemory::Create(const char* name, uint64_t bytes, Others others, const char* what) {
  OwnedFd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto failed = [&](const char* call) -> absl::Status {
    if (errno != EFBIG) return ErrnoStatus(errno, absl::StrCat(call, " of ", bytes, " bytes for ", what));
    return absl::ResourceExhaustedError(absl::StrCat("no shared memory of ", bytes, " bytes for ", what,
                                                     ": RLIMIT_FSIZE (ulimit -f) allows files of ", FileSizeLimit(),
                                                     " bytes"));
  };
  if (!fd) return failed("memfd_create");
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return failed("ftruncate");
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return failed("sealing");
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return failed("mmap");
  SealedMemory memory(std::move(fd), static_cast<std::byte*>(data), bytes);
  const int last = F_SEAL_SEAL | (others == Others::kRead ? F_SEAL_FUTURE_WRITE : 0);
  if (fcntl(memory.fd(), F_ADD_SEALS, last) != 0) return failed("sealing");
  return memory;
}

absl::StatusOr<SealedMemory> SealedMemory::Open(OwnedFd fd, uint64_t bytes) {
  // Only memory files have seals. Files of huge pages have seals too, but the system kills a reader if it has no huge
  // page left.
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  struct statfs system {};
  if (seals < 0 || fstatfs(fd.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return absl::InvalidArgumentError("shared memory that is no memory file");
  }
  if ((seals & F_SEAL_SHRINK) == 0) return absl::InvalidArgumentError("shared memory whose size can shrink");
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "fstat of shared memory");
  if (info.st_size < 0 || static_cast<uint64_t>(info.st_size) != bytes || bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared memory of ", info.st_size, " bytes, where ", bytes, " were said"));
  }
  void* const data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return ErrnoStatus(errno, absl::StrCat("mmap of ", bytes, " bytes of shared memory"));
  return SealedMemory(OwnedFd(), static_cast<std::byte*>(data), bytes);
}

}  // namespace penstock
