// What of a piece of memory is free: bookkeeping in whole pages, apart from the memory itself, which others may write.
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

  // [begin, end) is free, of whole pages.
  FreePages(uint64_t begin, uint64_t end) : size_(end - begin) { free_[begin] = end - begin; }

  // At least one page.
  static uint64_t WholePages(uint64_t bytes);

  // Where `bytes`, rounded up to pages, lie from now on: the first gap that is large enough, so that what is in use
  // stays near the start, where pages are there already and warm. Nothing where there is none.
  std::optional<uint64_t> Take(uint64_t bytes);
  // What Take gave for as many bytes; anything else breaks an invariant.
  void Give(uint64_t from, uint64_t bytes);

  uint64_t used() const { return used_; }
  uint64_t size() const { return size_; }

 private:
  const uint64_t size_;
  std::map<uint64_t, uint64_t> free_;  // gaps: from -> bytes; neighbors are joined
  uint64_t used_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_FREE_PAGES_H_
