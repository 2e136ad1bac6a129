// Chooses how many of its lanes a worker uses. When all lanes in use are busy, it tries one more and keeps it if the
// throughput rises.
#ifndef PENSTOCK_TRANSPORT_LANES_LANE_CHOICE_H_
#define PENSTOCK_TRANSPORT_LANES_LANE_CHOICE_H_

#include <cstddef>
#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock::transport {

// Pure: the caller passes the sent bytes and the time. Not thread-safe.
//
// Measures windows of kWindow. If all lanes in use were busy for at least kBusy of a window, the path limits the
// throughput. LaneChoice then adds a lane, waits kSettle, and compares the next window. If that window carries at least
// kWorth times the bytes a second, the lane stays in use, and LaneChoice may try the next one. Otherwise it drops the
// lane and tries none during a pause. The pause doubles with each failed trial, up to kLongestPause, and a passed trial
// resets it. A lane that passed its trial is never dropped, because an idle lane costs nothing.
class LaneChoice {
 public:
  static constexpr Nanos kWindow = kSecond;
  static constexpr Nanos kSettle = kSecond / 4;
  static constexpr double kBusy = 0.8;
  static constexpr double kWorth = 1.1;
  static constexpr Nanos kFirstPause = 30 * kSecond;
  static constexpr Nanos kLongestPause = 600 * kSecond;

  // Returns the number of lanes to use, if that many are ready.
  size_t lanes() const { return lanes_; }
  // Full: all lanes in use are writing. Free: at least one of them is not.
  void Full(Nanos now);
  void Free(Nanos now);
  // Records that a write of `bytes` was accepted. `ready` counts the ready lanes, including the first.
  void Sent(uint64_t bytes, size_t ready, Nanos now);

 private:
  void Begin(Nanos now);

  size_t lanes_ = 1;
  bool trying_ = false;
  double rate_before_ = 0;  // bytes a nanosecond before the trial of another lane
  Nanos began_ = -1;        // start of the window
  Nanos full_since_ = -1;
  Nanos full_ = 0;
  uint64_t bytes_ = 0;
  Nanos not_before_ = 0;
  Nanos pause_ = kFirstPause;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_LANES_LANE_CHOICE_H_
