#include "base/heap.h"

#include <malloc.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace penstock {
namespace {

// glibc's maximum. Larger blocks are mapped and unmapped individually.
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

void ReleaseFreedMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

uint64_t OwnMemory() {
  std::ifstream status("/proc/self/status");
  uint64_t bytes = 0;
  for (std::string line; std::getline(status, line);) {
    for (const char* field : {"RssAnon:", "RssShmem:"}) {
      const size_t length = std::strlen(field);
      if (line.compare(0, length, field) == 0) bytes += std::strtoull(line.c_str() + length, nullptr, 10) << 10;
    }
  }
  return bytes;
}

}  // namespace penstock
