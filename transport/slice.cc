#include "transport/slice.h"

#include <algorithm>
#include <cstring>

namespace penstock::transport {

Slice Slice::Of(std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const void* const data = owner->data();
  const size_t size = owner->size();
  return Slice(data, size, std::move(owner));
}

SliceList::SliceList(std::vector<Slice> slices) : slices_(std::move(slices)) {
  for (const Slice& slice : slices_) bytes_ += slice.size();
}

void SliceList::Add(Slice slice) {
  bytes_ += slice.size();
  slices_.push_back(std::move(slice));
}

std::string SliceList::Joined() const {
  std::string joined;
  joined.reserve(bytes_);
  for (const Slice& slice : slices_) joined.append(reinterpret_cast<const char*>(slice.data()), slice.size());
  return joined;
}

SliceCursor::SliceCursor(SliceList message) : message_(std::move(message)), remaining_(message_.bytes()) {
  SkipEmpty();
}

void SliceCursor::SkipEmpty() {
  const std::vector<Slice>& slices = message_.slices();
  while (slice_ < slices.size() && slices[slice_].size() == 0) ++slice_;
}

absl::Span<const uint8_t> SliceCursor::Next(size_t limit) {
  if (limit == 0 || remaining_ == 0) return {};
  const Slice& slice = message_.slices()[slice_];
  const size_t n = std::min(limit, slice.size() - offset_);
  const absl::Span<const uint8_t> piece(slice.data() + offset_, n);
  offset_ += n;
  remaining_ -= n;
  if (offset_ == slice.size()) {
    offset_ = 0;
    ++slice_;
    SkipEmpty();
  }
  return piece;
}

bool SliceCursor::Read(void* out, size_t n) {
  if (n > remaining_) return false;
  auto* to = static_cast<uint8_t*>(out);
  while (n > 0) {
    const absl::Span<const uint8_t> piece = Next(n);
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
    n -= piece.size();
  }
  return true;
}

bool SliceCursor::ReadU32(uint32_t* value) {
  uint8_t bytes[4];
  if (!Read(bytes, sizeof bytes)) return false;
  *value = bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
  return true;
}

bool SliceCursor::Skip(size_t n) {
  if (n > remaining_) return false;
  while (n > 0) n -= Next(n).size();
  return true;
}

}  // namespace penstock::transport
