// How far another process's clock is off, from calls to it. Pure.
//
//   here    asked ──────────────────────────▶ answered
//   there            received ──▶ sent
//
// Whatever the ways there and back took, what `there` is ahead of here by lies between sent - answered and
// received - asked (RFC 5905, section 8, has the middle of the two). Each call narrows that down; clocks that drift
// against each other make it no narrower than they are.
#ifndef PENSTOCK_NET_TRACE_CLOCK_EXCHANGE_H_
#define PENSTOCK_NET_TRACE_CLOCK_EXCHANGE_H_

#include <cstdint>

#include "base/runtime/clock.h"

namespace penstock {

class ClockExchange {
 public:
  // What cannot be (an answer before the question) is left out.
  void Add(Nanos asked, Nanos received, Nanos sent, Nanos answered);

  // The other clock less this one. Any number, while nothing is known.
  Nanos least() const { return least_; }
  Nanos most() const { return most_; }
  Nanos round_trip() const { return round_trip_; }  // the shortest, less what passed there
  uint32_t exchanges() const { return exchanges_; }

 private:
  Nanos least_ = INT64_MIN / 4, most_ = INT64_MAX / 4;
  Nanos round_trip_ = 0;
  uint32_t exchanges_ = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_NET_TRACE_CLOCK_EXCHANGE_H_
