// The client's end of a stream over several connections.
#ifndef PENSTOCK_TRANSPORT_LANES_LANED_CLIENT_H_
#define PENSTOCK_TRANSPORT_LANES_LANED_CLIENT_H_

#include <functional>
#include <memory>

#include "base/runtime/clock.h"
#include "base/runtime/executor.h"
#include "transport/lanes/lane.h"
#include "transport/message_stream.h"

namespace penstock {

// Makes one connection to the worker, whose call says what LaneCall has; as Transport::Connect.
using ConnectLane = std::function<std::shared_ptr<MessageStream>(const LaneCall&, std::shared_ptr<StreamEvents>)>;

// Runs a task soon on a thread of the carrier's, never inside the call. Usable for as long as a stream is.
using PostTask = std::function<void(Task)>;

// When a client opens a connection more: where the stream brings so much, and each that it has is used. The worker says
// whether it sends anything there.
struct LaneOffer {
  double bytes_per_second = 32e6;
  Nanos window = kSecond;  // looked at so often
};

// Opens the stream by its first connection. A further one that does not come about is done without; one that is lost
// when it was in use ends the stream as Unavailable. `clock` lives as long as the stream.
std::shared_ptr<MessageStream> ConnectLanes(ConnectLane connect, std::shared_ptr<StreamEvents> events, PostTask post,
                                            const Clock* clock, const LaneOffer& offer = {});

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_LANES_LANED_CLIENT_H_
