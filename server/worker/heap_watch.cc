#include "server/worker/heap_watch.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr uint64_t kNear = 8;  // the budget, less one part in so many
constexpr uint64_t kWorth =
    16;  // what is free, of the budget, to be given back; and half of that to have been worth it

}  // namespace

void HeapWatch::Look(uint64_t counted, Nanos now) {
  {
    MutexLock lock(&mutex_);
    if (now < not_before_) return;
  }
  const uint64_t before = heap_.own();
  if (before < budget_ - budget_ / kNear || before < counted + budget_ / kWorth) return;
  heap_.give_back();
  const uint64_t after = heap_.own();
  MutexLock lock(&mutex_);
  pause_ = after + budget_ / kWorth / 2 <= before ? kFirstPause : std::min(2 * pause_, kLongestPause);
  not_before_ = now + pause_;
}

}  // namespace penstock
