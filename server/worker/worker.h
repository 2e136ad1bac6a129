// A running worker: loader, data plane, and its link to the coordinator.
#ifndef PENSTOCK_SERVER_WORKER_WORKER_H_
#define PENSTOCK_SERVER_WORKER_WORKER_H_

#include <grpcpp/channel.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "net/access/token.h"
#include "net/tls/live_certificates.h"
#include "pipeline/host/loader_host.h"
#include "pipeline/loader/loader_stats.h"
#include "pipeline/sources/dataset_files.h"
#include "server/common/rpc_gate.h"
#include "server/peers/peer_limits.h"
#include "server/peers/rejections.h"
#include "server/self_checks/self_checks.h"
#include "server/tickets/ticket_gate.h"
#include "server/worker/stream/wire_compression.h"
#include "transport/shared_memory/local_address.h"

namespace penstock::worker {

struct WorkerOptions {
  std::string listen = "127.0.0.1:0";
  std::string advertise;    // host:port for clients; "": the listening address
  std::string coordinator;  // host:port
  // The connection to a coordinator in this process. Null: connect to `coordinator`.
  std::shared_ptr<grpc::Channel> coordinator_channel;
  // Certificate and key of this worker, and the CA of the coordinator and of clients. Null: plaintext.
  std::shared_ptr<const net::LiveCertificates> certificates;
  std::string tls_name;   // name in the certificate, which clients verify; "": the host of the address for clients
  std::string name;       // display name; "": its host and port
  bool insecure = false;  // allow plaintext on addresses other than loopback
  std::vector<sources::DataRoot> roots;
  std::string state_dir;  // for worker.lock, worker_id, indexes/
  // Storage, threads, budget and caches. The worker sets the trace, the rings and the functions that log.
  host::LoaderHostOptions host;
  std::string memory_budget_source;  // origin of the memory budget, for the log and status
  bool index_beside_shards = false;
  // Folder of the socket for clients on this host. Their rows go through shared memory, which is part of the memory
  // budget. "": none. Start fails if it cannot use the folder, unless socket_dir_guessed.
  std::string socket_dir;
  bool socket_dir_guessed = false;
  transport::SocketUsers socket_users;  // other users that may connect to the socket; they need tickets
  WireCompression wire_compression = WireCompression::kAuto;
  uint32_t wire_connections = 0;  // for each stream to another host; 0: as many as increase the rate, up to a few
  uint32_t max_sessions = 256;
  std::chrono::milliseconds drain_timeout = std::chrono::seconds(60);
  server::RpcRule rule = nullptr;            // decides about each stream
  server::RecordCall record_call = nullptr;  // called for each rejected stream
  server::PeerLimits limits;
  std::string configuration;  // as text without secrets, for support files
  // Receives the coordinator's rules for tickets; `rule` applies it. Null: streams show no tickets.
  std::shared_ptr<server::TicketGate> tickets;
  bool tokens = false;  // callers have names: reject plaintext beyond loopback, despite `insecure`
  std::shared_ptr<const net::LiveToken> token;  // the worker's own token, for the coordinator; null: none
  std::vector<server::SelfCheck> checks;        // checks of the process; the worker adds its own
};

// Thread-safe.
class Worker {
 public:
  // Starts the worker, which serves as soon as this returns. The worker registers in the background, without a time
  // limit. Errors include a busy port, a state directory that another worker uses, a budget that the caches fill, a
  // certificate for other names, and plaintext on a network.
  static absl::StatusOr<std::unique_ptr<Worker>> Start(WorkerOptions options);

  // Calls Stop().
  ~Worker();

  const std::string& id() const;
  std::string address() const;  // host:port of the listening socket
  int port() const;

  // Blocks until the worker is registered and knows the existing jobs. Returns false after `timeout`, or if the worker
  // stops.
  bool WaitUntilReady(std::chrono::nanoseconds timeout);

  // Calls `done`, on any thread: CheckAlive with OK, and CheckReady with OK if the worker is registered, knows the jobs
  // and is not draining, otherwise with the reason in words. If the worker's threads for messages hang, `done` is not
  // called, except by CheckReady while the worker drains.
  // `done` must not block. Must not be called during or after Stop().
  void CheckAlive(std::function<void(absl::Status)> done);
  void CheckReady(std::function<void(absl::Status)> done);

  // Starts to leave: the coordinator moves the worker's ranges, and the worker notifies clients and continues to serve
  // their requests. It leaves when no stream is open, or after drain_timeout. Returns at once.
  void Drain();
  // Blocks until the worker has left by Drain(), possibly on an operator's order, or by Stop().
  void WaitUntilLeft();

  // Closes all streams and stops. Returns when nothing runs, or after a few seconds. A thread that hangs in storage
  // then remains, with its resources, until the process ends.
  void Stop();

  // Must not be called after Stop().
  loader::LoaderStats Stats() const;

  // Returns the worker's metrics in Prometheus' text format. Takes a few locks briefly, one after another. Must not be
  // called after Stop().
  std::string Metrics() const;
  // Returns the rejected callers of the process. Other servers, such as the HTTP port, add theirs. Thread-safe.
  std::shared_ptr<server::Rejections> rejections() const;

 private:
  struct Parts;
  explicit Worker(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_SERVER_WORKER_WORKER_H_
