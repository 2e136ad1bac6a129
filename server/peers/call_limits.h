// Limits the calls and streams that each host and each name begins per second.
#ifndef PENSTOCK_SERVER_PEERS_CALL_LIMITS_H_
#define PENSTOCK_SERVER_PEERS_CALL_LIMITS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "base/runtime/rate_table.h"
#include "transport/peer.h"

namespace penstock::server {

// A host or a name may begin `per_second` calls of a kind a second on average, and ten times as many at once after a
// pause. Thread-safe.
class CallLimits {
 public:
  explicit CallLimits(uint32_t per_second, const Clock* clock = Clock::Real());

  // Calls disconnect(host) while a host is rejected more than `per_second` times a second, because rejected calls also
  // take the daemon's time. `disconnect` runs within AdmitHost, and must not block.
  void DisconnectBy(std::function<void(const std::string& host)> disconnect);

  // Counts a call of the peer's host. `kind` names the calls that share a limit, so that one kind of process on a host
  // does not take the calls of another kind. Returns Unavailable with the limit if there are too many: clients try
  // again. Peers without Host() have no limit.
  absl::Status AdmitHost(const transport::Peer& peer, std::string_view kind);
  // The same for the peer's name, after the peer has proved it. Peers without a name or Host() have no limit.
  absl::Status AdmitName(const transport::Peer& peer, std::string_view kind);

 private:
  const uint32_t per_second_;
  const Clock* const clock_;
  Mutex mutex_;
  RateTable hosts_ ABSL_GUARDED_BY(mutex_), names_ ABSL_GUARDED_BY(mutex_);
  RateTable rejections_ ABSL_GUARDED_BY(mutex_);  // of hosts
  std::function<void(const std::string&)> disconnect_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_PEERS_CALL_LIMITS_H_
