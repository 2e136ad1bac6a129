// The client's end of a stream over several connections.
#ifndef PENSTOCK_TRANSPORT_LANES_LANED_CLIENT_H_
#define PENSTOCK_TRANSPORT_LANES_LANED_CLIENT_H_

#include <functional>
#include <memory>

#include "base/runtime/clock.h"
#include "base/runtime/executor.h"
#include "base/runtime/random_source.h"
#include "transport/lanes/lane.h"
#include "transport/message_stream.h"

namespace penstock::transport {

// Opens one connection to the worker, and sends the LaneCall as the call's metadata. Otherwise as Transport::Connect.
using ConnectLane = std::function<std::shared_ptr<MessageStream>(const LaneCall&, std::shared_ptr<StreamEvents>)>;

// Runs a task soon on a thread of the carrier, never inside the call. May be called as long as the stream lives.
using PostTask = std::function<void(Task)>;

// A client opens another connection if, within a window, the stream receives at least `bytes_per_second` and uses every
// open connection. The worker decides whether to use it.
struct LaneOffer {
  double bytes_per_second = 32e6;
  Nanos window = kSecond;                       // length of a measurement
  RandomSource* random = RandomSource::Real();  // for the name of the stream
};

// Opens the stream by its first connection. If a further connection cannot be opened, the stream tries no other and
// continues. The loss of a further connection that the worker accepted ends the stream with Unavailable. `clock` must
// outlive the stream.
std::shared_ptr<MessageStream> ConnectLanes(ConnectLane connect, std::shared_ptr<StreamEvents> events, PostTask post,
                                            const Clock* clock, const LaneOffer& offer = {});

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_LANES_LANED_CLIENT_H_
