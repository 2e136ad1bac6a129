// Messages as gRPC's byte buffers and back, without copying a byte.
#ifndef PENSTOCK_TRANSPORT_GRPC_BYTE_BUFFER_H_
#define PENSTOCK_TRANSPORT_GRPC_BYTE_BUFFER_H_

#include <grpcpp/support/byte_buffer.h>

#include "absl/status/statusor.h"
#include "transport/slice.h"

namespace penstock {

// The buffer keeps the message's slices alive until gRPC has sent them.
grpc::ByteBuffer ToByteBuffer(const SliceList& message);

// The message keeps the buffer's slices alive. Internal where gRPC cannot take the buffer apart.
absl::StatusOr<SliceList> FromByteBuffer(const grpc::ByteBuffer& buffer);

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_GRPC_BYTE_BUFFER_H_
