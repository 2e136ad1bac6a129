#include "tests/hostile/besieged_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/open_files.h"
#include "client/cli/http_probe.h"
#include "net/access/access_list.h"
#include "net/access/token.h"
#include "net/tls/certificates.h"
#include "tests/hostile/raw_peer.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/plain_rows.h"
#include "tests/support/wait_until.h"

namespace penstock::hostile {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMost = 3072 * kMiB;  // memory of a daemon that limits stop in time, also on a slow machine
constexpr uint64_t kEpochs = 8;
constexpr std::chrono::milliseconds kStep(20);  // time that the trainer takes for a step
constexpr double kLongest = 20;  // seconds of a wait or a health check, on a machine that other programs may fill
constexpr std::chrono::milliseconds kBetweenProbes(50);

uint16_t PortOf(const std::string& address) {
  return static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str()));
}

}  // namespace

BesiegedCluster::BesiegedCluster(Security security, const std::string& limits)
    : security_(security), dataset_(support::MakeImageDataset({.shards = 4, .records_per_shard = 40}, folder_.path())) {
  RaiseOpenFileLimit();
  dataset_.job.mutable_batch()->set_size(8);
  expected_ = support::PlainDigest(dataset_, dataset_.job, kEpochs);
  WriteCertificates(folder_.path(), authority_, authority_.Issue({.names = {"DNS:localhost", "IP:127.0.0.1"}}));
  const std::string config = absl::StrCat("limits { ", limits, " }\n");
  EXPECT_TRUE(WriteFileAtomically(folder_.File("worker.textproto"), config).ok());
  if (security_ == Security::kRoles) WriteTokens();
  support::ProcessClusterOptions options;
  options.coordinator_config = config;
  options.coordinator_flags = Flags("coordinator");
  options.worker_flags = Flags("worker");
  options.shared_memory = false;
  if (tls()) options.tls.ca = folder_.File("ca.pem");
  if (security_ == Security::kRoles) options.token_file = folder_.File("ops.token");
  processes_ = std::make_unique<support::ProcessCluster>(options, dataset_.roots);
  const absl::Status submitted = processes_->control().Submit(dataset_.job);
  EXPECT_TRUE(submitted.ok()) << submitted << processes_->Logs();
  FindHttpPorts();
}

BesiegedCluster::~BesiegedCluster() = default;

std::vector<std::string> BesiegedCluster::Flags(const std::string& side) const {
  std::vector<std::string> flags = {"--http", "127.0.0.1:0"};
  if (side == "worker") {
    flags.insert(flags.end(), {"--config", folder_.File("worker.textproto"), "--memory-budget", "64MiB"});
    if (tls()) flags.insert(flags.end(), {"--tls-name", "localhost"});
  }
  if (!tls()) return flags;
  for (const std::string name : {"cert", "key", "ca"}) {
    flags.push_back("--tls-" + name);
    flags.push_back(folder_.File(name + ".pem"));
  }
  flags.insert(flags.end(), {"--tls-clients", "any"});
  if (security_ == Security::kRoles && side == "worker")
    flags.insert(flags.end(), {"--token-file", folder_.File("nodes.token")});
  if (security_ == Security::kRoles && side == "coordinator")
    flags.insert(flags.end(), {"--tokens", folder_.File("tokens")});
  return flags;
}

void BesiegedCluster::WriteTokens() {
  const net::Role roles[] = {net::Role::kOperator, net::Role::kWorker, net::Role::kTrainer, net::Role::kTrainer,
                             net::Role::kWorker};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    const std::string token = net::MakeToken(RandomSource::Real());
    const net::Principal principal{kNames[i], roles[i], {"*"}};
    ASSERT_TRUE(net::AppendTokenLine(folder_.File("tokens"), net::TokenLineOf(principal, net::DigestOf(token))).ok());
    ASSERT_TRUE(WriteFileAtomically(folder_.File(absl::StrCat(kNames[i], ".token")), token).ok());
  }
}

net::ClientSecurity BesiegedCluster::SecurityOf(const std::string& name) const {
  auto security = net::OpenClientSecurity({"", "", folder_.File("ca.pem")}, folder_.File(name + ".token"));
  EXPECT_TRUE(security.ok()) << security.status();
  return *std::move(security);
}

void BesiegedCluster::FindHttpPorts() {
  const std::string logs = processes_->Logs(),
                    line = tls() ? "HTTPS listens on 127.0.0.1:" : "HTTP listens on 127.0.0.1:";
  for (size_t at = logs.find(line); at != std::string::npos; at = logs.find(line, at + 1)) {
    http_ports_.push_back(static_cast<uint16_t>(std::atoi(logs.c_str() + at + line.size())));
  }
  ASSERT_EQ(http_ports_.size(), 2u) << logs;
}

v1::StatusReply BesiegedCluster::Status() {
  absl::StatusOr<v1::StatusReply> status = processes_->control().Status();
  EXPECT_TRUE(status.ok()) << status.status() << processes_->Logs();
  return status.ok() ? *std::move(status) : v1::StatusReply();
}

uint16_t BesiegedCluster::coordinator_port() const { return PortOf(processes_->address()); }
uint16_t BesiegedCluster::worker_port() { return PortOf(Status().workers(0).address()); }

void BesiegedCluster::Besiege(const std::string& attack_name,
                              const std::function<void(const std::atomic<bool>& over)>& attack,
                              const std::vector<std::string>& named_by) {
  std::atomic<bool> over{false};
  std::thread attacker([&] { attack(over); });

  double longest_probe = 0;
  std::string failed_probe;
  std::thread prober([&] {
    cli::ProbeTls tls;
    tls.certificates.ca = authority_.pem();
    tls.name = "localhost";
    while (!over) {
      for (const uint16_t port : http_ports_) {
        const auto begun = std::chrono::steady_clock::now();
        const auto answer =
            cli::ProbeHttp({"127.0.0.1", port}, "/healthz", std::chrono::seconds(10), this->tls() ? &tls : nullptr);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        longest_probe = std::max(longest_probe, took.count());
        if (!answer.ok()) failed_probe = answer.status().ToString();
      }
      std::this_thread::sleep_for(kBetweenProbes);
    }
  });

  support::ReadPlan plan;
  plan.options.job = dataset_.job.name();
  plan.options.epochs = kEpochs;
  if (tls()) plan.connect.tls_ca = folder_.File("ca.pem");
  if (security_ == Security::kRoles) plan.connect.token_file = folder_.File("alice.token");
  plan.after_step = [](uint64_t) { std::this_thread::sleep_for(kStep); };
  const support::ReadResult read = support::ReadThrough(processes_->address(), plan);
  for (const std::string& daemon : named_by) ExpectNamed(daemon, "limit");
  over = true;
  attacker.join();
  prober.join();

  ASSERT_TRUE(read.status.ok()) << read.status << processes_->Logs();
  EXPECT_EQ(read.digest, expected_);
  EXPECT_LT(read.first_wait, kLongest) << processes_->Logs();
  EXPECT_LT(read.longest_wait, kLongest) << processes_->Logs();
  EXPECT_EQ(failed_probe, "") << processes_->Logs();
  EXPECT_LT(longest_probe, kLongest) << processes_->Logs();
  const uint64_t worker = processes_->worker(0).process->Memory(), coordinator = processes_->coordinator().Memory();
  EXPECT_LT(worker, kMost);
  EXPECT_LT(coordinator, kMost);
  std::printf(
      "%s%s: the trainer's first step after %.3f s, longest wait then %.3f s; longest health check %.3f s; peak "
      "memory of the worker %llu MiB, of the coordinator %llu MiB\n",
      attack_name.c_str(),
      security_ == Security::kRoles ? ", TLS and roles"
      : tls()                       ? ", TLS"
                                    : "",
      read.first_wait, read.longest_wait, longest_probe, static_cast<unsigned long long>(worker / kMiB),
      static_cast<unsigned long long>(coordinator / kMiB));
}

void BesiegedCluster::ExpectNamed(const std::string& by, const std::string& reason) {
  v1::StatusReply status;
  const std::string host = security_ == Security::kRoles ? "127.0.0.1" : kAttacker;
  const auto is_named = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // fewer calls than the limit
    status = Status();
    const auto& callers = by == "coordinator" ? status.rejected() : status.workers(0).rejected();
    return std::any_of(callers.begin(), callers.end(), [&](const v1::RejectedCaller& caller) {
      return caller.host() == host && caller.reason() == reason;
    });
  };
  EXPECT_TRUE(support::WaitUntil(is_named)) << "by the " << by << ":\n" << status.DebugString();
}

}  // namespace penstock::hostile
