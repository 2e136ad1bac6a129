// The client's side of the gRPC carrier.
#ifndef PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>
#include <string>

#include "transport/message_stream.h"

namespace penstock {

// Bytes of rows that may be under way to a client on one stream. What a client asks for bounds them before this does.
constexpr int kDataWindowBytes = 4 << 20;

// Each stream has a connection of its own (net/channel.h), whose window lets kDataWindowBytes be under way to the
// client. Addresses are host:port.
class GrpcTransport final : public Transport {
 public:
  std::shared_ptr<MessageStream> Connect(const std::string& address, std::shared_ptr<StreamEvents> events) override;
};

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
