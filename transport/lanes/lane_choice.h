// Over how many of its lanes a worker sends: one more is tried while those in use are all busy, and kept where more
// bytes come through.
#ifndef PENSTOCK_TRANSPORT_LANES_LANE_CHOICE_H_
#define PENSTOCK_TRANSPORT_LANES_LANE_CHOICE_H_

#include <cstddef>
#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock {

// Pure: is told of what was sent, and of the time. Not thread-safe.
//
// It looks at windows of kWindow. In one in which all lanes in use were taken for kBusy of the time, something on the
// way holds rows up: another lane is used from then on, and after kSettle its window is compared. Where kWorth times as
// many bytes come through the lane stays in use, and the next one may be tried; else not before a pause, which doubles.
// A lane that was found worth it is not given up: it costs nothing where it brings nothing any more.
class LaneChoice {
 public:
  static constexpr Nanos kWindow = kSecond;
  static constexpr Nanos kSettle = kSecond / 4;
  static constexpr double kBusy = 0.8;
  static constexpr double kWorth = 1.1;
  static constexpr Nanos kFirstPause = 30 * kSecond;
  static constexpr Nanos kLongestPause = 600 * kSecond;

  // So many are to be used, as far as they are there.
  size_t lanes() const { return lanes_; }
  // From now on all lanes in use are writing; and no longer.
  void Full(Nanos now);
  void Free(Nanos now);
  // So many bytes were taken; `ready` lanes are there, the first included.
  void Sent(uint64_t bytes, size_t ready, Nanos now);

 private:
  void Begin(Nanos now);

  size_t lanes_ = 1;
  bool trying_ = false;
  double rate_before_ = 0;  // bytes a nanosecond, without the lane that is tried
  Nanos began_ = -1;        // of the window
  Nanos full_since_ = -1;
  Nanos full_ = 0;
  uint64_t bytes_ = 0;
  Nanos not_before_ = 0;
  Nanos pause_ = kFirstPause;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_LANES_LANE_CHOICE_H_
