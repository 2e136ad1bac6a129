// Decides when rows of one job may start: its pause, its share of the makers' time, and its requests to storage.
#ifndef PENSTOCK_PIPELINE_LOADER_JOB_THROTTLE_H_
#define PENSTOCK_PIPELINE_LOADER_JOB_THROTTLE_H_

#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock::loader {

// Limits of what one job may use of a loader (v1::Caps). 0 means no limit.
struct JobCaps {
  double cpu_share = 0;  // fraction of the makers' time
  double requests_per_second = 0;
  uint64_t memory_bytes = 0;  // for rows in progress and finished rows
};

// Two token buckets. A row costs what it used, which is known after it was made, so a bucket may be in debt: then no
// row starts until time has paid the debt. That takes about 30 s at most. Not thread-safe; guarded by its owner's
// lock.
class JobThrottle {
 public:
  static constexpr Nanos kNever = INT64_MAX;

  void SetCaps(const JobCaps& caps) { caps_ = caps; }
  void SetPaused(bool paused) { paused_ = paused; }
  // Returns whether MayStartAt can be later than now.
  bool limits() const { return paused_ || caps_.cpu_share > 0 || caps_.requests_per_second > 0; }

  // Returns the time from which a row may start, which is `now` if it may start at once, and kNever while the job is
  // paused. `makers` is the number of makers that make rows.
  Nanos MayStartAt(Nanos now, int makers);

  // Add what rows of the job used.
  void AddMaking(Nanos took) { makers_time_.level -= static_cast<double>(took); }
  void AddRequests(uint64_t count) { requests_.level -= static_cast<double>(count); }

  // Records whether rows of a session are held at `now`. Call this for each session of the job. The time until the next
  // look counts as held if rows of any session were held.
  void Look(Nanos now, bool held);
  // Records that no rows are held from `now` on, until the next look.
  void EndLook(Nanos now);
  Nanos held() const { return held_; }

 private:
  struct Bucket {
    double level = 0;   // at most `most`; negative: debt
    Nanos filled = -1;  // time of the last refill; -1: none
    // Refills at `rate` per second, up to `most`. Returns `now` if the level is above 0, otherwise the time at which it
    // reaches 1.
    Nanos Refill(Nanos now, double rate, double most);
  };

  JobCaps caps_;
  bool paused_ = false;
  Bucket makers_time_;  // nanoseconds
  Bucket requests_;
  Nanos held_ = 0, held_since_ = -1, looked_ = -1;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_JOB_THROTTLE_H_
