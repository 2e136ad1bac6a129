// The load of a worker in heartbeats: computes rates from counters.
#ifndef PENSTOCK_SERVER_WORKER_LINK_LOAD_METER_H_
#define PENSTOCK_SERVER_WORKER_LINK_LOAD_METER_H_

#include <cstdint>
#include <deque>

#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"
#include "pipeline/loader/loader_stats.h"

namespace penstock::worker {

// Not thread-safe.
class LoadMeter {
 public:
  // Returns the load at `now`, which must not decrease:
  //   rows_per_second   over the last five seconds
  //   owing_fraction    of the last three seconds
  //   capacity          rows per busy second (LoaderStats)
  // The capacity is measured over the last two seconds, or over as many more as it takes to see 50 rows and half a busy
  // second, at most the last minute. With less than half a busy second in a minute it keeps its value (initially 0).
  v1::WorkerLoad Measure(const loader::LoaderStats& stats, uint64_t bytes_sent, uint32_t sessions, Nanos now);

 private:
  struct Point {
    Nanos at = 0;
    uint64_t rows = 0;
    double busy = 0;
    double owing = 0;
  };
  // Returns the latest point that is at least as old as `when`, or the oldest.
  const Point& Before(Nanos when) const;
  void MeasureCapacity(const Point& last);

  std::deque<Point> points_;
  double capacity_ = 0;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_LINK_LOAD_METER_H_
