// Times in which the loader's makers had rows to make or waited for storage, and their CPU time.
#ifndef PENSTOCK_PIPELINE_LOADER_BUSY_TIMES_H_
#define PENSTOCK_PIPELINE_LOADER_BUSY_TIMES_H_

#include <time.h>

#include <cstddef>
#include <vector>

#include "base/runtime/clock.h"
#include "pipeline/loader/loader_stats.h"

namespace penstock::loader {

// For makers with the numbers 0 to `makers` - 1. Not thread-safe; guarded by its owner's lock.
class BusyTimes {
 public:
  BusyTimes(size_t makers, Clock* clock) : clock_(clock), makers_(makers), counted_(static_cast<double>(makers)) {}

  // Record that the maker runs on the calling thread from now on, or rests. It stays on that thread until it rests.
  void Runs(int maker);
  void Rests(int maker);
  // Record that the maker has a row from now on, or has none. A maker that waits for records in flight counts as one
  // with a row. No effect if that is not a change.
  void HasRow(int maker);
  void HasNone(int maker);

  // Sets the number of makers that make rows. busy_seconds counts each moment by the share of these makers.
  void Count(int makers);

  // Sets cpu_seconds, busy_seconds and owing_seconds, up to now.
  void AddTo(LoaderStats* stats) const;

 private:
  struct Maker {
    bool runs = false;  // `cpu_clock`, of its thread, can be read
    clockid_t cpu_clock = {};
    Nanos cpu_began = 0;  // time of that clock when the maker began to run
    Nanos busy_since = -1;
  };

  Clock* const clock_;
  std::vector<Maker> makers_;
  double counted_;
  double counted_busy_ = 0;  // seconds by share of makers, before their number last changed
  Nanos cpu_ = 0;            // of makers that rest
  int busy_makers_ = 0;
  Nanos owing_since_ = 0;  // while there are busy makers
  Nanos busy_ = 0;         // sum over makers, up to their busy_since, since the number of makers last changed
  Nanos owing_ = 0;        // up to owing_since_
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_BUSY_TIMES_H_
