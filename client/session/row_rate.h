// Rows per second of a trainer that takes rows in steps.
#ifndef PENSTOCK_CLIENT_SESSION_ROW_RATE_H_
#define PENSTOCK_CLIENT_SESSION_ROW_RATE_H_

#include <cstdint>
#include <deque>

#include "base/runtime/clock.h"

namespace penstock::client {

// The rate over the steps of the last 5 s, or over the last step if that took longer. The rate is constant between
// steps, and falls when the next step is later than usual.
class RowRate {
 public:
  // Records the total number of rows taken. The first call starts the measurement.
  void Add(Nanos now, uint64_t rows);
  // Returns 0 before the first step.
  double PerSecond(Nanos now) const;

 private:
  struct Step {
    Nanos at;
    uint64_t rows;
  };
  std::deque<Step> steps_;  // calls of Add with more rows than the call before
};

}  // namespace penstock::client

#endif  // PENSTOCK_CLIENT_SESSION_ROW_RATE_H_
