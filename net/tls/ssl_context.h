// OpenSSL's settings from certificates, for connections without gRPC.
#ifndef PENSTOCK_NET_TLS_SSL_CONTEXT_H_
#define PENSTOCK_NET_TLS_SSL_CONTEXT_H_

#include <openssl/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "net/tls/certificates.h"

namespace penstock::net {

// Sets the certificate with its intermediates, the key, and the CA as the authorities that sign the other side's
// certificates. Skips fields that are "". Returns InvalidArgument if OpenSSL rejects a certificate or the key.
absl::Status UseCertificates(const Certificates& certificates, SSL_CTX* context);

// The other side of a connection after its handshake.
struct ShownCertificate {
  bool shown = false;              // it has shown a certificate that the context's CA signs
  std::vector<std::string> names;  // URIs, then DNS names of its SAN
};
ShownCertificate ShownOn(SSL* connection);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TLS_SSL_CONTEXT_H_
