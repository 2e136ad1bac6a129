// What heartbeats say of a worker's load: rates from counters.
#ifndef PENSTOCK_SERVER_WORKER_LINK_LOAD_METER_H_
#define PENSTOCK_SERVER_WORKER_LINK_LOAD_METER_H_

#include <cstdint>
#include <deque>

#include "base/runtime/clock.h"
#include "penstock/v1/control.pb.h"
#include "pipeline/loader/loader.h"

namespace penstock {

// Not thread-safe.
class LoadMeter {
 public:
  // The load at `now`, which must not go back: rows per second over the last five seconds, and rows per CPU second over
  // the last that had at least 200 rows and half a CPU second (0 before).
  v1::WorkerLoad Measure(const LoaderStats& stats, uint64_t bytes_sent, uint32_t sessions, Nanos now);

 private:
  struct Point {
    Nanos at = 0;
    uint64_t rows = 0;
  };
  std::deque<Point> points_;
  uint64_t capacity_rows_ = 0;  // counters when the capacity was measured last
  double capacity_cpu_ = 0;
  double capacity_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_WORKER_LINK_LOAD_METER_H_
