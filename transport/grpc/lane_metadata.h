// How a call of penstock.v1.Worker/Stream says which stream it belongs to (transport/lanes/lane.h).
#ifndef PENSTOCK_TRANSPORT_GRPC_LANE_METADATA_H_
#define PENSTOCK_TRANSPORT_GRPC_LANE_METADATA_H_

namespace penstock {

// Keys of the call's metadata; the value is the stream's name.
inline constexpr char kBeginsStream[] = "penstock-stream";
inline constexpr char kJoinsStream[] = "penstock-joins-stream";

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_GRPC_LANE_METADATA_H_
