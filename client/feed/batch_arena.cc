#include "client/feed/batch_arena.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"

namespace penstock {
namespace {

constexpr uint64_t kPrepareAtOnce = uint64_t{4} << 20;

uint64_t WholePages(uint64_t bytes) {
  return (std::max<uint64_t>(bytes, 1) + BatchArena::kPage - 1) / BatchArena::kPage * BatchArena::kPage;
}

}  // namespace

BatchArena::BatchArena(int fd, std::byte* base, uint64_t bytes, Pages pages)
    : fd_(fd), base_(base), bytes_(bytes), pages_(pages) {
  MutexLock lock(&mutex_);
  free_[kPage] = bytes_ - kPage;  // nothing has the offset 0, which says that there is nothing
}

absl::StatusOr<std::unique_ptr<BatchArena>> BatchArena::Create(uint64_t bytes, Pages pages) {
  bytes = WholePages(std::max<uint64_t>(bytes, 2 * kPage));
  const int fd = memfd_create("penstock-batches", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return ErrnoStatus(errno, "memfd_create for the batches' memory");
  const auto failed = [&](const char* what) {
    const int error = errno;
    close(fd);
    return ErrnoStatus(error, absl::StrCat(what, " of ", bytes, " bytes for batches (`memory`)"));
  };
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return failed("ftruncate");
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return failed("sealing");
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return failed("mmap");
  madvise(base, bytes, MADV_HUGEPAGE);  // where the system gives them
  return std::unique_ptr<BatchArena>(new BatchArena(fd, static_cast<std::byte*>(base), bytes, pages));
}

BatchArena::~BatchArena() {
  munmap(base_, bytes_);
  close(fd_);
}

uint64_t BatchArena::used_bytes() const {
  MutexLock lock(&mutex_);
  return used_;
}

// The first gap that is large enough: what is in use stays near the start, where pages are there already.
void* BatchArena::Allocate(size_t bytes) {
  const uint64_t wanted = WholePages(bytes);
  MutexLock lock(&mutex_);
  const auto gap = std::find_if(free_.begin(), free_.end(), [&](const auto& g) { return g.second >= wanted; });
  if (gap == free_.end()) {
    refusals_.fetch_add(1);
    return nullptr;
  }
  const auto [from, size] = *gap;
  free_.erase(gap);
  if (size > wanted) free_[from + wanted] = size - wanted;
  used_ += wanted;
  return base_ + from;
}

void BatchArena::Deallocate(void* memory, size_t bytes) {
  const uint64_t size = WholePages(bytes);
  uint64_t from = OffsetOf(memory);
  if (pages_ == Pages::kGiveBack) {
    // Before it is free: whoever gets it next must not lose what it writes.
    fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(size));
  }
  MutexLock lock(&mutex_);
  used_ -= size;
  uint64_t end = from + size;
  auto next = free_.lower_bound(from);
  PS_CHECK(next == free_.end() || next->first >= end);
  if (next != free_.end() && next->first == end) {
    end += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    PS_CHECK(before->first + before->second <= from);
    if (before->first + before->second == from) {
      before->second = end - before->first;
      return;
    }
  }
  free_[from] = end - from;
}

uint64_t BatchArena::OffsetOf(const void* memory) const {
  const auto* const at = static_cast<const std::byte*>(memory);
  PS_CHECK(at >= base_ && at < base_ + bytes_);
  return static_cast<uint64_t>(at - base_);
}

void BatchArena::Prepare(uint64_t bytes, const std::atomic<bool>& stop) {
  bytes = std::min(bytes, bytes_);
  for (uint64_t at = 0; at < bytes && !stop.load(); at += kPrepareAtOnce) {
    // Makes pages that are not there, and changes nothing of those that are.
    if (fallocate(fd_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                  static_cast<off_t>(std::min(kPrepareAtOnce, bytes - at))) != 0) {
      return;  // there is less memory than that: batches will tell
    }
  }
}

void BatchArena::GiveBackAll() {
  fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes_));
}

}  // namespace penstock
