// Converts between absl::Status and grpc::Status. The codes have the same numbers in both.
#ifndef PENSTOCK_NET_GRPC_STATUS_H_
#define PENSTOCK_NET_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string_view>

#include "absl/status/status.h"

namespace penstock::net {

// Drops marks and other payloads. Truncates a message to 8 KiB, ending in "...", because gRPC sends it in a header,
// whose size is limited.
grpc::Status ToGrpc(const absl::Status& status);

// Converts a code that absl does not have to kUnknown. Explains an Unimplemented without a message.
absl::Status FromGrpc(const grpc::Status& status);

// As above, with the peer's name before the message: "coordinator localhost:7070: connection refused".
absl::Status FromGrpc(const grpc::Status& status, std::string_view peer);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_GRPC_STATUS_H_
