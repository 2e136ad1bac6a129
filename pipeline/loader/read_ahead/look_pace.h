// The number of looks to skip when one has begun nothing, or nothing useful: 1, then 3, 7 and so on, up to a limit.
#ifndef PENSTOCK_PIPELINE_LOADER_READ_AHEAD_LOOK_PACE_H_
#define PENSTOCK_PIPELINE_LOADER_READ_AHEAD_LOOK_PACE_H_

#include <algorithm>

namespace penstock::loader {

// Not thread-safe.
class LookPace {
 public:
  explicit LookPace(int most) : most_(most) {}

  // Returns whether to skip this look.
  bool Skips() {
    if (to_skip_ == 0) return false;
    --to_skip_;
    return true;
  }
  // Ends the skipping.
  void Began() { to_skip_ = skipped_ = 0; }
  void BeganNothing() { to_skip_ = skipped_ = std::min(2 * skipped_ + 1, most_); }

 private:
  const int most_;
  int to_skip_ = 0;
  int skipped_ = 0;  // looks that were skipped last
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_READ_AHEAD_LOOK_PACE_H_
