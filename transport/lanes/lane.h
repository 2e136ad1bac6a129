// A stream over several connections. A client opens one, and offers more of them where much comes through it; the
// worker sends its messages over as many as bring more rows. For those who look at the stream it is one, in order.
//
//   worker                                               client
//   StartWrite ─▶ a lane that is free ─▶ connection 0 ─▶ read ahead, one message a lane ─▶ in order ─▶ OnMessage
//                                    └─▶ connection 1 ─▶
//
// What a client sends goes over the first connection alone. What a worker sends to a client that offers lanes begins
// with a prefix (16 bytes), by which a client also sees that the worker knows of lanes: one that does not is sent to as
// ever.
#ifndef PENSTOCK_TRANSPORT_LANES_LANE_H_
#define PENSTOCK_TRANSPORT_LANES_LANE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transport/slice.h"

namespace penstock {

// Of one stream.
constexpr size_t kMostLanes = 8;

// What a call to a worker says of lanes, beside its messages.
struct LaneCall {
  std::string stream;  // a name that nobody guesses: NewStreamName()
  bool joins = false;  // the call is a further lane of that stream, not its first
};

// 128 bits drawn by chance, in hexadecimal.
std::string NewStreamName();
// Whether it is one.
bool IsStreamName(std::string_view name);

// What lies before each message: [u32 mark][u32 kind][u64 number], little-endian. The mark is no length that a frame
// (transport/frame.h) begins with.
struct LanePrefix {
  enum class Kind : uint32_t {
    kMessage = 1,  // `number` counts the stream's messages, from 0
    kHello = 2,    // the worker has taken this lane in
    kJoined = 3,   // the client has read that: the lane may be used
    kEnd = 4,      // `number` messages were sent, over all lanes; then the stream ends
  };
  Kind kind = Kind::kMessage;
  uint64_t number = 0;
};

SliceList WithPrefix(const LanePrefix& prefix, const SliceList& message = {});
// The prefix, and `message` without it; nothing, and `message` as it was, where it has none.
std::optional<LanePrefix> TakePrefix(SliceList* message);

// For people: that carrier over so many connections ("grpc x2"). Lives for ever.
std::string_view LanedCarrier(std::string_view carrier, size_t lanes);

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_LANES_LANE_H_
