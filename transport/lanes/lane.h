// A stream over several connections. The client opens one connection, and offers more under high throughput. The worker
// sends its messages over as many as increase the throughput. The users of the stream see one ordered stream.
//
//   worker                                               client
//   StartWrite ─▶ a lane that is free ─▶ connection 0 ─▶ read ahead, one message a lane ─▶ in order ─▶ OnMessage
//                                    └─▶ connection 1 ─▶
//
// The client sends all its messages over the first connection. If the client offers lanes, each message from the worker
// begins with a prefix of 16 bytes. A client that receives no prefix knows that the worker does not support lanes, and
// reads the messages without one.
#ifndef PENSTOCK_TRANSPORT_LANES_LANE_H_
#define PENSTOCK_TRANSPORT_LANES_LANE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transport/slice.h"

namespace penstock::transport {

// Maximum number of lanes of a stream.
constexpr size_t kMostLanes = 8;

// The lane metadata of a call to a worker.
struct LaneCall {
  std::string stream;  // an unguessable name: RandomHexId()
  bool joins = false;  // the call is a further lane of that stream, not its first
};

// Returns true if `name` has the form of a stream name: 128 bits in hexadecimal.
bool IsStreamName(std::string_view name);

// The prefix of each message: [u32 mark][u32 kind][u64 number], little-endian. The mark differs from every valid header
// length, with which a frame (transport/frame.h) begins.
struct LanePrefix {
  enum class Kind : uint32_t {
    kMessage = 1,  // `number` counts the stream's messages, from 0
    kHello = 2,    // the worker accepted this lane
    kJoined = 3,   // the client received kHello: the worker may use the lane
    kEnd = 4,      // the worker sent `number` messages over all lanes, and the stream ends
  };
  Kind kind = Kind::kMessage;
  uint64_t number = 0;
};

SliceList WithPrefix(const LanePrefix& prefix, const SliceList& message = {});
// Removes and returns the prefix of `message`. If there is none, returns nullopt and leaves `message` unchanged.
std::optional<LanePrefix> TakePrefix(SliceList* message);

// Returns the carrier's name for display, with the number of connections ("grpc x2"). The text is never freed.
std::string_view LanedCarrier(std::string_view carrier, size_t lanes);

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_LANES_LANE_H_
