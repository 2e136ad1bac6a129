#include "tests/support/allocation_peak.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "base/check.h"

#if defined(__has_feature)
#define PENSTOCK_HAS_FEATURE(x) __has_feature(x)
#else
#define PENSTOCK_HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || PENSTOCK_HAS_FEATURE(address_sanitizer) || \
    PENSTOCK_HAS_FEATURE(thread_sanitizer)
#define PENSTOCK_SANITIZER_MALLOC 1
#else
#define PENSTOCK_SANITIZER_MALLOC 0
#endif

namespace penstock::support {
namespace {

// Live blocks, by open addressing, without allocations.
struct Counts {
  static constexpr size_t kSlots = 1 << 15;
  struct Block {
    const volatile void* at;  // null: free
    size_t bytes;
  };

  std::array<Block, kSlots> blocks;
  size_t count, live, peak;
  bool on;

  static size_t Home(const volatile void* at) {
    return static_cast<size_t>(reinterpret_cast<uintptr_t>(at) * 0x9E3779B97F4A7C15u >> 49);
  }
  void Allocated(const volatile void* at, size_t bytes) {
    if (!on || at == nullptr) return;
    PS_CHECK(count < kSlots / 2);
    size_t slot = Home(at);
    while (blocks[slot].at != nullptr) slot = (slot + 1) % kSlots;
    blocks[slot] = {at, bytes};
    ++count;
    live += bytes;
    if (live > peak) peak = live;
  }
  void Freed(const volatile void* at) {
    if (!on || at == nullptr) return;
    size_t slot = Home(at);
    while (blocks[slot].at != at) {
      if (blocks[slot].at == nullptr) return;  // a block from before the counting
      slot = (slot + 1) % kSlots;
    }
    live -= blocks[slot].bytes;
    --count;
    // Moves the following blocks up (Knuth's algorithm R, The Art of Computer Programming 6.4).
    for (size_t next = (slot + 1) % kSlots; blocks[next].at != nullptr; next = (next + 1) % kSlots) {
      const size_t home = Home(blocks[next].at);
      const bool stays = slot <= next ? slot < home && home <= next : slot < home || home <= next;
      if (stays) continue;
      blocks[slot] = blocks[next];
      slot = next;
    }
    blocks[slot] = {};
  }
};

thread_local Counts counts;

}  // namespace
}  // namespace penstock::support

#if PENSTOCK_SANITIZER_MALLOC

// From sanitizer/allocator_interface.h, which GCC does not install.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*, size_t),
                                                         void (*free_hook)(const volatile void*));

namespace penstock::support {
namespace {
void OnMalloc(const volatile void* at, size_t bytes) { counts.Allocated(at, bytes); }
void OnFree(const volatile void* at) { counts.Freed(at); }
void Install() {
  static const bool installed = __sanitizer_install_malloc_and_free_hooks(OnMalloc, OnFree) != 0;
  PS_CHECK(installed);
}
}  // namespace
}  // namespace penstock::support

#else

namespace penstock::support {
namespace {
void Install() {}
}  // namespace
}  // namespace penstock::support

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

void* malloc(size_t bytes) noexcept {
  void* at = __libc_malloc(bytes);
  penstock::support::counts.Allocated(at, bytes);
  return at;
}
void* calloc(size_t n, size_t bytes) noexcept {
  void* at = __libc_calloc(n, bytes);
  penstock::support::counts.Allocated(at, n * bytes);
  return at;
}
void* realloc(void* old, size_t bytes) noexcept {
  // If the block moves, both blocks count, because both live during the copy. If it stays, only the new size counts.
  void* at = __libc_realloc(old, bytes);
  if (at != nullptr && at != old) penstock::support::counts.Allocated(at, bytes);
  if (at != nullptr || bytes == 0) penstock::support::counts.Freed(old);
  if (at != nullptr && at == old) penstock::support::counts.Allocated(at, bytes);
  return at;
}
void* memalign(size_t alignment, size_t bytes) noexcept {
  void* at = __libc_memalign(alignment, bytes);
  penstock::support::counts.Allocated(at, bytes);
  return at;
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) noexcept {
  void* at = memalign(alignment, bytes);
  if (at == nullptr) return ENOMEM;
  *out = at;
  return 0;
}
void free(void* at) noexcept {
  penstock::support::counts.Freed(at);
  __libc_free(at);
}
}  // extern "C"

#endif

namespace penstock::support {

AllocationPeak::AllocationPeak() {
  Install();
  PS_CHECK(!counts.on);
  if (counts.count > 0) counts.blocks.fill({});  // clears entries of the last count
  counts.count = counts.live = counts.peak = 0;
  counts.on = true;
}

AllocationPeak::~AllocationPeak() { counts.on = false; }

size_t AllocationPeak::bytes() const { return counts.peak; }
size_t AllocationPeak::live() const { return counts.live; }

}  // namespace penstock::support
