#include "transport/shared_memory/ring.h"

#include "base/check.h"
#include "base/status_macros.h"

namespace penstock::transport {

absl::StatusOr<std::shared_ptr<Ring>> Ring::Create(uint64_t bytes, std::shared_ptr<const void> charge) {
  PS_ASSIGN_OR_RETURN(SealedMemory memory,
                      SealedMemory::Create("penstock-rows", FreePages::WholePages(bytes), SealedMemory::Others::kRead,
                                           "the rows of a client on this host"));
  return std::shared_ptr<Ring>(new Ring(std::move(memory), std::move(charge)));
}

void Ring::End() {
  MutexLock lock(&mutex_);
  ended_ = true;
}

std::byte* Ring::Take(size_t bytes, uint64_t leave) {
  MutexLock lock(&mutex_);
  if (ended_ || bytes > free_.size()) return nullptr;
  if (free_.used() + FreePages::WholePages(bytes) + leave > free_.size()) return nullptr;
  const std::optional<uint64_t> from = free_.Reserve(bytes);
  return from.has_value() ? memory_.data() + *from : nullptr;
}

std::byte* Ring::Allocate(size_t bytes) { return Take(bytes, memory_.size() / 4); }

OwnedBlock Ring::AllocateCopy(size_t bytes) {
  std::byte* const block = Take(bytes, 0);
  return block == nullptr ? OwnedBlock() : OwnedBlock(block, FreeBlock(shared_from_this(), bytes));
}

void Ring::Deallocate(std::byte* block, size_t bytes) {
  const std::optional<uint64_t> from = PlaceOf(block, bytes);
  PS_CHECK(from.has_value());
  MutexLock lock(&mutex_);
  free_.Release(*from, bytes);
}

std::optional<uint64_t> Ring::PlaceOf(const void* data, size_t size) const {
  const auto at = reinterpret_cast<uintptr_t>(data), start = reinterpret_cast<uintptr_t>(memory_.data());
  if (at < start || at - start > memory_.size() || size > memory_.size() - (at - start)) return std::nullopt;
  return at - start;
}

uint64_t Ring::used_bytes() const {
  MutexLock lock(&mutex_);
  return free_.used();
}

}  // namespace penstock::transport
