#include "server/tickets/ticket_gate.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "server/tickets/ticket.h"

namespace penstock::server {

namespace {

absl::Status NoTicket() {
  return absl::UnauthenticatedError(
      "this worker accepts only callers with a ticket, which a coordinator with --tokens issues to clients of release "
      "0.4.0 or later");
}

}  // namespace

int64_t UnixMicros() { return absl::ToUnixMicros(absl::Now()); }

absl::Status RevokedError(const std::string& name) {
  return absl::PermissionDeniedError(
      absl::StrCat("an operator has revoked the tickets of '", name, "' (penstock revoke)"));
}

void TicketGate::Update(const v1::TicketRules& rules) {
  std::map<std::string, int64_t> revoked;
  for (const v1::Revocation& revocation : rules.revocations()) {
    int64_t& until = revoked[revocation.name()];
    until = std::max(until, revocation.until());
  }
  MutexLock lock(&mutex_);
  version_ = rules.version();
  keys_.assign(rules.keys().begin(), rules.keys().end());
  revoked_until_ = std::move(revoked);
}

uint64_t TicketGate::version() const {
  MutexLock lock(&mutex_);
  return version_;
}

bool TicketGate::IsRevoked(const std::string& name, int64_t issued) const {
  const auto found = revoked_until_.find(name);
  return found != revoked_until_.end() && issued <= found->second;
}

bool TicketGate::IsRevoked(const transport::Peer& peer) const {
  MutexLock lock(&mutex_);
  return peer.ticket_issued != 0 && IsRevoked(peer.name, peer.ticket_issued);
}

bool TicketGate::NeedsHere(const transport::Peer& peer) const {
  const bool foreign = peer.kind == transport::Peer::Kind::kHost && peer.uid != geteuid() && peer.uid != 0;
  return required_ || foreign || !keys_.empty();
}

bool TicketGate::Needs(const transport::Peer& peer) const {
  MutexLock lock(&mutex_);
  return NeedsHere(peer);
}

absl::Status TicketGate::CheckAdmitted(const transport::Peer& peer) const {
  MutexLock lock(&mutex_);
  if (peer.ticket_issued == 0 && NeedsHere(peer)) {
    // The client may have a ticket, and shows it to a new stream.
    return absl::UnavailableError("this worker has got the keys of tickets after this stream began; open another");
  }
  if (peer.ticket_issued == 0) return absl::OkStatus();
  return IsRevoked(peer.name, peer.ticket_issued) ? RevokedError(peer.name) : absl::OkStatus();
}

absl::Status TicketGate::Admit(std::string_view ticket, transport::Peer* peer) const {
  std::vector<std::string> keys;
  {
    MutexLock lock(&mutex_);
    if (!NeedsHere(*peer)) return absl::OkStatus();
    keys = keys_;
  }
  if (keys.empty()) {
    return absl::UnauthenticatedError(
        "this worker accepts only callers with a ticket, and has no key of its coordinator to verify one: it has not "
        "registered yet, or the coordinator runs without --tokens");
  }
  if (ticket.empty()) return NoTicket();
  PS_ASSIGN_OR_RETURN(v1::TicketClaims claims, VerifyTicket(ticket, keys));
  peer->name = claims.name();  // also for the log of a rejected stream
  if (const int64_t late = now_() - claims.expires(); late >= 0) {
    return absl::UnauthenticatedError(
        absl::StrCat("the caller's ticket of '", claims.name(), "' expired ", late / 1'000'000,
                     " s ago: the coordinator renews it if the caller reaches it, and the clocks must agree"));
  }
  {
    MutexLock lock(&mutex_);
    if (IsRevoked(claims.name(), claims.issued())) return RevokedError(claims.name());
  }
  peer->jobs = {claims.job()};
  peer->ticket_issued = claims.issued();
  return absl::OkStatus();
}

}  // namespace penstock::server
