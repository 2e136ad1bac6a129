// Converts between messages and gRPC byte buffers without copying.
#ifndef PENSTOCK_TRANSPORT_GRPC_BYTE_BUFFER_H_
#define PENSTOCK_TRANSPORT_GRPC_BYTE_BUFFER_H_

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/statusor.h"
#include "transport/slice.h"

namespace penstock::transport {

// Returns a buffer that keeps the message's slices alive until gRPC has sent them.
grpc::ByteBuffer ToByteBuffer(const SliceList& message);

// Returns a message that keeps the buffer's slices alive. Returns Internal if gRPC cannot provide the slices.
absl::StatusOr<SliceList> FromByteBuffer(const grpc::ByteBuffer& buffer);

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_GRPC_BYTE_BUFFER_H_
