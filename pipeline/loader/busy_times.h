// Times in which the loader's threads had rows to make, and their CPU time.
#ifndef PENSTOCK_PIPELINE_LOADER_BUSY_TIMES_H_
#define PENSTOCK_PIPELINE_LOADER_BUSY_TIMES_H_

#include <time.h>

#include <cstddef>
#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/loader_stats.h"

namespace penstock {

// For threads with the numbers 0 to `threads` - 1. Not thread-safe; guarded by its owner's lock.
class BusyTimes {
 public:
  BusyTimes(size_t threads, Clock* clock) : clock_(clock), threads_(threads), counted_(static_cast<double>(threads)) {}

  // Called by the thread itself when it begins, and when it ends without a row.
  void Begins(int thread);
  void Ends(int thread);
  // Record that the thread has a row from now on, or has none. No effect if that is not a change.
  void HasRow(int thread);
  void HasNone(int thread);

  // Sets the number of threads that make rows. busy_seconds counts each moment by the share of these threads.
  void Count(int threads);

  // Sets cpu_seconds, busy_seconds and owing_seconds, up to now.
  void AddTo(LoaderStats* stats) const;

 private:
  struct Thread {
    bool runs = false;  // `cpu_clock` can be read
    clockid_t cpu_clock = {};
    Nanos cpu = 0;  // after the thread has ended
    Nanos busy_since = -1;
  };

  Clock* const clock_;
  std::vector<Thread> threads_;
  double counted_;
  double counted_busy_ = 0;  // seconds by share of threads, before their number last changed
  int busy_threads_ = 0;
  Nanos owing_since_ = 0;  // while there are busy threads
  Nanos busy_ = 0;         // sum over threads, up to their busy_since, since the number of threads last changed
  Nanos owing_ = 0;        // up to owing_since_
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_BUSY_TIMES_H_
