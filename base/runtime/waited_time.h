// How long somebody has waited, as he would count it.
#ifndef PENSTOCK_BASE_RUNTIME_WAITED_TIME_H_
#define PENSTOCK_BASE_RUNTIME_WAITED_TIME_H_

#include <algorithm>

#include "base/runtime/clock.h"

namespace penstock {

// A process that was stopped (SIGSTOP, a frozen container, a machine that stood still) did not wait meanwhile, although
// the clock went on: what it waits for has had no chance to come. So a wait is looked at in pieces, and a piece that
// took far longer than it should have counts as one that was a little late. Not thread-safe.
class WaitedTime {
 public:
  // At() is to be called at least so often.
  static constexpr Nanos kPiece = kSecond;

  explicit WaitedTime(Nanos now) : last_(now) {}

  // Until `now`. A pause of more than two pieces counts as two.
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
