#include "base/free_pages.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace penstock {

uint64_t FreePages::WholePages(uint64_t bytes) { return (std::max<uint64_t>(bytes, 1) + kPage - 1) / kPage * kPage; }

std::optional<uint64_t> FreePages::Reserve(uint64_t bytes) {
  const uint64_t wanted = WholePages(bytes);
  const auto gap = std::find_if(free_.begin(), free_.end(), [&](const auto& g) { return g.second >= wanted; });
  if (gap == free_.end()) return std::nullopt;
  const auto [from, size] = *gap;
  free_.erase(gap);
  if (size > wanted) free_[from + wanted] = size - wanted;
  used_ += wanted;
  return from;
}

void FreePages::Release(uint64_t from, uint64_t bytes) {
  const uint64_t size = WholePages(bytes);
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

}  // namespace penstock
