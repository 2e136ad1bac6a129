#include "tests/hostile/besieged_cluster.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/open_files.h"
#include "net/access/access_list.h"
#include "net/access/token.h"
#include "net/tls/certificates.h"
#include "tests/hostile/caller.h"
#include "tests/hostile/raw_peer.h"
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
constexpr std::chrono::minutes kUntilNamed(4);  // seconds, unless other programs keep the attacker waiting

uint16_t PortOf(const std::string& address) {
  return static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str()));
}

}  // namespace

BesiegedCluster::BesiegedCluster(Security security, const std::string& limits,
                                 const std::vector<std::string>& worker_flags)
    : security_(security),
      dataset_(support::MakeImageDataset({.shards = 4, .records_per_shard = kRecords / 4}, folder_.path())) {
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
  options.worker_flags.insert(options.worker_flags.end(), worker_flags.begin(), worker_flags.end());
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
  if (!tls()) return {};
  auto security = net::OpenClientSecurity({"", "", folder_.File("ca.pem")},
                                          security_ == Security::kRoles ? folder_.File(name + ".token") : "");
  EXPECT_TRUE(security.ok()) << security.status();
  return *std::move(security);
}

transport::WorkerAddress BesiegedCluster::WorkerFor(const std::string& name) {
  const v1::WorkerStatus status = Status().workers(0);
  transport::WorkerAddress worker(status.address(), "", status.tls_name());
  if (security_ != Security::kRoles) return worker;
  v1::OpenSessionRequest open;
  open.set_job(job().name());
  open.set_group(name);
  open.set_world_size(1);
  open.set_process(++sessions_);
  v1::OpenSessionReply opened;
  const absl::Status called = Caller(*this, name).Call(&v1::Coordinator::Stub::OpenSession, open, &opened);
  EXPECT_TRUE(called.ok()) << called;
  worker.ticket = [ticket = opened.ticket()] { return ticket; };
  return worker;
}

v1::Job BesiegedCluster::SubmittedJob() {
  EXPECT_TRUE(processes_->control().WaitForOwners(job().name(), 1));
  absl::StatusOr<v1::Job> submitted = processes_->control().GetJob(job().name());
  EXPECT_TRUE(submitted.ok()) << submitted.status();
  return *std::move(submitted);
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

support::ReadResult BesiegedCluster::ReadAsTrainer() {
  support::ReadPlan plan;
  plan.options.job = dataset_.job.name();
  plan.options.epochs = kEpochs;
  if (tls()) plan.connect.tls_ca = folder_.File("ca.pem");
  if (security_ == Security::kRoles) plan.connect.token_file = folder_.File("alice.token");
  plan.after_step = [](uint64_t) { std::this_thread::sleep_for(kStep); };
  return support::ReadThrough(processes_->address(), plan);
}

void BesiegedCluster::Besiege(const std::string& attack_name,
                              const std::function<void(const std::atomic<bool>& over)>& attack,
                              const std::vector<Naming>& named) {
  std::atomic<bool> over{false};
  std::thread attacker([&] {
    // Attackers and victims share the processors here, unlike elsewhere. Threads of this thread inherit its priority.
    setpriority(PRIO_PROCESS, 0, 10);
    attack(over);
  });

  double longest_probe = 0;
  std::string failed_probe;
  std::thread prober([&] {
    while (!over) {
      for (const uint16_t port : http_ports_) {
        const auto begun = std::chrono::steady_clock::now();
        const auto answer = Get(port, "/healthz");
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        longest_probe = std::max(longest_probe, took.count());
        if (!answer.ok()) failed_probe = answer.status().ToString();
      }
      std::this_thread::sleep_for(kBetweenProbes);
    }
  });

  const auto all_named = [&] {
    return std::all_of(named.begin(), named.end(), [this](const Naming& naming) { return IsNamed(naming); });
  };
  const auto give_up = std::chrono::steady_clock::now() + kUntilNamed;
  double first_wait = 0, longest_wait = 0;
  int reads = 0;
  do {
    const support::ReadResult read = ReadAsTrainer();
    ++reads;
    EXPECT_TRUE(read.status.ok()) << read.status << processes_->Logs();
    EXPECT_EQ(read.digest, expected_);
    first_wait = std::max(first_wait, read.first_wait);
    longest_wait = std::max(longest_wait, read.longest_wait);
  } while (!all_named() && !::testing::Test::HasFailure() && std::chrono::steady_clock::now() < give_up);
  over = true;
  attacker.join();
  prober.join();

  for (const Naming& naming : named) ExpectNamed(naming);
  EXPECT_LT(first_wait, kLongest) << processes_->Logs();
  EXPECT_LT(longest_wait, kLongest) << processes_->Logs();
  EXPECT_EQ(failed_probe, "") << processes_->Logs();
  EXPECT_LT(longest_probe, kLongest) << processes_->Logs();
  ExpectMemoryHolds();
  std::printf(
      "%s%s: the trainer's first step after %.3f s, longest wait then %.3f s, in %d reads; longest health check %.3f "
      "s; peak memory of the worker %llu MiB, of the coordinator %llu MiB\n",
      attack_name.c_str(),
      security_ == Security::kRoles ? ", TLS and roles"
      : tls()                       ? ", TLS"
                                    : "",
      first_wait, longest_wait, reads, longest_probe,
      static_cast<unsigned long long>(processes_->worker(0).process->Memory() / kMiB),
      static_cast<unsigned long long>(processes_->coordinator().Memory() / kMiB));
}

void BesiegedCluster::ExpectMemoryHolds() {
  EXPECT_LT(processes_->worker(0).process->Memory(), kMost);
  EXPECT_LT(processes_->coordinator().Memory(), kMost);
  const std::optional<double> peak = WorkerMetric("penstock_worker_memory_peak_bytes"),
                              budget = WorkerMetric("penstock_worker_memory_budget_bytes");
  ASSERT_TRUE(peak && budget);
  EXPECT_LE(*peak, *budget);
}

absl::StatusOr<cli::ProbeAnswer> BesiegedCluster::Get(uint16_t port, const std::string& path) const {
  cli::ProbeTls probe;
  probe.certificates.ca = authority_.pem();
  probe.name = "localhost";
  return cli::ProbeHttp({"127.0.0.1", port}, path, std::chrono::seconds(10), tls() ? &probe : nullptr);
}

std::optional<double> BesiegedCluster::WorkerMetric(const std::string& series) {
  const auto answer = Get(worker_http(), "/metrics");
  EXPECT_TRUE(answer.ok()) << answer.status();
  if (!answer.ok()) return std::nullopt;
  const std::string begin = absl::StrCat("\n", series, " ");
  const size_t at = answer->body.find(begin);
  if (at != std::string::npos) return std::strtod(answer->body.c_str() + at + begin.size(), nullptr);
  return std::nullopt;
}

bool BesiegedCluster::IsNamed(const Naming& naming) {
  std::string host = naming.host;
  if (host.empty()) host = security_ == Security::kRoles ? "127.0.0.1" : kAttacker;
  const bool logged = absl::StrContains(processes_->Logs(), naming.text);
  const v1::StatusReply status = Status();
  const auto& callers = naming.by == "coordinator" ? status.rejected() : status.workers(0).rejected();
  return std::any_of(callers.begin(), callers.end(), [&](const v1::RejectedCaller& caller) {
    if (caller.host() != host || caller.reason() != naming.reason) return false;
    if (!naming.name.empty() && caller.name() != naming.name) return false;
    if (!logged && !absl::StrContains(caller.message(), naming.text)) return false;
    if (naming.by == "coordinator") return true;
    return WorkerMetric(absl::StrCat("penstock_worker_caller_rejections{host=\"", host, "\",name=\"", caller.name(),
                                     "\",reason=\"", caller.reason(), "\"}"))
        .has_value();
  });
}

void BesiegedCluster::ExpectNamed(const Naming& naming) {
  EXPECT_TRUE(support::WaitUntil([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // fewer calls than the limit
    return IsNamed(naming);
  })) << "as rejected for '"
      << naming.reason << "' by the " << naming.by << ", with '" << naming.text << "':\n"
      << Status().DebugString();
}

}  // namespace penstock::hostile
