#include "pipeline/loader/read_ahead/range_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace penstock::loader {
namespace {

// Address space to map at once. The system provides pages only when blocks are used.
constexpr uint64_t kMappedAtOnce = uint64_t{64} << 20;

uint64_t PageBytes() {
  static const uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

uint64_t RangeMemory::Takes(uint64_t bytes) {
  const uint64_t pages = std::max<uint64_t>(1, (bytes + PageBytes() - 1) / PageBytes());
  // Eight sizes between a power of two and the next: few enough that a released block often fits the next request.
  const uint64_t step = pages <= 8 ? 1 : std::bit_floor(pages - 1) / 8;
  return (pages + step - 1) / step * step * PageBytes();
}

RangeMemory::~RangeMemory() {
  for (const auto& [data, bytes] : mapped_) munmap(data, bytes);
}

RangeMemory::Block RangeMemory::AcquireKept(uint64_t bytes) {
  const uint64_t size = Takes(bytes);
  MutexLock lock(&mutex_);
  // At most a quarter larger, so that cached blocks are not all too large.
  for (auto it = kept_.lower_bound(size); it != kept_.end() && it->first <= size + size / 4; ++it) {
    if (it->second.empty()) continue;
    Block block = std::move(it->second.back().block);
    it->second.pop_back();
    CountKept(0, block.bytes);
    return block;
  }
  return {};
}

RangeMemory::Block RangeMemory::Acquire(uint64_t bytes, std::unique_ptr<BudgetLease> lease) {
  const uint64_t size = Takes(bytes);
  char* data = nullptr;
  {
    MutexLock lock(&mutex_);
    std::vector<char*>& gone = gone_[size];
    if (gone.empty()) {
      data = Carve(size);
    } else {
      data = gone.back();
      gone.pop_back();
    }
  }
  // Populates all pages in one call; separate page faults cost several times as much. Older kernels lack this call and
  // work without it.
#ifdef MADV_POPULATE_WRITE
  if (data != nullptr) madvise(data, size, MADV_POPULATE_WRITE);
#endif
  return {data, size, std::move(lease)};
}

void RangeMemory::CountKept(uint64_t more, uint64_t less) {
  kept_bytes_ += more - less;
  if (in_all_ != nullptr) in_all_->fetch_add(more - less);
}

char* RangeMemory::Carve(uint64_t size) {
  if (fresh_bytes_ < size) {
    const uint64_t wanted = std::max(size, kMappedAtOnce);
    void* const mapped =
        mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    // A huge page would occupy memory that was not reserved.
    madvise(mapped, wanted, MADV_NOHUGEPAGE);
    mapped_.emplace_back(static_cast<char*>(mapped), wanted);
    fresh_ = static_cast<char*>(mapped);
    fresh_bytes_ = wanted;
  }
  fresh_bytes_ -= size;
  return std::exchange(fresh_, fresh_ + size);
}

void RangeMemory::Release(Block block) {
  std::vector<Block> go;
  {
    MutexLock lock(&mutex_);
    if (closed_) {
      go.push_back(std::move(block));
    } else {
      CountKept(block.bytes, 0);
      kept_[block.bytes].push_back({std::move(block), ++released_});
    }
  }
  ReleasePages(std::move(go));
}

void RangeMemory::ReleasePages(std::vector<Block> blocks) {
  for (const Block& block : blocks) madvise(block.data, block.bytes, MADV_DONTNEED);
  MutexLock lock(&mutex_);
  for (const Block& block : blocks) gone_[block.bytes].push_back(block.data);
}

uint64_t RangeMemory::ReleaseKept(uint64_t bytes) {
  uint64_t freed = 0;
  std::vector<Block> go;
  {
    MutexLock lock(&mutex_);
    while (freed < bytes && kept_bytes_ > 0) {
      std::vector<Kept>* oldest = nullptr;
      for (auto& [size, kept] : kept_) {
        if (!kept.empty() && (oldest == nullptr || kept.front().released < oldest->front().released)) oldest = &kept;
      }
      PS_CHECK(oldest != nullptr);
      go.push_back(std::move(oldest->front().block));
      oldest->erase(oldest->begin());
      CountKept(0, go.back().bytes);
      freed += go.back().bytes;
    }
  }
  ReleasePages(std::move(go));
  return freed;
}

void RangeMemory::Close() {
  {
    MutexLock lock(&mutex_);
    closed_ = true;
  }
  ReleaseKept(UINT64_MAX);
}

uint64_t RangeMemory::kept() const {
  MutexLock lock(&mutex_);
  return kept_bytes_;
}

}  // namespace penstock::loader
