// The worker's side of streams over gRPC: the data plane's service, around any StreamAcceptor.
#ifndef PENSTOCK_TRANSPORT_GRPC_GRPC_ACCEPTOR_H_
#define PENSTOCK_TRANSPORT_GRPC_GRPC_ACCEPTOR_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "base/runtime/executor.h"
#include "transport/lanes/laned_server.h"
#include "transport/message_stream.h"

namespace penstock {

// From Close until a stream is broken off whose client does not read what is on its way to it.
constexpr Nanos kGrpcCloseGrace = 2 * kSecond;

// The service penstock.v1.Worker, for a server that is shut down before the service goes. Each stream that a client
// opens goes to `acceptor`; it may have several connections, as `lanes` says. `executor` keeps the time of closing.
// Both outlive the service and its streams.
//
// Events come on gRPC's callback threads. A client that was told of the end in order (its status) has read everything;
// where it reads nothing the stream is broken off after kGrpcCloseGrace and the client, should it live, sees Cancelled.
std::unique_ptr<grpc::Service> MakeGrpcStreamService(StreamAcceptor* acceptor, Executor* executor,
                                                     const LaneOptions& lanes = {});

}  // namespace penstock

#endif  // PENSTOCK_TRANSPORT_GRPC_GRPC_ACCEPTOR_H_
