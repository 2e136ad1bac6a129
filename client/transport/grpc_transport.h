// Streams to workers over gRPC.
#ifndef PENSTOCK_CLIENT_TRANSPORT_GRPC_TRANSPORT_H_
#define PENSTOCK_CLIENT_TRANSPORT_GRPC_TRANSPORT_H_

#include "client/transport/worker_stream.h"

namespace penstock {

// Each stream has a connection of its own (net/channel.h).
class GrpcTransport final : public Transport {
 public:
  std::shared_ptr<WorkerStream> Open(uint64_t stream, const std::string& address,
                                     std::shared_ptr<StreamEvents> events) override;
};

}  // namespace penstock

#endif  // PENSTOCK_CLIENT_TRANSPORT_GRPC_TRANSPORT_H_
