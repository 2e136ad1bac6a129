#include "net/grpc_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::net {
namespace {

constexpr size_t kMaxMessage = 8192;

absl::StatusCode CodeOf(const grpc::Status& status) {
  const int code = static_cast<int>(status.error_code());
  return code >= 0 && code <= 16 ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown;
}

// gRPC leaves the message empty if the peer does not know the call.
std::string MessageOf(const grpc::Status& status) {
  if (status.error_code() != grpc::StatusCode::UNIMPLEMENTED || !status.error_message().empty()) {
    return status.error_message();
  }
  return "it answers, but does not know this call: a worker's address in the place of the coordinator's, or another "
         "program";
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  std::string message(status.message());
  if (message.size() > kMaxMessage) {
    message.resize(kMaxMessage - 4);
    message += " ...";
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message);
}

absl::Status FromGrpc(const grpc::Status& status) { return absl::Status(CodeOf(status), MessageOf(status)); }

absl::Status FromGrpc(const grpc::Status& status, std::string_view peer) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(CodeOf(status),
                      absl::StrCat(absl::string_view(peer.data(), peer.size()), ": ", MessageOf(status)));
}

}  // namespace penstock::net
