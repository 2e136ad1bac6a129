#include "server/worker/heap_watch.h"

#include <algorithm>

namespace penstock {
namespace {

// Near is the budget less one part in so many; what may be free is given back from another such part on.
constexpr uint64_t kNear = 8, kWorth = 32;
// Until the next look: while the budget is far, and from half of it on.
constexpr Nanos kSeldom = kSecond, kOften = 100 * kMillisecond;
// And after free memory was given back, some of which is soon had again.
constexpr Nanos kRest = kSecond / 2;

uint64_t Less(uint64_t from, uint64_t bytes) { return from - std::min(from, bytes); }

}  // namespace

Nanos HeapWatch::Look() {
  const uint64_t own = heap_.own();
  if (own < budget_ / 2) return kSeldom;
  if (own < budget_ - budget_ / kNear) return kOften;
  const uint64_t uncounted = Less(own, heap_.counted());
  stays_ = std::min(stays_, uncounted);
  if (uncounted - stays_ < budget_ / kWorth) return kOften;
  heap_.give_back();
  stays_ = Less(heap_.own(), heap_.counted());
  return kRest;
}

}  // namespace penstock
