// The client's side of the gRPC carrier.
#ifndef PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "transport/message_stream.h"

namespace penstock {

// Each stream has a connection of its own (net/channel.h). As many bytes may be under way on it as its path holds: what
// a client asks for bounds them. Goes by WorkerAddress::network, host:port.
class GrpcTransport final : public Transport {
 public:
  std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) override;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
