// absl::Status over gRPC and back. The codes are the same numbers in both.
#ifndef PENSTOCK_NET_GRPC_STATUS_H_
#define PENSTOCK_NET_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string_view>

#include "absl/status/status.h"

namespace penstock {

// Messages longer than 8 KiB are cut (with a mark): they travel in a header, which gRPC bounds.
grpc::Status ToGrpc(const absl::Status& status);

// A code that is none of absl's becomes kUnknown.
absl::Status FromGrpc(const grpc::Status& status);

// The same, the message beginning with who was asked: "coordinator localhost:7070: connection refused".
absl::Status FromGrpc(const grpc::Status& status, std::string_view peer);

}  // namespace penstock

#endif  // PENSTOCK_NET_GRPC_STATUS_H_
