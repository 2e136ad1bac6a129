// How many steps are booked ahead of the trainer.
#ifndef PENSTOCK_CLIENT_DELIVERY_WINDOW_SIZE_H_
#define PENSTOCK_CLIENT_DELIVERY_WINDOW_SIZE_H_

#include <cstdint>
#include <unordered_map>

#include "base/runtime/clock.h"

namespace penstock {

// `least` where workers are near. Where they are far, twice (since grants are halves of the window) what the trainer
// takes during the time in which a worker answers, at most `most`. Connecting and the first answer take some two round
// trips, so that the window leaves room for the rate to grow, and the rate then makes it grow. It never becomes
// smaller. Pure.
class WindowSize {
 public:
  // A worker that takes longer to answer is busy, not far.
  static constexpr Nanos kFarthest = kSecond;

  // 2 <= least <= most.
  WindowSize(uint64_t least, uint64_t most) : most_(most), steps_(least) {}

  // A stream is being opened; something came on it, the first time or again.
  void Opened(uint64_t stream, Nanos now);
  void Heard(uint64_t stream, Nanos now);
  void StepTaken(Nanos now);

  uint64_t steps() const { return steps_; }

 private:
  const uint64_t most_;
  uint64_t steps_;
  std::unordered_map<uint64_t, Nanos> opened_;  // streams that have not answered
  Nanos farthest_ = 0;                          // the longest that an answer took
  // The rate is taken over stretches.
  Nanos stretch_began_ = -1;
  uint64_t taken_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_DELIVERY_WINDOW_SIZE_H_
