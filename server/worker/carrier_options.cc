#include "server/worker/carrier_options.h"

#include <utility>

namespace penstock::worker {

transport::LaneOptions LanesOf(const WorkerOptions& options, std::shared_ptr<server::Rejections> rejections) {
  transport::LaneOptions lanes;
  if (options.wire_connections > 0) lanes.most = options.wire_connections;
  lanes.all = options.wire_connections > 0;
  lanes.on_rejected = server::RejectPeers(std::move(rejections));
  return lanes;
}

transport::SharedMemoryListenerOptions ListenerOptionsOf(const WorkerOptions& options,
                                                         std::shared_ptr<server::Rejections> rejections) {
  transport::SharedMemoryListenerOptions listener;
  listener.dir = options.socket_dir;
  listener.users = options.socket_users;
  listener.user_streams = static_cast<int>(options.limits.socket_streams_per_user);
  listener.on_rejected = server::RejectPeers(std::move(rejections));
  if (options.tickets != nullptr) {
    listener.needs_ticket = [gate = options.tickets](const transport::Peer& peer) { return gate->Needs(peer); };
  }
  return listener;
}

}  // namespace penstock::worker
