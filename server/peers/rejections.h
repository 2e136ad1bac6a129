// The connections, calls and streams that a daemon rejects: their numbers by reason, and their callers.
#ifndef PENSTOCK_SERVER_PEERS_REJECTIONS_H_
#define PENSTOCK_SERVER_PEERS_REJECTIONS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "base/runtime/rate_table.h"
#include "net/front_door/front_door.h"
#include "penstock/v1/control.pb.h"
#include "transport/peer.h"

namespace penstock::server {

enum class RejectionReason : uint8_t {
  kProtocol,         // no common protocol
  kUnauthenticated,  // no certificate, or no other credential
  kForbidden,        // the credential does not allow the call
  kLimit,            // too many connections, calls, sessions, streams or bytes
  kOther,
  kCount,
};

// Returns the value of the metrics' label: "protocol", "unauthenticated", "forbidden", "limit", "other".
std::string_view NameOf(RejectionReason reason);

// Returns kUnauthenticated, kForbidden (PermissionDenied), kLimit (ResourceExhausted) or kOther. Never kProtocol, which
// only the caller knows.
RejectionReason ReasonOf(const absl::Status& status);

// A rejected caller. `name` is "" if it is unknown.
struct Rejected {
  RejectionReason reason;
  std::string host;  // Peer::Host()
  std::string name;
  std::string message;
};

// Returns the rejection of a peer with this status.
Rejected RejectionOf(const transport::Peer& peer, const absl::Status& status);

// Thread-safe. Keeps the latest kMostCallers callers, each for kRemembered after its last rejection.
class Rejections {
 public:
  using Counts = std::array<uint64_t, static_cast<size_t>(RejectionReason::kCount)>;  // by RejectionReason

  static constexpr size_t kMostCallers = 16;
  static constexpr Nanos kRemembered = 300 * kSecond;

  // `on_new` is called, unless it is unset, when a caller that is not in the list is rejected: at most 10 times at
  // once, and then once in 10 s, whatever callers do. It runs within Add, on its thread, and must not block.
  explicit Rejections(std::function<void(const Rejected&)> on_new = nullptr, const Clock* clock = Clock::Real())
      : on_new_(std::move(on_new)), clock_(clock) {}

  // Hosts that peers choose freely, such as addresses that are not in use, displace other hosts from the list of
  // callers, but not from the counts.
  void Add(const Rejected& rejected);
  Counts Get() const;
  // Sets `out` to the callers, the latest first.
  void CopyTo(google::protobuf::RepeatedPtrField<v1::RejectedCaller>* out) const;

 private:
  struct Caller {
    std::string message;  // error of the last rejection
    uint64_t count = 0;
    Nanos last = 0;
  };
  using Key = std::tuple<std::string, std::string, RejectionReason>;  // host, name

  const std::function<void(const Rejected&)> on_new_;
  const Clock* const clock_;
  std::array<std::atomic<uint64_t>, static_cast<size_t>(RejectionReason::kCount)> counts_ = {};
  mutable Mutex mutex_;
  std::map<Key, Caller> callers_ ABSL_GUARDED_BY(mutex_);
  RateTable news_ ABSL_GUARDED_BY(mutex_){0.1, 10};
};

// Returns a function that adds rejected connections to `rejections`.
net::OnRejected RejectConnections(std::shared_ptr<Rejections> rejections);

// The same for the peers that a carrier of streams rejects.
transport::OnRejectedPeer RejectPeers(std::shared_ptr<Rejections> rejections);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_PEERS_REJECTIONS_H_
