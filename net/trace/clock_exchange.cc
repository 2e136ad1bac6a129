#include "net/trace/clock_exchange.h"

#include <algorithm>

namespace penstock::net {

void ClockExchange::Add(Nanos asked, Nanos received, Nanos sent, Nanos answered) {
  const Nanos trip = (answered - asked) - (sent - received);
  if (answered < asked || sent < received || trip < 0) return;
  const Nanos least = sent - answered, most = received - asked;
  round_trip_ = exchanges_ == 0 ? trip : std::min(round_trip_, trip);
  ++exchanges_;
  if (std::max(least, least_) > std::min(most, most_)) {
    // The clocks have drifted since the earlier calls by more than the bounds allow: start again from the current
    // bounds.
    least_ = least;
    most_ = most;
    return;
  }
  least_ = std::max(least_, least);
  most_ = std::min(most_, most);
}

}  // namespace penstock::net
