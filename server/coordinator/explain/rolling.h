// What was said at the beginning of a window of time that ends now, without all that was said since.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_ROLLING_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_ROLLING_H_

#include <optional>
#include <utility>

#include "base/runtime/clock.h"

namespace penstock {

// Not thread-safe.
template <typename T>
class Rolling {
 public:
  struct Point {
    Nanos at = 0;
    T value;
  };

  // The window is `half` to twice as long, once values have come for so long.
  explicit Rolling(Nanos half) : half_(half) {}

  void Add(Nanos now, T value) {
    if (!middle_.has_value()) {
      middle_ = Point{now, std::move(value)};
    } else if (now - middle_->at >= half_) {
      first_ = std::exchange(middle_, Point{now, std::move(value)});
    }
  }

  // At the window's beginning; null before the first value.
  const Point* first() const { return first_.has_value() ? &*first_ : middle_.has_value() ? &*middle_ : nullptr; }

 private:
  Nanos half_;
  std::optional<Point> first_, middle_;
};

// Of two windows: 5 to 10 s, and 30 to 60 s.
template <typename T>
class History {
 public:
  void Add(Nanos now, const T& value) {
    short_.Add(now, value);
    long_.Add(now, value);
  }
  const Rolling<T>& Over(uint32_t seconds) const { return seconds > 10 ? long_ : short_; }

 private:
  Rolling<T> short_{5 * kSecond}, long_{30 * kSecond};
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_ROLLING_H_
