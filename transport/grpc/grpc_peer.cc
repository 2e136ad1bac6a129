#include "transport/grpc/grpc_peer.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <memory>
#include <string>

namespace penstock::transport {

Peer PeerOf(const grpc::ServerContextBase& context) {
  const std::string uri = context.peer();
  const std::shared_ptr<const grpc::AuthContext> about = context.auth_context();
  // Every connection has a security type ("insecure" is one) and an address. gRPC 1.51 has neither for a call that this
  // process makes to itself.
  const bool connected =
      about != nullptr && !about->FindPropertyValues(GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME).empty();
  if (!connected) return uri == "unknown" ? Peer::InProcess() : Peer::Grpc(uri);
  Peer peer = Peer::Grpc(uri);
  peer.has_certificate = !about->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME).empty();
  for (const char* property : {GRPC_PEER_URI_PROPERTY_NAME, GRPC_PEER_DNS_PROPERTY_NAME}) {
    for (const grpc::string_ref& name : about->FindPropertyValues(property)) {
      peer.certificate_names.emplace_back(name.data(), name.size());
    }
  }
  return peer;
}

}  // namespace penstock::transport
