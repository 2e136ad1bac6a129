// A running coordinator: state, store and RPCs.
#ifndef PENSTOCK_SERVER_COORDINATOR_SERVICE_COORDINATOR_H_
#define PENSTOCK_SERVER_COORDINATOR_SERVICE_COORDINATOR_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "net/tls/live_certificates.h"
#include "penstock/v1/control.pb.h"
#include "server/common/rpc_gate.h"
#include "server/peers/peer_limits.h"
#include "server/peers/rejections.h"
#include "server/self_checks/self_checks.h"
#include "transport/ownership.h"

namespace penstock::coordinator {

struct CoordinatorOptions {
  std::string listen = "127.0.0.1:7070";  // HOST:PORT; port 0: any free port
  // Created if needed. Contains coordinator.lock, coordinator.db (SQLite) and indexes/content/.
  std::string state_dir;
  bool insecure = false;  // allow plaintext on addresses other than loopback
  // Certificate and key of this server, and the CA of its clients. Null: plaintext.
  std::shared_ptr<const net::LiveCertificates> certificates;
  uint32_t heartbeat_ms = 1000;
  uint32_t dead_after_ms = 3000;   // at least twice heartbeat_ms
  server::RpcRule rule = nullptr;  // decides about each call
  bool tokens = false;             // `rule` expects tokens: issue tickets; `insecure` has no effect
  // Returns whether a caller can still prove that it has the name, for the reply to `penstock revoke`.
  std::function<bool(const std::string& name)> is_known = [](const std::string&) { return true; };
  uint32_t ticket_hours = 24;  // lifetime of a ticket
  server::PeerLimits limits;
  std::vector<server::SelfCheck> checks;     // checks of the process; the coordinator adds its own
  std::string configuration;                 // as text without secrets, for support files
  server::RecordCall record_call = nullptr;  // called for control calls and rejected calls, for the audit log
  transport::OwnershipRule may_act = transport::MayActFor;  // decides which peers act for sessions and traces
  // Called once, on a thread of the coordinator, if another process has changed the store. The coordinator then rejects
  // all calls, and the owner must shut it down. Must not block or call the coordinator.
  std::function<void(const absl::Status& why)> on_superseded = [](const absl::Status&) {};
};

// Thread-safe.
class Coordinator {
 public:
  // Starts the coordinator, which serves when this returns. After an error, nothing is left running. Errors include
  // invalid options, a busy port, a state directory that another coordinator uses or that is not writable, a store that
  // is damaged or newer, and plaintext on a network.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Start(const CoordinatorOptions& options);

  // Calls Shutdown().
  ~Coordinator();

  int port() const;
  std::string address() const;  // HOST:PORT of the listening socket

  // Returns a channel for callers in this process, which need no certificate. Must not be used after Shutdown().
  std::shared_ptr<grpc::Channel> ChannelInProcess() const;

  // Calls `done` once, on any thread: with OK if the control loop answers and the coordinator serves, otherwise with
  // the reason in words. If the control loop hangs, `done` is not called. `done` must not block. Must not be called
  // during or after Shutdown().
  void CheckServing(std::function<void(absl::Status)> done);
  // Calls `done` once with the reply to `penstock status`, or with an error if too many requests wait; otherwise as
  // CheckServing.
  void GetStatus(std::function<void(absl::StatusOr<v1::StatusReply>)> done);
  // Call `done` as GetStatus does, with the replies to these RPCs, or with their errors.
  void Explain(v1::ExplainRequest request, std::function<void(absl::StatusOr<v1::ExplainReply>)> done);
  void ListShards(v1::ListShardsRequest request, std::function<void(absl::StatusOr<v1::ListShardsReply>)> done);
  void GetQuarantine(v1::QuarantineRequest request, std::function<void(absl::StatusOr<v1::QuarantineReply>)> done);
  // Returns the rejected callers of the process. Other servers, such as the HTTP port, add theirs. Thread-safe.
  std::shared_ptr<server::Rejections> rejections() const;
  // Makes the coordinator's metrics in Prometheus' text format. Any thread may call it, once.
  using MetricsText = std::function<std::string()>;
  // Takes the counters from the control loop, without blocking it for long, and calls `done` once, on any thread: with
  // a function that makes the text, or with an error if too many requests wait. If the control loop hangs, `done` is
  // not called. `done` must not block. Must not be called during or after Shutdown().
  void CollectMetrics(std::function<void(absl::StatusOr<MetricsText>)> done);

  // Answers received requests, ends watches, stores pending facts, and stops listening. Returns when nothing runs,
  // within about two seconds unless the disk hangs. A second call does nothing.
  void Shutdown();

 private:
  struct Parts;
  explicit Coordinator(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_SERVICE_COORDINATOR_H_
