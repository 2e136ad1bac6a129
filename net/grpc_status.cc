#include "net/grpc_status.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

constexpr size_t kMaxMessage = 8192;

absl::StatusCode CodeOf(const grpc::Status& status) {
  const int code = static_cast<int>(status.error_code());
  return code >= 0 && code <= 16 ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown;
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

absl::Status FromGrpc(const grpc::Status& status) { return absl::Status(CodeOf(status), status.error_message()); }

absl::Status FromGrpc(const grpc::Status& status, std::string_view peer) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(CodeOf(status),
                      absl::StrCat(absl::string_view(peer.data(), peer.size()), ": ", status.error_message()));
}

}  // namespace penstock
