#include "client/delivery/lateness.h"

#include <algorithm>
#include <cmath>

namespace penstock::client {

void Lateness::AddWait(Nanos wait) {
  waits_[count_ % waits_.size()] = wait;
  ++count_;
  if (count_ < kFew) return;
  std::array<Nanos, 15> sorted = waits_;
  const size_t n = std::min(count_, waits_.size());
  std::nth_element(sorted.begin(), sorted.begin() + n / 2, sorted.begin() + n);
  threshold_ = std::clamp(5 * std::min(sorted[n / 2], kMost), kLeast, kMost);
}

Nanos RecentWaits::At(Nanos now) const {
  constexpr double kHalfLife = 0.5 * kSecond;
  return static_cast<Nanos>(static_cast<double>(sum_) * std::exp2(-static_cast<double>(now - at_) / kHalfLife));
}

void RecentWaits::Add(Nanos now, Nanos wait) {
  sum_ = At(now) + wait;
  at_ = now;
}

}  // namespace penstock::client
