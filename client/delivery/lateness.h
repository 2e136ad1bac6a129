// When a row that the trainer waits for counts as late.
#ifndef PENSTOCK_CLIENT_DELIVERY_LATENESS_H_
#define PENSTOCK_CLIENT_DELIVERY_LATENESS_H_

#include <array>
#include <cstddef>

#include "base/runtime/clock.h"

namespace penstock {

// max(300 ms, 5 times the median of the last waits for a step), at most 1 s; 1 s as long as there are few waits to
// judge by. Pure.
class Lateness {
 public:
  static constexpr Nanos kLeast = 300 * kMillisecond;
  static constexpr Nanos kMost = kSecond;
  static constexpr size_t kFew = 3;

  // The trainer waited this long for a step (0: it was there).
  void AddWait(Nanos wait);
  Nanos Threshold() const { return threshold_; }

 private:
  std::array<Nanos, 15> waits_{};
  size_t count_ = 0;
  Nanos threshold_ = kMost;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_DELIVERY_LATENESS_H_
