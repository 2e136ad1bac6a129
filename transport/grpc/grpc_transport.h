// The client's side of the gRPC carrier.
#ifndef PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "transport/lanes/laned_client.h"
#include "transport/message_stream.h"

namespace penstock {

// Each stream has a connection of its own (net/channel.h), and more where much comes through it and they bring more
// (transport/lanes). As many bytes may be under way on one as its path holds: what a client asks for bounds them. Goes
// by WorkerAddress::network, host:port.
class GrpcTransport final : public Transport {
 public:
  explicit GrpcTransport(const LaneOffer& offer = {}) : offer_(offer) {}

  std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) override;

 private:
  const LaneOffer offer_;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
