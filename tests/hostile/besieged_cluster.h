// A cluster of processes with an honest trainer, which reads while a test attacks.
#ifndef PENSTOCK_TESTS_HOSTILE_BESIEGED_CLUSTER_H_
#define PENSTOCK_TESTS_HOSTILE_BESIEGED_CLUSTER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/http_probe.h"
#include "net/tls/client_security.h"
#include "penstock/v1/control.pb.h"
#include "tests/support/certificates/certificates.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"
#include "transport/message_stream.h"

namespace penstock::hostile {

// One coordinator and one worker, each with an HTTP port. Prints the logs if a step of the setup fails.
class BesiegedCluster {
 public:
  enum class Security { kPlaintext, kTls, kRoles };  // kRoles: TLS, and the names of kNames

  // With kRoles: an operator, a worker, the honest trainer, and its attackers: a trainer of the same job and a worker.
  static constexpr const char* kNames[] = {"ops", "nodes", "alice", "mallory", "rogue"};

  // `limits` are the fields of v1::LimitsConfig, for both daemons. `worker_flags` are further flags of the worker.
  BesiegedCluster(Security security, const std::string& limits, const std::vector<std::string>& worker_flags = {});
  ~BesiegedCluster();

  bool tls() const { return security_ != Security::kPlaintext; }
  static constexpr uint64_t kRecords = 160;
  const v1::JobSpec& job() const { return dataset_.job; }
  // What a client of this name needs for a connection. Without kRoles the name does not count.
  net::ClientSecurity SecurityOf(const std::string& name) const;
  // Address of the worker with a new ticket of `name`, for a stream. Without kRoles there is no ticket.
  transport::WorkerAddress WorkerFor(const std::string& name);
  // The job as trainers see it.
  v1::Job SubmittedJob();
  uint16_t coordinator_port() const;
  uint16_t worker_port();
  uint16_t coordinator_http() const { return http_ports_[0]; }
  uint16_t worker_http() const { return http_ports_[1]; }
  support::ProcessCluster& processes() { return *processes_; }
  v1::StatusReply Status();

  // A daemon ("coordinator", "worker") that names the attacker, and the reason.
  struct Naming {
    std::string by;
    std::string reason = "limit";
    std::string host = "";  // host of the attacker; "": kAttacker or, with kRoles, 127.0.0.1
    std::string name = "";  // name of the attacker; "": any
    std::string text = "";  // text that the message of the latest rejection, or a log, must contain
  };

  // Runs `attack` until an honest trainer has read all its steps. `attack` must return soon after `over` is true.
  // Expects that the trainer gets the rows of an undisturbed run without a long wait, that health checks are answered,
  // and that the daemons stay in their memory. Prints the longest waits under the name `attack_name`. Attack and reads
  // continue until the daemons have named the attacker as `named` demands.
  void Besiege(const std::string& attack_name, const std::function<void(const std::atomic<bool>& over)>& attack,
               const std::vector<Naming>& named = {});
  // Waits until the status names the attacker.
  void ExpectNamed(const Naming& naming);
  void ExpectNamed(const std::string& by, const std::string& reason) { ExpectNamed({.by = by, .reason = reason}); }
  // Value of a metric of the worker, such as `penstock_worker_sessions`, or nullopt if it has none of this name and
  // labels.
  std::optional<double> WorkerMetric(const std::string& series);

 private:
  support::ReadResult ReadAsTrainer();
  bool IsNamed(const Naming& naming);
  std::vector<std::string> Flags(const std::string& side) const;
  void WriteTokens();
  void FindHttpPorts();
  void ExpectMemoryHolds();
  absl::StatusOr<cli::ProbeAnswer> Get(uint16_t port, const std::string& path) const;

  const Security security_;
  support::TempFolder folder_;
  support::TestDataset dataset_;
  support::TestAuthority authority_;
  std::string expected_;  // digest of an undisturbed run
  std::unique_ptr<support::ProcessCluster> processes_;
  std::vector<uint16_t> http_ports_;
  uint64_t sessions_ = 0;  // opened by WorkerFor
};

}  // namespace penstock::hostile

#endif  // PENSTOCK_TESTS_HOSTILE_BESIEGED_CLUSTER_H_
