// What was said some seconds ago, without all that was said since.
#ifndef PENSTOCK_SERVER_COORDINATOR_EXPLAIN_HISTORY_H_
#define PENSTOCK_SERVER_COORDINATOR_EXPLAIN_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/runtime/clock.h"

namespace penstock {

// Keeps few of the values that come, the fewer the older they are: for each age up to kMostAge one that is at most a
// third older or younger. Not thread-safe.
template <typename T>
class History {
 public:
  static constexpr Nanos kMostAge = 60 * kSecond;

  struct Point {
    Nanos at = 0;
    T value;
  };

  // In the order of their times.
  void Add(Nanos now, T value) {
    points_.push_back({now, std::move(value)});
    // What its neighbors are near enough to is not missed.
    for (size_t i = points_.size() - 1; i-- > 1;) {
      const Nanos apart = points_[i + 1].at - points_[i - 1].at, age = now - points_[i + 1].at;
      if (3 * apart <= 2 * age || apart < kSecond) points_.erase(points_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    // The oldest goes when there is another that is old enough.
    while (points_.size() > 1 && now - points_[1].at >= kMostAge) points_.erase(points_.begin());
  }

  // What was said about so long before the last: of all that are kept the nearest. Null before the first.
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
  std::vector<Point> points_;  // the oldest first
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_EXPLAIN_HISTORY_H_
