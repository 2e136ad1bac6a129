// Call metadata that assign a call of penstock.v1.Worker/Stream to a stream (transport/lanes/lane.h).
#ifndef PENSTOCK_TRANSPORT_GRPC_LANE_METADATA_H_
#define PENSTOCK_TRANSPORT_GRPC_LANE_METADATA_H_

namespace penstock::transport {

// Metadata keys of a stream's first call, and of a further one. The value is the stream's name.
inline constexpr char kBeginsStream[] = "penstock-stream";
inline constexpr char kJoinsStream[] = "penstock-joins-stream";

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_GRPC_LANE_METADATA_H_
