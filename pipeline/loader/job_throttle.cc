#include "pipeline/loader/job_throttle.h"

#include <algorithm>
#include <cmath>

namespace penstock::loader {
namespace {

// An idle job saves up what it may use in this time.
constexpr double kBurstSeconds = 0.1;
// A debt is paid after at most this time, so that one very slow row does not hold its job for long.
constexpr double kMostDebtSeconds = 30;

}  // namespace

Nanos JobThrottle::Bucket::Refill(Nanos now, double rate, double most) {
  if (filled < 0) {
    level += most;
    filled = now;
  }
  level += rate * static_cast<double>(now - filled) / kSecond;
  level = std::clamp(level, -kMostDebtSeconds * rate, most);
  filled = now;
  return level > 0 ? now : now + static_cast<Nanos>(std::ceil((1 - level) / rate * kSecond));
}

Nanos JobThrottle::MayStartAt(Nanos now, int makers) {
  if (paused_) return kNever;
  Nanos at = now;
  if (caps_.cpu_share > 0) {
    const double rate = caps_.cpu_share * std::max(makers, 1) * kSecond;
    at = std::max(at, makers_time_.Refill(now, rate, kBurstSeconds * rate));
  }
  if (caps_.requests_per_second > 0) {
    const double rate = caps_.requests_per_second;
    at = std::max(at, requests_.Refill(now, rate, std::max(1.0, kBurstSeconds * rate)));
  }
  return at;
}

void JobThrottle::Look(Nanos now, bool held) {
  const bool held_before = held_since_ >= 0, same_look = now == looked_;
  EndLook(now);
  looked_ = now;
  if (held || (same_look && held_before)) held_since_ = now;
}

void JobThrottle::EndLook(Nanos now) {
  if (held_since_ >= 0) held_ += now - held_since_;
  held_since_ = -1;
}

}  // namespace penstock::loader
