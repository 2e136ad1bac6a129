#include "base/heap.h"

#include <malloc.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/mutex.h"

namespace penstock {
namespace {

// glibc's maximum. Larger blocks are mapped and unmapped individually.
constexpr int kMappedFrom = 32 << 20;
// glibc's default for the free end of an arena.
constexpr int kLeastKept = 128 << 10;
// Size of an anchor's block, and its size before the free that releases the end of its arena. A smaller block may come
// from glibc's cache of the thread, and thus from another arena. A free of less than 64 KiB may not release the end.
constexpr size_t kAnchorBytes = 2 << 10, kGrownBytes = 256 << 10;

struct ArenaEnds {
  Mutex mutex;
  int kept ABSL_GUARDED_BY(mutex) = 0;  // bytes set by KeepFreedMemory; 0: not set
  std::list<void*> anchors ABSL_GUARDED_BY(mutex);
};

// Never destroyed: threads may outlive static objects.
ArenaEnds* Ends() {
  static ArenaEnds* const ends = new ArenaEnds;
  return ends;
}

#ifdef __GLIBC__
void Resize(void** block, size_t bytes) {
  if (void* const resized = std::realloc(*block, bytes)) *block = resized;
}

// malloc_trim releases the free end of the main arena only. glibc releases the end of another arena when a block of the
// arena is freed and the end exceeds M_TRIM_THRESHOLD. realloc allocates and frees in the arena of its block, on any
// thread. It is safe to change the threshold while other threads run: glibc does so itself when it frees a mapped
// block.
void ReleaseEnds() {
  ArenaEnds* const ends = Ends();
  MutexLock lock(&ends->mutex);
  if (ends->kept == 0) return;
  mallopt(M_TRIM_THRESHOLD, kLeastKept);
  for (void*& block : ends->anchors) {
    Resize(&block, kGrownBytes);
    Resize(&block, kAnchorBytes);
  }
  mallopt(M_TRIM_THRESHOLD, ends->kept);
}
#endif

}  // namespace

void KeepFreedMemory(size_t bytes) {
  for (const char* said : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"}) {
    if (std::getenv(said) != nullptr) return;
  }
#ifdef __GLIBC__
  ArenaEnds* const ends = Ends();
  MutexLock lock(&ends->mutex);
  ends->kept = static_cast<int>(std::min<size_t>(bytes, INT_MAX));
  mallopt(M_TRIM_THRESHOLD, ends->kept);
  mallopt(M_MMAP_THRESHOLD, kMappedFrom);
#else
  (void)bytes;
#endif
}

void ReleaseFreedMemory() {
#ifdef __GLIBC__
  ReleaseEnds();
  malloc_trim(0);
#endif
}

ArenaAnchor::ArenaAnchor() {
  void* const block = std::malloc(kAnchorBytes);
  ArenaEnds* const ends = Ends();
  MutexLock lock(&ends->mutex);
  block_ = ends->anchors.insert(ends->anchors.end(), block);
}

ArenaAnchor::~ArenaAnchor() {
  ArenaEnds* const ends = Ends();
  MutexLock lock(&ends->mutex);
  std::free(*block_);
  ends->anchors.erase(block_);
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
