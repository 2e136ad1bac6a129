// gRPC's credentials from live certificates.
#ifndef PENSTOCK_NET_TLS_GRPC_CREDENTIALS_H_
#define PENSTOCK_NET_TLS_GRPC_CREDENTIALS_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "net/tls/certificates.h"
#include "net/tls/live_certificates.h"

namespace penstock::net {

// Returns credentials for channels. They verify the server with the CA, and show the certificate if there is one. They
// do not follow the files: make a new channel when the certificates have changed.
std::shared_ptr<grpc::ChannelCredentials> TlsChannelCredentials(const Certificates& certificates);

// Returns credentials for a server. Each handshake uses the certificates that are current then; open connections
// continue. A client may show a certificate, which the CA must have signed, or none: the gate of the RPCs requires one,
// so that a rejected client gets a reason. Without a CA of its own the server requests none: the host's authorities
// ("system") sign certificates of all kinds. For one port of one server. `certificates` and the credentials must
// outlive the server.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(const LiveCertificates* certificates);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_TLS_GRPC_CREDENTIALS_H_
