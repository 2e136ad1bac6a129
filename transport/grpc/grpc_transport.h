// The client's side of the gRPC carrier.
#ifndef PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "transport/lanes/laned_client.h"
#include "transport/message_stream.h"

namespace penstock::transport {

// Opens streams over gRPC to WorkerAddress::network. Each stream has its own connection (net/channel.h), and opens more
// under high throughput (transport/lanes). The capacity of its path and the client's reads limit the bytes in flight on
// a connection.
class GrpcTransport final : public Transport {
 public:
  explicit GrpcTransport(const LaneOffer& offer = {}) : offer_(offer) {}

  std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) override;

 private:
  const LaneOffer offer_;
};

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
