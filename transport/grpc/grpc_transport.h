// The client's side of the gRPC carrier.
#ifndef PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "transport/lanes/laned_client.h"
#include "transport/message_stream.h"

namespace penstock::transport {

// Opens streams over gRPC. Each stream has its own connection (net/channel.h), and gets more under high throughput if
// they increase the throughput (transport/lanes). The bytes in flight on a connection are limited by its path's
// capacity and by the client's requests. Uses WorkerAddress::network, host:port.
class GrpcTransport final : public Transport {
 public:
  explicit GrpcTransport(const LaneOffer& offer = {}) : offer_(offer) {}

  std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) override;

 private:
  const LaneOffer offer_;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
