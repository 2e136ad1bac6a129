// How a process protects the connections that it opens.
#ifndef PENSTOCK_NET_TLS_CLIENT_SECURITY_H_
#define PENSTOCK_NET_TLS_CLIENT_SECURITY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "net/tls/certificates.h"
#include "net/tls/live_certificates.h"

namespace penstock::net {

// By default, connections are plaintext.
struct ClientSecurity {
  std::shared_ptr<const LiveCertificates> certificates;  // null: plaintext

  bool tls() const { return certificates != nullptr; }
};

// Returns `given` with the environment's PENSTOCK_TLS_CERT, PENSTOCK_TLS_KEY and PENSTOCK_TLS_CA in the place of empty
// paths.
TlsFiles WithEnvironment(TlsFiles given);

// Reads the files of a client, completed by WithEnvironment, and follows them on a thread of its own. Returns the
// default without any file, and InvalidArgument for a certificate without a CA. Other errors are those of
// LiveCertificates::Load.
absl::StatusOr<ClientSecurity> OpenClientSecurity(const TlsFiles& given);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TLS_CLIENT_SECURITY_H_
