// Finds a report from some seconds ago without keeping all reports since then.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_HISTORY_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/runtime/clock.h"

namespace penstock::coordinator {

// Keeps few of the added values, fewer of the older ones. If values are added often, it keeps a value near each age up
// to kMostAge: at most a third, or half a second, older or younger. Not thread-safe.
template <typename T>
class History {
 public:
  static constexpr Nanos kMostAge = 60 * kSecond;

  struct Point {
    Nanos at = 0;
    T value;
  };

  // Adds a value. Times must not decrease.
  void Add(Nanos now, T value) {
    points_.push_back({now, std::move(value)});
    // Drop a value whose neighbors are close enough to each other.
    for (size_t i = points_.size() - 1; i-- > 1;) {
      const Nanos apart = points_[i + 1].at - points_[i - 1].at, age = now - points_[i + 1].at;
      if (3 * apart <= 2 * age || apart < kSecond) points_.erase(points_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    // Drop the oldest value if the next one is old enough.
    while (points_.size() > 1 && now - points_[1].at >= kMostAge) points_.erase(points_.begin());
  }

  // Returns the value whose age, measured from the last value, is nearest to `seconds`. Returns null if there is no
  // value.
  const Point* Back(uint32_t seconds) const {
    const Point* nearest = nullptr;
    Nanos off = INT64_MAX;
    for (const Point& point : points_) {
      const Nanos age = points_.back().at - point.at, asked = static_cast<Nanos>(seconds) * kSecond;
      const Nanos is = age > asked ? age - asked : asked - age;
      if (is < off) {
        nearest = &point;
        off = is;
      }
    }
    return nearest;
  }

  size_t size() const { return points_.size(); }

 private:
  std::vector<Point> points_;  // oldest first
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_HISTORY_H_
