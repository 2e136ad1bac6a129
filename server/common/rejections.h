// Counts the calls and streams that a daemon rejects, by reason, for metrics.
#ifndef PENSTOCK_SERVER_COMMON_REJECTIONS_H_
#define PENSTOCK_SERVER_COMMON_REJECTIONS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace penstock::server {

enum class RejectionReason : uint8_t {
  kProtocol,         // no common protocol
  kUnauthenticated,  // no certificate, or no other credential
  kForbidden,        // the credential does not allow the call
  kLimit,            // too many sessions, streams or bytes
  kOther,
  kCount,
};

// Returns the value of the metrics' label: "protocol", "unauthenticated", "forbidden", "limit", "other".
std::string_view NameOf(RejectionReason reason);

// Returns kUnauthenticated, kForbidden (PermissionDenied), kLimit (ResourceExhausted) or kOther. Never kProtocol, which
// only the caller knows.
RejectionReason ReasonOf(const absl::Status& status);

// Thread-safe.
class Rejections {
 public:
  using Counts = std::array<uint64_t, static_cast<size_t>(RejectionReason::kCount)>;  // by RejectionReason

  void Add(RejectionReason reason) { counts_[static_cast<size_t>(reason)].fetch_add(1, std::memory_order_relaxed); }
  Counts Get() const;

 private:
  std::array<std::atomic<uint64_t>, static_cast<size_t>(RejectionReason::kCount)> counts_ = {};
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_REJECTIONS_H_
