// One clock for all processes of a trace. Pure.
//
// Each process knows between which bounds the coordinator's clock is ahead of its own (net/trace/clock_exchange.h); the
// messages between processes say more: none is received before it was begun to be sent.
#ifndef PENSTOCK_CLIENT_CLI_TRACE_CLOCK_FIT_H_
#define PENSTOCK_CLIENT_CLI_TRACE_CLOCK_FIT_H_

#include <cstddef>
#include <vector>

#include "base/runtime/clock.h"

namespace penstock::cli {

struct ClockBounds {
  Nanos least = 0, most = 0;
};

// Times by the clocks of those who took them.
struct SeenMessage {
  size_t from = 0, to = 0;  // indices of processes
  Nanos sent = 0, received = 0;
};

// For each process what is to be added to its times: in the middle of what its bounds and the messages leave.
// Where the bounds and the messages contradict each other (clocks that drift) the bounds hold.
std::vector<Nanos> FitClocks(const std::vector<ClockBounds>& bounds, const std::vector<SeenMessage>& messages);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_TRACE_CLOCK_FIT_H_
