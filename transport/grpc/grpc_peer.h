// The caller of an RPC as a peer.
#ifndef PENSTOCK_TRANSPORT_GRPC_GRPC_PEER_H_
#define PENSTOCK_TRANSPORT_GRPC_GRPC_PEER_H_

#include <grpcpp/server_context.h>

#include "transport/peer.h"

namespace penstock::transport {

// Returns the caller, with the names in its certificate if it has shown one that the server's CA signs.
Peer PeerOf(const grpc::ServerContextBase& context);

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_GRPC_GRPC_PEER_H_
