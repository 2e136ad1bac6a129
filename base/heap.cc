#include "base/heap.h"

#include <malloc.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

namespace penstock {
namespace {

// The largest that glibc takes. Larger blocks are mapped and unmapped one by one.
constexpr int kMappedFrom = 32 << 20;

}  // namespace

void KeepFreedMemory(size_t bytes) {
  for (const char* said : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}) {
    if (std::getenv(said) != nullptr) return;
  }
#ifdef M_TRIM_THRESHOLD
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(std::min<size_t>(bytes, INT_MAX)));
  mallopt(M_MMAP_THRESHOLD, kMappedFrom);
#else
  (void)bytes;
#endif
}

void GiveFreedMemoryBack() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace penstock
