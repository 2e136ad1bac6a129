// Tracks the free pages of a memory region. The bookkeeping is outside the region, because other processes may write to
// the region.
#ifndef PENSTOCK_BASE_FREE_PAGES_H_
#define PENSTOCK_BASE_FREE_PAGES_H_

#include <cstdint>
#include <map>
#include <optional>

namespace penstock {

// Not thread-safe.
class FreePages {
 public:
  static constexpr uint64_t kPage = 4096;

  // Starts with [begin, end) free. Both must be multiples of kPage.
  FreePages(uint64_t begin, uint64_t end) : size_(end - begin) { free_[begin] = end - begin; }

  // Returns `bytes` rounded up to whole pages, at least one.
  static uint64_t WholePages(uint64_t bytes);

  // Reserves `bytes`, rounded up to pages, and returns their offset, or nullopt if no gap is large enough. Uses the
  // first gap that is large enough, so that the used part stays near the start, where pages are already allocated and
  // warm.
  std::optional<uint64_t> Reserve(uint64_t bytes);
  // Frees a range that Reserve returned for the same `bytes`.
  void Release(uint64_t from, uint64_t bytes);

  uint64_t used() const { return used_; }
  // Returns the gaps: offset -> bytes.
  const std::map<uint64_t, uint64_t>& gaps() const { return free_; }
  uint64_t size() const { return size_; }

 private:
  const uint64_t size_;
  std::map<uint64_t, uint64_t> free_;  // gaps: offset -> bytes; adjacent gaps are joined
  uint64_t used_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_FREE_PAGES_H_
