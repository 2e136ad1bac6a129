// Every gRPC setting of the project, in one place and tested. gRPC's defaults do harm here: equal channels share one
// connection, http_proxy is honored, reconnecting backs off to two minutes, messages end at 4 MB, fast keepalive earns
// a GOAWAY, a busy port is no error (SO_REUSEPORT), and rows are read in pieces of 8 KiB.
#ifndef PENSTOCK_NET_CHANNEL_H_
#define PENSTOCK_NET_CHANNEL_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/impl/codegen/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "net/address.h"

namespace penstock {

// The largest message either side takes. A bigger one ends the call with ResourceExhausted.
constexpr int kMaxMessageBytes = 64 << 20;

// What a connection is for.
//   kCalls   short messages, the coordinator's. Some 64 KiB may be under way, and the rest of the message that is being
//            read. (gRPC 1.51 forgets the window that it is told, GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, when it does
//            not probe.) A coordinator has thousands of connections that mostly rest, so keepalive is slow: the client
//            asks after 20 s of silence, the server after 60 s. Whoever has sent something knows within 3 s.
//   kRows    streams of rows. As many bytes as the path holds (bandwidth times delay) may be under way, which gRPC
//            finds out by pings while data comes. It begins with 64 KiB and doubles with each round trip that fills it.
//            Keepalive after 5 s of silence, from both sides.
enum class ChannelUse { kCalls, kRows };

// A channel of its own connection to host:port (plaintext). Returns at once; connects when first used. A lost
// connection is tried again after 0.1 s, then at most every 0.5 s. A peer that is gone without a word (power loss) is
// noticed 3 s after something was sent to it, keepalive included, also when no call is open. May be let go of on any
// thread, gRPC's own included.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address, ChannelUse use = ChannelUse::kCalls);

// Settings that match MakeChannel's, on a builder of one's own.
void ConfigureServer(grpc::ServerBuilder* builder, ChannelUse use);

struct RunningServer {
  std::unique_ptr<grpc::Server> server;
  Address address;  // the host asked for, with the port that was bound
};

// Builds a server for the services (which must outlive it), listening on `address` (port 0: any free one), plaintext,
// that takes messages of up to `max_receive_bytes`.
// A call's deadline is the caller's to keep: when it has passed, the call is cancelled here.
//   OK                 it answers
//   Unavailable        the port is busy, or the address is none of this machine's: says which, with the system's words
absl::StatusOr<RunningServer> StartServer(const Address& address, const std::vector<grpc::Service*>& services,
                                          ChannelUse use = ChannelUse::kCalls,
                                          int max_receive_bytes = kMaxMessageBytes);

// Every call has a deadline: `timeout` from now. InfiniteDuration sets none (streams).
void SetDeadline(grpc::ClientContext* context, absl::Duration timeout);

}  // namespace penstock

#endif  // PENSTOCK_NET_CHANNEL_H_
