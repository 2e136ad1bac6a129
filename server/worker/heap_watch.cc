#include "server/worker/heap_watch.h"

#include <algorithm>

namespace penstock::worker {
namespace {

// The process is close to its budget when less than one part in kNear of it is left. Free memory is returned if it may
// be at least one part in kWorth.
constexpr uint64_t kNear = 8, kWorth = 32;
// Time until the next look: below half of the budget, and above.
constexpr Nanos kSeldom = kSecond, kOften = 100 * kMillisecond;
// Pause after a return of free memory, because the process soon allocates some of it again.
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
  heap_.release();
  stays_ = Less(heap_.own(), heap_.counted());
  return kRest;
}

}  // namespace penstock::worker
