// Prefetch hints for the processor. They have no side effects and never fault.
#ifndef PENSTOCK_BASE_PREFETCH_H_
#define PENSTOCK_BASE_PREFETCH_H_

#include <cstddef>

namespace penstock {

constexpr size_t kCacheLine = 64;

inline void PrefetchLine(const void* at) { __builtin_prefetch(at); }

// Prefetches the object's cache lines; may miss the last one if the object does not begin a cache line. Null is
// allowed.
template <typename T>
void PrefetchObject(const T* object) {
  if (object == nullptr) return;
  const char* const first = reinterpret_cast<const char*>(object);
  for (size_t at = 0; at < sizeof(T); at += kCacheLine) PrefetchLine(first + at);
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_PREFETCH_H_
