// The process at the other end of a stream or call.
#ifndef PENSTOCK_TRANSPORT_PEER_H_
#define PENSTOCK_TRANSPORT_PEER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace penstock::transport {

// The carrier determines the peer. Nothing in it comes from a message.
struct Peer {
  enum class Kind {
    kUnknown,    // the stream is not open yet, or has closed
    kNetwork,    // `address` is host:port
    kHost,       // a process of this host, identified by the kernel: `uid` and `pid`
    kInProcess,  // this process
    kSimulated,  // `address` is the name of a simulated host
  };

  static Peer Network(std::string address) { return {Kind::kNetwork, std::move(address)}; }
  // Parses gRPC's form of an address: "ipv4:10.0.0.7:5123" or "ipv6:%5B::1%5D:5123". "inproc" is this process.
  static Peer Grpc(std::string_view uri);
  static Peer Host(uid_t uid, pid_t pid) { return {Kind::kHost, "", uid, pid}; }
  static Peer InProcess() { return {Kind::kInProcess}; }
  static Peer Simulated(std::string host) { return {Kind::kSimulated, std::move(host)}; }

  // Returns a short text without the name, for messages: "10.0.0.7:5123", "user 1000, process 77", "this process".
  std::string ToString() const;
  // Returns the name under which limits count the peer's host or, on this host, its user: "10.0.0.7",
  // "2001:db8:1:2::/64" (base/host_key.h), "user 1000". Returns "" for peers without limits: this process, simulated
  // hosts, and unknown ones.
  std::string Host() const;
  // Returns OK if one of the globs in `jobs` matches the job, or if `jobs` is empty. A `job` of "" stands for all jobs:
  // only "*" matches it. Otherwise returns PermissionDenied, which has the peer's name and the remedy.
  absl::Status MayAccess(std::string_view job) const;
  bool operator==(const Peer&) const = default;

  Kind kind = Kind::kUnknown;
  std::string address = "";
  uid_t uid = 0;
  pid_t pid = 0;
  // Whether the peer has proved in a TLS handshake that it owns a certificate that this process's CA signs.
  bool has_certificate = false;
  std::vector<std::string> certificate_names = {};  // URIs, then DNS names of that certificate
  // The name that the peer has proved by a token or a certificate; "": this process asks for no names.
  std::string name = {};
  std::string role = {};               // role of that name, for display; "": unknown
  std::vector<std::string> jobs = {};  // globs of the jobs that it may read; empty: all
  bool only_own = false;               // it may change only jobs that it owns (net::Role::kSubmitter)
  int64_t ticket_issued = 0;           // time of the ticket that it showed, as in v1::TicketClaims; 0: none
};

// Decides whether a peer that shows `ticket` ("": none) may open a stream, and sets its name and its jobs. Returns OK,
// or the stream's final status, which the shared-memory carrier does not send. Unset: every peer may. Called for each
// connection before its first event, on threads of the carrier. It must not block.
using AdmitPeer = std::function<absl::Status(std::string_view ticket, Peer* peer)>;

// Called when a carrier rejects a connection or a message of a peer that `admit` has not rejected. Called on threads of
// the carrier. It must not block.
using OnRejectedPeer = std::function<void(const Peer& peer, const absl::Status& status)>;

}  // namespace penstock::transport

#endif  // PENSTOCK_TRANSPORT_PEER_H_
