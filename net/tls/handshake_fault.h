// Failed TLS handshakes in the user's terms.
#ifndef PENSTOCK_NET_TLS_HANDSHAKE_FAULT_H_
#define PENSTOCK_NET_TLS_HANDSHAKE_FAULT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "net/tls/client_security.h"

namespace penstock::net {

// The mark (base/status_mark.h) of an error whose message names the missing or wrong flag and its side.
inline constexpr std::string_view kHandshakeFault = "penstock.handshake_fault";

// Returns the error of a call with `security`. If the handshake of its connection failed, replaces the message and sets
// the mark. gRPC reports the cause only as text, in which this looks for the words of OpenSSL and gRPC 1.51.
absl::Status ExplainHandshake(absl::Status error, const ClientSecurity& security);

// Returns what a line of gRPC's log about a failed handshake means, for the log of a process that serves TLS. Returns
// "" for other lines.
std::string ExplainHandshakeLog(std::string_view line);

// Count the handshakes that failed at the ports of this process. Thread-safe.
void CountFailedHandshake();
uint64_t FailedHandshakes();

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TLS_HANDSHAKE_FAULT_H_
