// How long the loader's threads had rows to make, and the CPU time that they took.
#ifndef PENSTOCK_PIPELINE_LOADER_BUSY_TIMES_H_
#define PENSTOCK_PIPELINE_LOADER_BUSY_TIMES_H_

#include <time.h>

#include <cstddef>
#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/loader_stats.h"

namespace penstock {

// Of threads with the numbers 0 to `threads` - 1. Not thread-safe: under its owner's lock.
class BusyTimes {
 public:
  BusyTimes(size_t threads, Clock* clock) : clock_(clock), threads_(threads), counted_(static_cast<double>(threads)) {}

  // By the thread itself, at its beginning and at its end, where it has no row any more.
  void Begins(int thread);
  void Ends(int thread);
  // The thread has a row from now on, or none any more. No effect when that was so before.
  void HasRow(int thread);
  void HasNone(int thread);

  // So many of the threads make rows from now on: busy_seconds counts a moment by the part of these.
  void Count(int threads);

  // Sets cpu_seconds, busy_seconds and owing_seconds, up to now.
  void AddTo(LoaderStats* stats) const;

 private:
  struct Thread {
    bool runs = false;  // `cpu_clock` can be read
    clockid_t cpu_clock = {};
    Nanos cpu = 0;  // when it has ended
    Nanos busy_since = -1;
  };

  Clock* const clock_;
  std::vector<Thread> threads_;
  double counted_;
  double counted_busy_ = 0;  // seconds, by the part of the threads, before that changed last
  int busy_threads_ = 0;
  Nanos owing_since_ = 0;  // while there are busy threads
  Nanos busy_ = 0;         // of all threads, up to their busy_since, since the number counted changed
  Nanos owing_ = 0;        // up to owing_since_
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_BUSY_TIMES_H_
