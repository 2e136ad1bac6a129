// The client's side of the gRPC carrier.
#ifndef PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
#define PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "net/channel.h"
#include "transport/lanes/laned_client.h"
#include "transport/message_stream.h"

namespace penstock::transport {

// Opens streams over gRPC to WorkerAddress::network. Each stream has its own connection (net/channel.h), and opens more
// under high throughput (transport/lanes). The capacity of its path and the client's reads limit the bytes in flight on
// a connection. A stream ends with FailedPrecondition, which names the remedy, if only one of client and worker uses
// TLS (WorkerAddress::tls_name), or if the connection would expose the ticket. Tokens are for the coordinator: no
// worker receives one.
class GrpcTransport final : public Transport {
 public:
  explicit GrpcTransport(const LaneOffer& offer = {}, net::ClientSecurity security = {})
      : offer_(offer), security_(std::move(security)) {}

  std::shared_ptr<MessageStream> Connect(const WorkerAddress& worker, std::shared_ptr<StreamEvents> events) override;

 private:
  const LaneOffer offer_;
  const net::ClientSecurity security_;
};

// Returns OK if the worker answers at its network address. Opens a connection as a stream does, and calls a method that
// no worker has, which needs no ticket. Blocks for at most `timeout`. Otherwise returns the error with which a stream
// would end, or DeadlineExceeded.
absl::Status ProbeOverNetwork(const WorkerAddress& worker, const net::ClientSecurity& security, absl::Duration timeout);

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_GRPC_GRPC_TRANSPORT_H_
