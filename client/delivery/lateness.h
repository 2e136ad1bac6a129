// Decides when a row that the trainer waits for counts as late.
#ifndef PENSTOCK_CLIENT_DELIVERY_LATENESS_H_
#define PENSTOCK_CLIENT_DELIVERY_LATENESS_H_

#include <array>
#include <cstddef>

#include "base/runtime/clock.h"

namespace penstock::client {

// The threshold is 5 times the median of the recent waits for a step, at least 300 ms and at most 1 s. It is 1 s while
// fewer than kFew waits are known. Pure.
class Lateness {
 public:
  static constexpr Nanos kLeast = 300 * kMillisecond;
  static constexpr Nanos kMost = kSecond;
  static constexpr size_t kFew = 3;

  // Records that the trainer waited this long for a step. 0: the step was complete.
  void AddWait(Nanos wait);
  Nanos Threshold() const { return threshold_; }

 private:
  std::array<Nanos, 15> waits_{};
  size_t count_ = 0;
  Nanos threshold_ = kMost;
};

// The approximate time that the trainer waited in the last second. Waits decay with a half-life of 0.5 s. Pure.
class RecentWaits {
 public:
  static constexpr Nanos kOften = 200 * kMillisecond;

  void Add(Nanos now, Nanos wait);
  // Returns up to about 0.7 s for short waits. A long wait counts in full when it ends.
  Nanos At(Nanos now) const;
  // Returns true if the trainer waits for about a quarter of the time or more. `wait` is the length of the current
  // wait.
  bool Often(Nanos now, Nanos wait) const { return At(now) + wait >= kOften; }

 private:
  Nanos sum_ = 0;
  Nanos at_ = 0;
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_DELIVERY_LATENESS_H_
