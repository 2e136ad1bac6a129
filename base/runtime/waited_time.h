// Measures the length of a wait, without the time in which the process was stopped.
#ifndef PENSTOCK_BASE_RUNTIME_WAITED_TIME_H_
#define PENSTOCK_BASE_RUNTIME_WAITED_TIME_H_

#include <algorithm>

#include "base/runtime/clock.h"

namespace penstock {

// A stopped process (SIGSTOP, a frozen container, a suspended machine) does not wait, although the clock continues: the
// expected event has had no chance to occur. The caller therefore measures a wait in pieces, and a piece that is far
// too long counts as two. Not thread-safe.
class WaitedTime {
 public:
  // Maximum interval between calls of At().
  static constexpr Nanos kPiece = kSecond;

  explicit WaitedTime(Nanos now) : last_(now) {}

  // Returns the time waited until `now`. An interval of more than two pieces counts as two.
  Nanos At(Nanos now) {
    waited_ += std::clamp<Nanos>(now - last_, 0, 2 * kPiece);
    last_ = now;
    return waited_;
  }

 private:
  Nanos last_;
  Nanos waited_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_BASE_RUNTIME_WAITED_TIME_H_
