#include "server/common/rejections.h"

namespace penstock::server {

std::string_view NameOf(RejectionReason reason) {
  switch (reason) {
    case RejectionReason::kProtocol:
      return "protocol";
    case RejectionReason::kUnauthenticated:
      return "unauthenticated";
    case RejectionReason::kForbidden:
      return "forbidden";
    case RejectionReason::kLimit:
      return "limit";
    case RejectionReason::kOther:
    case RejectionReason::kCount:
      break;
  }
  return "other";
}

RejectionReason ReasonOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnauthenticated:
      return RejectionReason::kUnauthenticated;
    case absl::StatusCode::kPermissionDenied:
      return RejectionReason::kForbidden;
    case absl::StatusCode::kResourceExhausted:
      return RejectionReason::kLimit;
    default:
      return RejectionReason::kOther;
  }
}

Rejections::Counts Rejections::Get() const {
  Counts counts = {};
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = counts_[i].load(std::memory_order_relaxed);
  return counts;
}

}  // namespace penstock::server
