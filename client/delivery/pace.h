// The rate at which rows arrive from a worker.
#ifndef PENSTOCK_CLIENT_DELIVERY_PACE_H_
#define PENSTOCK_CLIENT_DELIVERY_PACE_H_

#include <array>
#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock::client {

// Pure. Times must not decrease.
class Pace {
 public:
  static constexpr Nanos kLongest = 1900 * kMillisecond;

  // Records the arrival of a row that was requested at `asked_at`. `first`: the first row of its stream. OwedTime
  // excludes the time before it, because the worker was opening the session.
  void Row(Nanos now, Nanos asked_at, bool first = false);
  // Records the arrival of a row whose step is over.
  void Row(Nanos now);

  // Returns rows per second since `since`, or over the last kLongest if that is shorter. This is the worker's pace only
  // if the worker owed rows for that whole time.
  double Rate(Nanos now, Nanos since) const;
  // Returns the highest rate over a second, also for a worker that owed nothing for part of the time. Decays with a
  // half-life of ten seconds.
  double Best(Nanos now) const;
  // OwedTime returns the time in which the worker owed the rows that arrived within the last two seconds. OwedRate
  // returns their number per second of that time, or 0 for fewer than kFewRows rows. This is the worker's pace even if
  // the worker had few requests.
  Nanos OwedTime(Nanos now) const;
  double OwedRate(Nanos now) const;
  // Replaces the best rate, because the worker owed rows all the time and did not exceed `rate`.
  void Correct(double rate, Nanos now);

  // Returns the longest recent time from a request, or from the worker's last row, to its next row. Rows that arrive
  // faster reduce it.
  Nanos gap() const { return gap_; }
  bool came() const { return last_ >= 0; }

 private:
  static constexpr Nanos kBucket = 100 * kMillisecond;
  static constexpr int kBuckets = 20;

  static constexpr uint64_t kFewRows = 20;

  // Returns the rows in the buckets [from, to).
  uint64_t Rows(int64_t from, int64_t to) const;
  void Count(Nanos now, bool asked, Nanos owed);

  struct Bucket {
    int64_t number = -1;
    uint64_t rows = 0;
    uint64_t asked = 0;  // rows of steps that were not over
    Nanos owed = 0;      // time since the request, or since the previous row
  };
  std::array<Bucket, kBuckets> buckets_;
  Nanos last_ = -1;
  Nanos gap_ = 0;
  double best_ = 0;
  Nanos best_at_ = 0;
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_DELIVERY_PACE_H_
