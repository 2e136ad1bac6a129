// Rows a second of a trainer that takes them in steps.
#ifndef PENSTOCK_CLIENT_SESSION_ROW_RATE_H_
#define PENSTOCK_CLIENT_SESSION_ROW_RATE_H_

#include <cstdint>
#include <deque>

#include "base/runtime/clock.h"

namespace penstock {

// Over some seconds, and over at least one step however long that takes: between slow steps the rate stands, and goes
// down when the next one is later than those before.
class RowRate {
 public:
  // So many rows in all have been taken; the first call says from when on.
  void Add(Nanos now, uint64_t rows);
  double PerSecond(Nanos now) const;

 private:
  struct Step {
    Nanos at;
    uint64_t rows;
  };
  std::deque<Step> steps_;  // looks that found more rows than the one before
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_SESSION_ROW_RATE_H_
