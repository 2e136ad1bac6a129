// A stream over several connections, each of which is a lane. The client opens one connection, and offers more under
// high throughput. The worker sends its messages over as many of them as increase the throughput. The users see one
// ordered stream.
//
//   worker                                               client
//   StartWrite ─▶ a lane that is free ─▶ connection 0 ─▶ read ahead, one message a lane ─▶ in order ─▶ OnMessage
//                                    └─▶ connection 1 ─▶
//
// The client sends its user's messages over the first connection, without a prefix. If the client offers lanes, each
// message from the worker begins with a prefix of 16 bytes. If the worker's first message has no prefix, the worker
// does not support lanes, and its messages are read as they are.
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

// The prefix of a message: [u32 mark][u32 kind][u64 number], little-endian. A frame (transport/frame.h) begins with its
// header's length, which never equals the mark.
struct LanePrefix {
  enum class Kind : uint32_t {
    kMessage = 1,  // `number` is the message's number in the stream, from 0
    kHello = 2,    // from the worker: it accepted this lane
    kJoined = 3,   // from the client: it received kHello, and the worker may use the lane
    kEnd = 4,      // from the worker: it sent `number` messages over all lanes, and the stream ends
  };
  Kind kind = Kind::kMessage;
  uint64_t number = 0;
};

SliceList WithPrefix(const LanePrefix& prefix, const SliceList& message = {});
// Removes and returns the prefix of `message`. If there is none, returns nullopt and leaves `message` unchanged.
std::optional<LanePrefix> TakePrefix(SliceList* message);

// Returns the carrier's name for display: for "grpc" with the number of connections ("grpc x2"), in text that is never
// freed, and for another carrier `carrier` itself.
std::string_view LanedCarrier(std::string_view carrier, size_t lanes);

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_LANES_LANE_H_
