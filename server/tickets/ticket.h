// Signs and verifies tickets (proto/penstock/v1/ticket.proto). Thread-safe.
#ifndef PENSTOCK_SERVER_TICKETS_TICKET_H_
#define PENSTOCK_SERVER_TICKETS_TICKET_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "penstock/v1/ticket.pb.h"

namespace penstock::server {

// Sizes of the keys of Ed25519 (RFC 8032).
inline constexpr size_t kSigningKeyBytes = 32, kPublicKeyBytes = 32;

// Returns the public key of a signing key, which consists of kSigningKeyBytes random bytes.
std::string PublicKeyOf(std::string_view signing_key);

// Returns a signed ticket in wire format.
std::string SignTicket(const v1::TicketClaims& claims, std::string_view signing_key);

// Returns the claims of a ticket if one of the public keys verifies it. Otherwise returns Unauthenticated with the
// reason, which begins with "the caller's ticket". Does not check the times.
absl::StatusOr<v1::TicketClaims> VerifyTicket(std::string_view ticket, std::span<const std::string> public_keys);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_TICKETS_TICKET_H_
