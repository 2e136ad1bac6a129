// Starts the gRPC server of a daemon with the limits for its peers.
#ifndef PENSTOCK_SERVER_COMMON_GUARDED_SERVER_H_
#define PENSTOCK_SERVER_COMMON_GUARDED_SERVER_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "absl/status/statusor.h"
#include "net/address.h"
#include "net/channel.h"
#include "server/peers/call_limits.h"
#include "server/peers/peer_limits.h"
#include "server/peers/rejections.h"

namespace penstock::server {

// Starts the server as net::StartServer does, with the same errors. It applies the limits of connections and of memory,
// adds rejected connections to `rejections`, and closes the connections of hosts that exceed `calls` for long.
absl::StatusOr<net::RunningServer> StartGuardedServer(const net::Address& listen, grpc::Service* service,
                                                      net::ServerOptions options, const PeerLimits& limits,
                                                      const std::shared_ptr<Rejections>& rejections, CallLimits* calls);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_COMMON_GUARDED_SERVER_H_
