// OpenSSL's settings from certificates, for connections without gRPC.
#ifndef PENSTOCK_NET_TLS_SSL_CONTEXT_H_
#define PENSTOCK_NET_TLS_SSL_CONTEXT_H_

#include <openssl/types.h>

#include "absl/status/status.h"
#include "net/tls/certificates.h"

namespace penstock::net {

// Sets the certificate with its intermediates, the key, and the CA as the authorities that sign the other side's
// certificates. Leaves what is "". Returns InvalidArgument for contents that ReadCertificates rejects.
absl::Status UseCertificates(const Certificates& certificates, SSL_CTX* context);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TLS_SSL_CONTEXT_H_
