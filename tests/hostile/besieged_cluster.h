// A cluster of processes with an honest trainer, which reads while a test attacks.
#ifndef PENSTOCK_TESTS_HOSTILE_BESIEGED_CLUSTER_H_
#define PENSTOCK_TESTS_HOSTILE_BESIEGED_CLUSTER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "net/tls/client_security.h"
#include "penstock/v1/control.pb.h"
#include "tests/support/certificates/certificates.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"

namespace penstock::hostile {

// One coordinator and one worker, each with an HTTP port. Prints the logs if a step of the setup fails.
class BesiegedCluster {
 public:
  enum class Security { kPlaintext, kTls, kRoles };  // kRoles: TLS, and the names of kNames

  // With kRoles: an operator, a worker, the honest trainer, and its attackers: a trainer of the same job and a worker.
  static constexpr const char* kNames[] = {"ops", "nodes", "alice", "mallory", "rogue"};

  // `limits` are the fields of v1::LimitsConfig, for both daemons.
  BesiegedCluster(Security security, const std::string& limits);
  ~BesiegedCluster();

  bool tls() const { return security_ != Security::kPlaintext; }
  const v1::JobSpec& job() const { return dataset_.job; }
  // What a client of this name needs for a connection. Only with kRoles.
  net::ClientSecurity SecurityOf(const std::string& name) const;
  uint16_t coordinator_port() const;
  uint16_t worker_port();
  uint16_t coordinator_http() const { return http_ports_[0]; }
  uint16_t worker_http() const { return http_ports_[1]; }
  support::ProcessCluster& processes() { return *processes_; }
  v1::StatusReply Status();

  // Runs `attack` until an honest trainer has read all its steps. `attack` must return soon after `over` is true.
  // Expects that the trainer gets the rows of an undisturbed run without a long wait, that health checks are answered,
  // and that the daemons stay in their memory. Prints the longest waits under the name `attack_name`. The attack
  // goes on until the daemons `named_by` ("coordinator", "worker") name the attacker as rejected by a limit.
  void Besiege(const std::string& attack_name, const std::function<void(const std::atomic<bool>& over)>& attack,
               const std::vector<std::string>& named_by = {});
  // Waits until the coordinator's status, or that of its worker, names the attacker as rejected for this reason.
  void ExpectNamed(const std::string& by, const std::string& reason);

 private:
  std::vector<std::string> Flags(const std::string& side) const;
  void WriteTokens();
  void FindHttpPorts();

  const Security security_;
  support::TempFolder folder_;
  support::TestDataset dataset_;
  support::TestAuthority authority_;
  std::string expected_;  // digest of an undisturbed run
  std::unique_ptr<support::ProcessCluster> processes_;
  std::vector<uint16_t> http_ports_;
};

}  // namespace penstock::hostile

#endif  // PENSTOCK_TESTS_HOSTILE_BESIEGED_CLUSTER_H_
