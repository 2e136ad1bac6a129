// How a process protects the connections that it opens.
#ifndef PENSTOCK_NET_TLS_CLIENT_SECURITY_H_
#define PENSTOCK_NET_TLS_CLIENT_SECURITY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "net/access/token.h"
#include "net/tls/certificates.h"
#include "net/tls/live_certificates.h"

namespace penstock::net {

// By default, connections are plaintext, and calls carry no token.
struct ClientSecurity {
  std::shared_ptr<const LiveCertificates> certificates = nullptr;  // null: plaintext
  std::shared_ptr<const LiveToken> token = nullptr;                // null: none

  bool tls() const { return certificates != nullptr; }

  // Returns the token for a call to host:port, or "" without one, or the error of MayShow. Does not block.
  absl::StatusOr<std::string> TokenFor(const std::string& address) const;
  // Returns FailedPrecondition if a connection to host:port would expose a secret, because it is neither TLS nor within
  // this host. The caller must then send nothing. `secret` names it in the message: "token" or "ticket".
  absl::Status MayShow(const std::string& secret, const std::string& address) const;
};

// Returns `given` with the environment's PENSTOCK_TLS_CERT, PENSTOCK_TLS_KEY and PENSTOCK_TLS_CA in the place of empty
// paths.
TlsFiles WithEnvironment(TlsFiles given);

// Returns `given`, or the environment's PENSTOCK_TOKEN_FILE if that is "".
std::string TokenFileOr(const std::string& given);

// Reads the files of a client, completed by WithEnvironment and TokenFileOr, and follows them on threads of its own.
// Returns the default without any file, and InvalidArgument for a certificate without a CA. Other errors are those of
// LiveCertificates::Load and OpenToken.
absl::StatusOr<ClientSecurity> OpenClientSecurity(const TlsFiles& given, const std::string& token_file = "");

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TLS_CLIENT_SECURITY_H_
