#include "server/common/guarded_server.h"

#include <string>
#include <utility>

#include "base/status_macros.h"

namespace penstock::server {

absl::StatusOr<net::RunningServer> StartGuardedServer(const net::Address& listen, grpc::Service* service,
                                                      net::ServerOptions options, const PeerLimits& limits,
                                                      const std::shared_ptr<Rejections>& rejections,
                                                      CallLimits* calls) {
  options.limits = limits.connections;
  options.short_of_memory = HasMoreThan(limits.memory_bytes);
  options.on_rejected = RejectConnections(rejections);
  PS_ASSIGN_OR_RETURN(net::RunningServer running, net::StartServer(listen, {service}, std::move(options)));
  calls->DisconnectBy([weak = std::weak_ptr<net::FrontDoor>(running.door)](const std::string& host) {
    if (const std::shared_ptr<net::FrontDoor> door = weak.lock()) door->Disconnect(host);
  });
  return running;
}

}  // namespace penstock::server
