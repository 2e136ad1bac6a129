// The number of steps to book ahead of the trainer.
#ifndef PENSTOCK_CLIENT_DELIVERY_WINDOW_SIZE_H_
#define PENSTOCK_CLIENT_DELIVERY_WINDOW_SIZE_H_

#include <cstdint>
#include <unordered_map>

#include "base/runtime/clock.h"

namespace penstock::client {

// The window is `least` for nearby workers. For distant workers it is twice the number of steps that the trainer takes
// during the longest response time of a worker, at most `most`. The factor is two because a grant is half the window.
// The response time is that of connecting and the first answer, about two round trips. The window thus leaves room for
// a higher rate, which then enlarges the window. It never shrinks. Pure.
class WindowSize {
 public:
  // Maximum response time to consider. A worker that takes longer is busy, not distant.
  static constexpr Nanos kLongestPath = kSecond;

  // Requires 2 <= least <= most.
  WindowSize(uint64_t least, uint64_t most) : most_(most), steps_(least) {}

  // Opened records that the session opens a stream. Heard records a message on it. Only the first call of Heard for a
  // stream has an effect.
  void Opened(uint64_t stream, Nanos now);
  void Heard(uint64_t stream, Nanos now);
  void StepTaken(Nanos now);

  uint64_t steps() const { return steps_; }

 private:
  const uint64_t most_;
  uint64_t steps_;
  std::unordered_map<uint64_t, Nanos> opened_;  // streams without an answer
  Nanos farthest_ = 0;                          // the longest response time
  // The rate is measured over intervals.
  Nanos stretch_began_ = -1;
  uint64_t taken_ = 0;
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_DELIVERY_WINDOW_SIZE_H_
