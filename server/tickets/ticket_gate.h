// A worker's decision about the ticket of a stream.
#ifndef PENSTOCK_SERVER_TICKETS_TICKET_GATE_H_
#define PENSTOCK_SERVER_TICKETS_TICKET_GATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "penstock/v1/ticket.pb.h"
#include "transport/peer.h"

namespace penstock::server {

// Returns the time in microseconds since 1970-01-01 UTC.
int64_t UnixMicros();

// Thread-safe. Never blocks for long: a verification takes a tenth of a millisecond of the CPU.
class TicketGate {
 public:
  // `required`: streams need a ticket even if the coordinator issues none. Otherwise they need one as soon as the
  // coordinator has sent rules with a key.
  explicit TicketGate(bool required, std::function<int64_t()> now = UnixMicros)
      : required_(required), now_(std::move(now)) {}

  // Replaces the rules by those of the coordinator. A TicketRules without keys: the coordinator issues no tickets.
  void Update(const v1::TicketRules& rules);
  // Returns TicketRules::version of the current rules, or 0 before the first ones.
  uint64_t version() const;

  // Returns whether streams of this peer need a ticket now. A process of this host that belongs neither to this
  // process's user nor to root always needs one.
  bool Needs(const transport::Peer& peer) const;

  // Returns OK if a stream needs no ticket, or if `ticket` is valid now. A valid ticket sets the peer's name, the one
  // job that it may read, and the time of the ticket. Other results name the reason and the remedy:
  //   Unauthenticated    no ticket, or one that is damaged, forged, expired, or signed with a key that is not known yet
  //   PermissionDenied   the ticket was revoked
  absl::Status Admit(std::string_view ticket, transport::Peer* peer) const;

  // Returns OK if a peer that was admitted may still open a job: the rules may have changed since. Returns
  // PermissionDenied if its ticket was revoked, and Unavailable if it was admitted before this worker had keys: a new
  // stream is then checked.
  absl::Status CheckAdmitted(const transport::Peer& peer) const;
  // Returns whether a peer that was admitted has a ticket that was revoked since.
  bool IsRevoked(const transport::Peer& peer) const;

 private:
  bool NeedsHere(const transport::Peer& peer) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsRevoked(const std::string& name, int64_t issued) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const bool required_;
  const std::function<int64_t()> now_;
  mutable Mutex mutex_;
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> keys_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int64_t> revoked_until_ ABSL_GUARDED_BY(mutex_);  // by name
};

// Returns the status of a stream whose ticket was revoked.
absl::Status RevokedError(const std::string& name);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_TICKETS_TICKET_GATE_H_
