#include "client/delivery/lateness.h"

#include <algorithm>

namespace penstock {

void Lateness::AddWait(Nanos wait) {
  waits_[count_ % waits_.size()] = wait;
  ++count_;
  if (count_ < kFew) return;
  std::array<Nanos, 15> sorted = waits_;
  const size_t n = std::min(count_, waits_.size());
  std::nth_element(sorted.begin(), sorted.begin() + n / 2, sorted.begin() + n);
  threshold_ = std::clamp(5 * std::min(sorted[n / 2], kMost), kLeast, kMost);
}

}  // namespace penstock
