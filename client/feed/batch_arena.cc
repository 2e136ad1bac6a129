#include "client/feed/batch_arena.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace penstock {
namespace {

constexpr uint64_t kPrepareAtOnce = uint64_t{4} << 20;

}  // namespace

// Nothing has the offset 0, which says that there is nothing.
BatchArena::BatchArena(SealedMemory memory, Pages pages)
    : memory_(std::move(memory)), pages_(pages), free_(kPage, memory_.size()) {}

absl::StatusOr<std::unique_ptr<BatchArena>> BatchArena::Create(uint64_t bytes, Pages pages) {
  bytes = FreePages::WholePages(std::max<uint64_t>(bytes, 2 * kPage));
  PS_ASSIGN_OR_RETURN(SealedMemory memory, SealedMemory::Create("penstock-batches", bytes, SealedMemory::Others::kWrite,
                                                                "batches (`memory`)"));
  madvise(memory.data(), bytes, MADV_HUGEPAGE);  // where the system gives them
  return std::unique_ptr<BatchArena>(new BatchArena(std::move(memory), pages));
}

uint64_t BatchArena::used_bytes() const {
  MutexLock lock(&mutex_);
  return free_.used();
}

void* BatchArena::Allocate(size_t bytes) {
  MutexLock lock(&mutex_);
  const std::optional<uint64_t> from = free_.Take(bytes);
  if (!from.has_value()) {
    refusals_.fetch_add(1);
    return nullptr;
  }
  return memory_.data() + *from;
}

void BatchArena::Deallocate(void* memory, size_t bytes) {
  const uint64_t from = OffsetOf(memory);
  if (pages_ == Pages::kGiveBack) {
    // Before it is free: whoever gets it next must not lose what it writes.
    fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
              static_cast<off_t>(FreePages::WholePages(bytes)));
  }
  MutexLock lock(&mutex_);
  free_.Give(from, bytes);
}

uint64_t BatchArena::OffsetOf(const void* memory) const {
  const auto* const at = static_cast<const std::byte*>(memory);
  PS_CHECK(at >= memory_.data() && at < memory_.data() + bytes());
  return static_cast<uint64_t>(at - memory_.data());
}

void BatchArena::Prepare(uint64_t first, const std::atomic<bool>& stop) {
  first = std::min(first, bytes());
  for (uint64_t at = 0; at < first && !stop.load(); at += kPrepareAtOnce) {
    // Makes pages that are not there, and changes nothing of those that are.
    if (fallocate(fd(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                  static_cast<off_t>(std::min(kPrepareAtOnce, first - at))) != 0) {
      return;  // there is less memory than that: batches will tell
    }
  }
}

void BatchArena::GiveBackAll() {
  fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes()));
}

}  // namespace penstock
