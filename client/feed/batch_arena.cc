#include "client/feed/batch_arena.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace penstock::feed {
namespace {

constexpr uint64_t kPrepareAtOnce = uint64_t{4} << 20;

}  // namespace

// The first page stays unused: offset 0 means none.
BatchArena::BatchArena(SealedMemory memory, Pages pages)
    : memory_(std::move(memory)), pages_(pages), keeps_(pages == Pages::kKeep), free_(kPage, memory_.size()) {}

absl::StatusOr<std::unique_ptr<BatchArena>> BatchArena::Create(uint64_t bytes, Pages pages) {
  bytes = FreePages::WholePages(std::max<uint64_t>(bytes, 2 * kPage));
  PS_ASSIGN_OR_RETURN(SealedMemory memory, SealedMemory::Create("penstock-batches", bytes, SealedMemory::Others::kWrite,
                                                                "batches (`memory`)"));
  madvise(memory.data(), bytes, MADV_HUGEPAGE);  // if the system supports huge pages
  return std::unique_ptr<BatchArena>(new BatchArena(std::move(memory), pages));
}

uint64_t BatchArena::used_bytes() const {
  MutexLock lock(&mutex_);
  return free_.used();
}

BatchArena::Refusal BatchArena::last_refusal() const {
  MutexLock lock(&mutex_);
  return last_refusal_;
}

void* BatchArena::Allocate(size_t bytes) {
  MutexLock lock(&mutex_);
  const std::optional<uint64_t> from = free_.Reserve(bytes);
  if (!from.has_value()) {
    last_refusal_ = {.bytes = FreePages::WholePages(bytes), .used = free_.used()};
    refusals_.fetch_add(1);
    return nullptr;
  }
  return memory_.data() + *from;
}

void BatchArena::Deallocate(void* memory, size_t bytes) {
  const uint64_t from = OffsetOf(memory);
  // Before the block is free: its next owner must not lose written data.
  if (!keeps_.load()) ReleasePages(from, FreePages::WholePages(bytes));
  MutexLock lock(&mutex_);
  free_.Release(from, bytes);
}

uint64_t BatchArena::OffsetOf(const void* memory) const {
  const auto* const at = static_cast<const std::byte*>(memory);
  PS_CHECK(at >= memory_.data() && at < memory_.data() + bytes());
  return static_cast<uint64_t>(at - memory_.data());
}

void BatchArena::Prepare(uint64_t first, const std::atomic<bool>& stop) {
  first = std::min(first, bytes());
  for (uint64_t at = 0; at < first && !stop.load(); at += kPrepareAtOnce) {
    // Allocates missing pages, and does not change existing ones.
    if (fallocate(fd(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
                  static_cast<off_t>(std::min(kPrepareAtOnce, first - at))) != 0) {
      return;  // less memory is available: batches will report it
    }
  }
}

void BatchArena::ReleasePages(uint64_t from, uint64_t bytes) const {
  fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(bytes));
}

void BatchArena::ReleaseAll() { ReleasePages(0, bytes()); }

void BatchArena::KeepUsed() {
  keeps_.store(true);
  if (pages_ == Pages::kKeep) return;  // a device may read them
  MutexLock lock(&mutex_);
  for (const auto& [from, bytes] : free_.gaps()) ReleasePages(from, bytes);
}

}  // namespace penstock::feed
