// How fast rows come from a worker.
#ifndef PENSTOCK_CLIENT_DELIVERY_PACE_H_
#define PENSTOCK_CLIENT_DELIVERY_PACE_H_

#include <array>
#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock {

// Pure; times do not go back.
class Pace {
 public:
  static constexpr Nanos kLongest = 1900 * kMillisecond;

  // A row came that was asked for at `asked_at`.
  void Row(Nanos now, Nanos asked_at);
  // A row came that nobody waits for any more.
  void Row(Nanos now) { Row(now, now); }

  // Rows per second since `since`, but over the last kLongest at most. It is the worker's pace only where it owed
  // rows all that time.
  double Rate(Nanos now, Nanos since) const;
  // Its best rate over a second: of a worker that owed nothing for a while too. It fades to a half in ten seconds.
  double Best(Nanos now) const;
  // It owed rows all the time and came to no more than this.
  void Correct(double rate, Nanos now);

  // The longest time that the worker took from being asked, or from its last row, to its next row: of late, since rows
  // that come sooner make it shorter.
  Nanos gap() const { return gap_; }
  bool came() const { return last_ >= 0; }

 private:
  static constexpr Nanos kBucket = 100 * kMillisecond;
  static constexpr int kBuckets = 20;

  // Rows of the buckets [from, to).
  uint64_t Rows(int64_t from, int64_t to) const;

  struct Bucket {
    int64_t number = -1;
    uint64_t rows = 0;
  };
  std::array<Bucket, kBuckets> buckets_;
  Nanos last_ = -1;
  Nanos gap_ = 0;
  double best_ = 0;
  Nanos best_at_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_DELIVERY_PACE_H_
