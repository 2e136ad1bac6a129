#include "net/channel.h"

#include <grpc/impl/codegen/grpc_types.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <chrono>
#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "net/call_release.h"
#include "net/tls/grpc_credentials.h"

namespace penstock::net {
namespace {

// Rows are large. Large HTTP/2 frames and socket reads keep a row in a few slices instead of twenty.
constexpr int kFrameBytes = 1 << 20;
constexpr int kReadBytes = 1 << 20;

constexpr int kKeepaliveMs = 5000;
constexpr int kCallsKeepaliveMs = 20'000;
constexpr int kCallsServerKeepaliveMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 3000;

// Applies the settings of both sides. Calls `set` with (name, value).
template <typename Set>
void ForBothSides(bool probes, int keepalive_ms, Set set) {
  set(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, kMaxMessageBytes);
  set(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, kMaxMessageBytes);
  set(GRPC_ARG_HTTP2_BDP_PROBE, probes ? 1 : 0);
  set(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytes);
  set(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kFrameBytes);
  set(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBytes);
  set(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadBytes);
  set(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms);
  set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // no limit
}

// gRPC runs callbacks on a few threads. It joins these threads when the last channel that uses them is destroyed. A
// stream's last event may release that channel on one of them, which then joins itself and continues with freed memory
// (seen as double frees). So the process keeps one channel that uses the threads forever. This channel connects to
// nothing and makes one call, which fails.
void KeepCallbackThreads() {
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer request, reply;
  };
  // volatile: otherwise the compiler drops a pointer that is never read, and a leak checker reports the channel.
  static const void* volatile kept = [] {
    auto* const channel = new std::shared_ptr<grpc::Channel>(grpc::CreateChannel("", nullptr));
    auto call = std::make_shared<Call>();
    const grpc::Slice nothing;
    call->request = grpc::ByteBuffer(&nothing, 1);
    grpc::GenericStub(*channel).UnaryCall(&call->context, "/none/None", {}, &call->request, &call->reply,
                                          [call](const grpc::Status&) {});
    return static_cast<const void*>(channel);
  }();
  (void)kept;
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, ChannelUse use, const ClientSecurity& security,
                                           const std::string& tls_name) {
  KeepCallbackThreads();
  grpc::ChannelArguments arguments;
  const bool rows = use == ChannelUse::kRows;
  ForBothSides(/*probes=*/rows, rows ? kKeepaliveMs : kCallsKeepaliveMs,
               [&](const char* name, int value) { arguments.SetInt(name, value); });
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // gRPC's smallest backoff is 100 ms. The "minimum" is the time limit of a connection attempt.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 500);
  if (!security.tls()) return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  if (!tls_name.empty()) arguments.SetSslTargetNameOverride(tls_name);
  return grpc::CreateCustomChannel(address, TlsChannelCredentials(*security.certificates->current()), arguments);
}

void ConfigureServer(grpc::ServerBuilder* builder, ChannelUse use) {
  const int keepalive = use == ChannelUse::kRows ? kKeepaliveMs : kCallsServerKeepaliveMs;
  ForBothSides(/*probes=*/false, keepalive,
               [&](const char* name, int value) { builder->AddChannelArgument(name, value); });
  builder->SetMaxReceiveMessageSize(kMaxMessageBytes);
  builder->SetMaxSendMessageSize(kMaxMessageBytes);
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Accept the client's keepalive pings without a GOAWAY.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kKeepaliveMs / 5);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);  // no limit
  // The client ends its call in time, and the server sees the cancellation. gRPC would also keep a timer for each call,
  // in lists that it scans: with ten thousand open calls these timers cost a quarter of the total.
  builder->AddChannelArgument(GRPC_ARG_ENABLE_DEADLINE_CHECKS, 0);
}

absl::StatusOr<RunningServer> StartServer(const Address& address, const std::vector<grpc::Service*>& services,
                                          ServerOptions options) {
  KeepCallbackThreads();
  // Distributions build abseil without NDEBUG, so that each lock of gRPC updates a graph of all locks.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  grpc::ServerBuilder builder;
  ConfigureServer(&builder, options.use);
  builder.SetMaxReceiveMessageSize(options.max_receive_bytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(options.limits.handshake_time / kMillisecond));
  RunningServer running;
  FrontDoorOptions door{options.limits, std::move(options.on_rejected), std::chrono::milliseconds(kKeepaliveTimeoutMs),
                        std::move(options.short_of_memory)};
  PS_ASSIGN_OR_RETURN(running.door, FrontDoor::Listen(address, std::move(door)));
  running.certificates = std::move(options.certificates);
  running.credentials = running.certificates != nullptr ? TlsServerCredentials(running.certificates.get())
                                                        : grpc::InsecureServerCredentials();
  const auto acceptor = std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor>(
      builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, running.credentials));
  for (grpc::Service* service : services) builder.RegisterService(service);
  running.server = builder.BuildAndStart();
  if (running.server == nullptr) return absl::InternalError("gRPC cannot start a server");
  running.address = {address.host, running.door->port()};
  // Once the server has ended, the acceptor closes the connections that it gets.
  PS_RETURN_IF_ERROR(running.door->Open([acceptor](int fd) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = fd;
    acceptor->HandleNewConnection(&connection);
  }));
  return running;
}

std::shared_ptr<grpc::Channel> ChannelInProcess(const RunningServer& running) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return running.server->InProcessChannel(arguments);
}

void PrepareCall(grpc::ClientContext* context, absl::Duration timeout) {
  AddRelease(context);
  context->set_deadline(std::chrono::system_clock::now() + absl::ToChronoNanoseconds(timeout));
}

}  // namespace penstock::net
