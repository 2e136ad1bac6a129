// Messages of the data plane: [u32 little-endian header length][header, a protobuf message][payload], as gRPC slices.
// The payload is never flattened: it goes out as the slices it lies in. transport/frame.h makes and reads the same
// bytes.
#ifndef PENSTOCK_NET_FRAME_H_
#define PENSTOCK_NET_FRAME_H_

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace penstock {

// The largest header of a frame; a Rows header is some 20 bytes a row.
constexpr size_t kMaxHeaderBytes = 4 << 20;

// A message of a header and payload slices, which are referenced and not copied.
grpc::ByteBuffer MakeFrame(const google::protobuf::MessageLite& header, absl::Span<const grpc::Slice> payload = {});

}  // namespace penstock

#endif  // PENSTOCK_NET_FRAME_H_
