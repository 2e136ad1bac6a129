#include "client/delivery/pace.h"

#include <algorithm>
#include <cmath>

namespace penstock::client {
namespace {

constexpr double kHalfLife = 10.0 * kSecond;

}  // namespace

uint64_t Pace::Rows(int64_t from, int64_t to) const {
  uint64_t rows = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.number >= from && bucket.number < to) rows += bucket.rows;
  }
  return rows;
}

void Pace::Row(Nanos now, Nanos asked_at, bool first) {
  Nanos silence = 0;
  if (now > last_) {
    silence = now - std::max(last_, asked_at);
    gap_ = std::max(silence, gap_ - gap_ / 8);
    last_ = now;
  }
  Count(now, true, first ? 0 : silence);
}

void Pace::Row(Nanos now) {
  if (now > last_) {
    gap_ -= gap_ / 8;
    last_ = now;
  }
  Count(now, false, 0);
}

void Pace::Count(Nanos now, bool asked, Nanos owed) {
  const int64_t number = now / kBucket;
  Bucket& bucket = buckets_[static_cast<size_t>(number % kBuckets)];
  if (bucket.number != number) {
    constexpr int64_t kPerSecond = kSecond / kBucket;
    const double rate = static_cast<double>(Rows(number - kPerSecond, number));
    if (rate >= Best(now)) {
      best_ = rate;
      best_at_ = now;
    }
    bucket = {number, 0, 0, 0};
  }
  ++bucket.rows;
  bucket.asked += asked ? 1 : 0;
  bucket.owed += std::max<Nanos>(owed, 0);
}

Nanos Pace::OwedTime(Nanos now) const {
  Nanos owed = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.number > now / kBucket - kBuckets) owed += bucket.owed;
  }
  return owed;
}

double Pace::OwedRate(Nanos now) const {
  uint64_t rows = 0;
  for (const Bucket& bucket : buckets_) {
    if (bucket.number > now / kBucket - kBuckets) rows += bucket.asked;
  }
  const Nanos owed = OwedTime(now);
  return rows < kFewRows || owed <= 0 ? 0 : static_cast<double>(rows) * kSecond / static_cast<double>(owed);
}

double Pace::Rate(Nanos now, Nanos since) const {
  const Nanos from = std::max(since, now - kLongest);
  // Start at a bucket boundary.
  const int64_t first = from / kBucket;
  const Nanos span = now - first * kBucket;
  if (span <= 0) return 0;
  return static_cast<double>(Rows(first, INT64_MAX)) * kSecond / static_cast<double>(span);
}

double Pace::Best(Nanos now) const { return best_ * std::exp2(-static_cast<double>(now - best_at_) / kHalfLife); }

void Pace::Correct(double rate, Nanos now) {
  best_ = rate;
  best_at_ = now;
}

}  // namespace penstock::client
