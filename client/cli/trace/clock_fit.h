// Fits all processes of a trace to one clock. Pure.
//
// Each process has bounds of the offset of the coordinator's clock from its own (net/trace/clock_exchange.h). Messages
// between processes narrow the bounds, because a message arrives only after its sender began to send it.
#ifndef PENSTOCK_CLIENT_CLI_TRACE_CLOCK_FIT_H_
#define PENSTOCK_CLIENT_CLI_TRACE_CLOCK_FIT_H_

#include <cstddef>
#include <vector>

#include "base/runtime/clock.h"

namespace penstock::cli {

struct ClockBounds {
  Nanos least = 0, most = 0;
};

// Each process takes its time from its own clock.
struct SeenMessage {
  size_t from = 0, to = 0;  // indices of processes
  Nanos sent = 0, received = 0;
};

// Returns for each process the offset to add to its times: the midpoint of the range that its bounds and the messages
// allow. If the bounds and the messages contradict each other, because clocks drift, the bounds apply.
std::vector<Nanos> FitClocks(const std::vector<ClockBounds>& bounds, const std::vector<SeenMessage>& messages);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_TRACE_CLOCK_FIT_H_
