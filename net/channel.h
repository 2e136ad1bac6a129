// All gRPC settings of the project. gRPC's defaults do not fit: equal channels share a connection, http_proxy applies,
// reconnecting backs off to two minutes, messages are limited to 4 MB, frequent keepalive causes a GOAWAY, a busy port
// is not an error (SO_REUSEPORT), and rows are read in pieces of 8 KiB.
#ifndef PENSTOCK_NET_CHANNEL_H_
#define PENSTOCK_NET_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "net/address.h"
#include "net/front_door/front_door.h"
#include "net/tls/client_security.h"
#include "net/tls/live_certificates.h"

namespace penstock::net {

// Largest message that either side accepts. A larger one ends the call with ResourceExhausted.
constexpr int kMaxMessageBytes = 64 << 20;

// The purpose of a connection.
//   kCalls   short messages of the coordinator. About 64 KiB may be in flight, plus the rest of the message being read.
//            (gRPC 1.51 ignores the configured window, GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, when probing is off.) A
//            coordinator has thousands of mostly idle connections, so keepalive is slow: the client pings after 20 s
//            of silence, the server after 60 s. A side that has sent something detects a dead peer within 3 s.
//   kRows    streams of rows. The bytes in flight may fill the path (bandwidth times delay). The client measures the
//            path by pings while data arrives. The window begins at 64 KiB and doubles with each round trip that fills
//            it. Both sides send keepalive pings after 5 s of silence.
enum class ChannelUse { kCalls, kRows };

// Returns a channel with its own connection to host:port. With TLS, the connection uses the current certificates, and
// the server's certificate must be for `tls_name` or, if that is empty, for the host. There is no fallback to
// plaintext. Does not block: the channel connects on first use.
// The channel retries a lost connection after 0.1 s, and then after pauses of up to 0.5 s. It sends keepalive pings
// even without an open call, and detects a peer that vanished (power loss) 3 s after it sent data or a ping. Any thread
// may release the channel, including gRPC's own.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, ChannelUse use = ChannelUse::kCalls,
                                           const ClientSecurity& security = {}, const std::string& tls_name = "");

// Applies settings to the caller's builder that match those of MakeChannel.
void ConfigureServer(grpc::ServerBuilder* builder, ChannelUse use);

struct ServerOptions {
  ChannelUse use = ChannelUse::kCalls;
  int max_receive_bytes = kMaxMessageBytes;  // limit of a message that the server accepts
  // Certificate and key of the server, which then serves only TLS. Null: plaintext.
  std::shared_ptr<const LiveCertificates> certificates = nullptr;
  ConnectionLimits limits = {};
  OnRejected on_rejected = nullptr;
  std::function<bool()> short_of_memory = nullptr;  // as in FrontDoorOptions
};

// A server. Members are destroyed in the reverse order.
struct RunningServer {
  std::shared_ptr<const LiveCertificates> certificates;
  std::shared_ptr<grpc::ServerCredentials> credentials;
  std::unique_ptr<grpc::Server> server;
  std::shared_ptr<FrontDoor> door;
  Address address;  // the requested host, with the bound port

  // Stops listening, and ends the server as grpc::Server::Shutdown does: it waits for calls until `by`, and cancels the
  // others.
  void Shutdown(std::chrono::system_clock::time_point by = std::chrono::system_clock::now()) {
    door.reset();
    server->Shutdown(by);
  }
};

// Starts a server for `services` on `address` (port 0: any free port). The services must outlive the server.
// The client enforces a call's deadline: when it expires, the client cancels the call, and the server sees the
// cancellation.
//   OK                  the server answers
//   Unavailable         the port is busy, or the address is unknown or not local; the message names the cause
//   ResourceExhausted   the system refuses a thread
//   Internal            gRPC cannot start the server
absl::StatusOr<RunningServer> StartServer(const Address& address, const std::vector<grpc::Service*>& services,
                                          ServerOptions options = {});

// Returns a channel to a server in this process, without a connection. The server must outlive the calls.
std::shared_ptr<grpc::Channel> ChannelInProcess(const RunningServer& running);

// Prepares a call to a coordinator: adds this process's release, and sets the deadline to `timeout` from now.
void PrepareCall(grpc::ClientContext* context, absl::Duration timeout);

}  // namespace penstock::net

#endif  // PENSTOCK_NET_CHANNEL_H_
