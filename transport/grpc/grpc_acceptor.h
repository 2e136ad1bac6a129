// The worker's side of streams over gRPC: the data-plane service for any StreamAcceptor.
#ifndef PENSTOCK_TRANSPORT_GRPC_GRPC_ACCEPTOR_H_
#define PENSTOCK_TRANSPORT_GRPC_GRPC_ACCEPTOR_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "base/runtime/executor.h"
#include "transport/lanes/laned_server.h"
#include "transport/message_stream.h"
#include "transport/peer.h"

namespace penstock::transport {

// Time from Close until the service aborts a connection whose client does not read the remaining messages.
constexpr Nanos kGrpcCloseGrace = 2 * kSecond;

// Returns the service penstock.v1.Worker. The server must be shut down before the service is destroyed. The service
// passes each stream that a client opens to `acceptor`. A stream may have as many connections as `lanes` allows.
// `admit` decides about each call. `acceptor` and `executor` must outlive the service and its streams.
//
// Events run on gRPC's callback threads and on `executor`, which also runs the timers for closing. A client that
// receives the final status has read every message. If the client does not read, the service aborts the stream after
// kGrpcCloseGrace, and a live client receives Cancelled. A stream over several connections first waits for
// LaneOptions::close_grace.
std::unique_ptr<grpc::Service> MakeGrpcStreamService(StreamAcceptor* acceptor, Executor* executor,
                                                     const LaneOptions& lanes = {}, AdmitPeer admit = nullptr);

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_GRPC_GRPC_ACCEPTOR_H_
