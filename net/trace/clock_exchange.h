// Bounds the offset of another process's clock by timestamps of calls to it. Pure.
//
//   here    asked ──────────────────────────▶ answered
//   there            received ──▶ sent
//
// Whatever the delays in both directions are, the offset of the other clock is between sent - answered and received -
// asked. RFC 5905, section 8, uses the midpoint of the two. Each call may narrow the bounds. If a call contradicts
// them, the clocks have drifted: the bounds start again with those of this call.
#ifndef PENSTOCK_NET_TRACE_CLOCK_EXCHANGE_H_
#define PENSTOCK_NET_TRACE_CLOCK_EXCHANGE_H_

#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock::net {

class ClockExchange {
 public:
  // Adds a call. Ignores impossible timestamps, for example an answer before the question.
  void Add(Nanos asked, Nanos received, Nanos sent, Nanos answered);

  // Bounds of the other clock's offset from this one. Unbounded until the first call.
  Nanos least() const { return least_; }
  Nanos most() const { return most_; }
  Nanos round_trip() const { return round_trip_; }  // the shortest of all calls, without the time in the other process
  uint32_t exchanges() const { return exchanges_; }

 private:
  Nanos least_ = INT64_MIN / 4, most_ = INT64_MAX / 4;
  Nanos round_trip_ = 0;
  uint32_t exchanges_ = 0;
};

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TRACE_CLOCK_EXCHANGE_H_
