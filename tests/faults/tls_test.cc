// A cluster of processes over TLS: rows, lost workers, and files that change or are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "client/cli/http_probe.h"
#include "net/address.h"
#include "net/tls/certificates.h"
#include "tests/support/certificates/certificates.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/wait_until.h"

namespace penstock::faults {
namespace {

using ::testing::HasSubstr;

class TlsClusterTest : public ::testing::Test {
 protected:
  TlsClusterTest() : dataset_(support::MakeImageDataset({.shards = 4, .records_per_shard = 16}, folder_.path())) {
    std::filesystem::create_directory(folder_.File("tls"));
    Publish("1", authority_);
  }

  // Replaces the folder "now" of all files by a new one, as Kubernetes does: a link changes its target.
  void Publish(const std::string& version, const support::TestAuthority& authority) {
    const std::filesystem::path root = folder_.File("tls");
    for (const auto& [name, names] : std::vector<std::pair<std::string, std::vector<std::string>>>{
             {"coordinator", {"DNS:localhost", "IP:127.0.0.1"}},
             {"worker", {"DNS:workers.example"}},
             {"trainer", {"URI:spiffe://example/trainer"}}}) {
      const std::filesystem::path of = root / version / name;
      std::filesystem::create_directories(of);
      WriteCertificates(of.string(), authority, authority.Issue({.names = names}));
    }
    std::filesystem::create_directory_symlink(version, root / "next");
    std::filesystem::rename(root / "next", root / "now");
  }

  std::string File(const std::string& side, const std::string& name) const {
    return absl::StrCat(folder_.File("tls"), "/now/", side, "/", name, ".pem");
  }
  std::vector<std::string> Flags(const std::string& side, std::vector<std::string> flags = {}) const {
    for (const std::string name : {"cert", "key", "ca"}) {
      flags.push_back("--tls-" + name);
      flags.push_back(File(side, name));
    }
    return flags;
  }
  support::ProcessClusterOptions Options(int workers) const {
    support::ProcessClusterOptions options;
    options.workers = workers;
    options.coordinator_flags = Flags("coordinator");
    options.worker_flags = Flags("worker", {"--memory-budget", "64MiB", "--tls-name", "workers.example"});
    options.shared_memory = false;
    options.tls = {File("trainer", "cert"), File("trainer", "key"), File("trainer", "ca")};
    return options;
  }
  support::ReadPlan Plan() const {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 3;
    plan.connect.tls_ca = File("trainer", "ca");
    plan.connect.tls_cert = File("trainer", "cert");
    plan.connect.tls_key = File("trainer", "key");
    return plan;
  }
  // Returns the digest of `steps` steps without TLS.
  std::string PlainDigest(size_t steps) {
    support::ProcessCluster plain({}, dataset_.roots);
    EXPECT_TRUE(plain.control().Submit(dataset_.job).ok()) << plain.Logs();
    support::ReadPlan plan = Plan();
    plan.connect = {};
    plan.options.epochs = 0;
    plan.max_steps = steps;
    const support::ReadResult result = support::ReadThrough(plain.address(), plan);
    EXPECT_TRUE(result.status.ok()) << result.status << plain.Logs();
    return result.digest;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
  support::TestAuthority authority_;
};

TEST_F(TlsClusterTest, AWorkerKilledDuringTheReadCostsNoRow) {
  support::ProcessCluster cluster(Options(2), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  support::ReadPlan plan = Plan();
  plan.after_step = [&](uint64_t steps) {
    if (steps == 2) cluster.worker(0).process->Signal(SIGKILL);
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_EQ(result.digest, PlainDigest(result.steps.size()));
}

TEST_F(TlsClusterTest, ATrainerOfTheHostStillReadsThroughSharedMemory) {
  support::ProcessClusterOptions options = Options(1);
  options.shared_memory = true;
  support::ProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_EQ(result.stats.shared_memory_bytes, result.stats.bytes_received);
  EXPECT_EQ(result.digest, PlainDigest(result.steps.size()));
}

// The old authority's files are replaced by those of another one, which no process trusted before.
TEST_F(TlsClusterTest, AllCertificatesAndTheAuthorityChangeUnderAReadingTrainer) {
  support::ProcessCluster cluster(Options(2), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  const support::TestAuthority next;
  support::TempFolder mine;
  WriteCertificates(mine.path(), next, next.Issue({.names = {"DNS:observer"}}));
  const net::TlsFiles new_files = {mine.File("cert.pem"), mine.File("key.pem"), mine.File("ca.pem")};
  const auto in_use = [&] {
    const auto security = net::OpenClientSecurity(new_files);
    return security.ok() && support::Control(cluster.address(), *security).Status().ok();
  };
  bool published = false, used = false;
  uint64_t used_at = 0, steps = 0;
  support::ReadPlan plan = Plan();
  plan.options.epochs = 0;
  plan.after_step = [&](uint64_t done) {
    steps = done;
    if (done == 2 && !published) {
      Publish("2", next);
      published = true;
    }
    if (!published || used) return;
    // A worker that starts now has only the new files; the old ones must trust it.
    used = in_use();
    if (used) {
      used_at = done;
      cluster.worker(0).process->Signal(SIGKILL);
      cluster.AddWorker();
    }
  };
  plan.until = [&] { return used && steps >= used_at + 100; };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_TRUE(used) << cluster.Logs();
  EXPECT_EQ(result.digest, PlainDigest(result.steps.size()));
  EXPECT_THAT(cluster.Logs(), HasSubstr("new connections use the changed certificate"));
}

TEST_F(TlsClusterTest, HealthChecksByHttpsNeedNoClientCertificate) {
  support::ProcessClusterOptions options = Options(0);
  options.coordinator_flags.insert(options.coordinator_flags.end(), {"--http", "127.0.0.1:0"});
  support::ProcessCluster cluster(options, dataset_.roots);
  const std::string address = cluster.HttpsAddress();
  const auto health = [&](const std::string& flags) {
    const int status = std::system(
        absl::StrCat("'", PENSTOCK, "' health ", address, " ", flags, " >'", folder_.File("health"), "' 2>&1").c_str());
    return absl::StrCat(WEXITSTATUS(status), " ", ReadWholeFile(folder_.File("health")).value_or(""));
  };
  const std::string ca = absl::StrCat("--tls-ca '", File("trainer", "ca"), "'");
  EXPECT_EQ(health(ca), "0 ok\n");
  EXPECT_EQ(health(ca + " --live"), "0 ok\n");
  EXPECT_THAT(health(ca + " --tls-name elsewhere.example"), HasSubstr("hostname mismatch"));
  EXPECT_THAT(health(""), ::testing::StartsWith("1 "));
  const support::TestAuthority stranger;
  WriteCertificates(folder_.path(), stranger, stranger.Issue());
  EXPECT_THAT(health(absl::StrCat("--tls-ca '", folder_.File("ca.pem"), "'")), ::testing::StartsWith("1 "));
}

TEST_F(TlsClusterTest, TheAuditLogNamesWhoeverChangedAJobAndWhatWasRejected) {
  support::ProcessClusterOptions options = Options(1);
  const std::string audit = folder_.File("audit.json");
  options.coordinator_flags.insert(options.coordinator_flags.end(), {"--audit", audit});
  support::ProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  EXPECT_FALSE(cluster.control().Cancel("no-such-job").ok());
  support::ReadPlan plan = Plan();
  plan.connect.tls_cert = plan.connect.tls_key = "";
  EXPECT_FALSE(support::ReadThrough(cluster.address(), plan).status.ok());
  cluster.coordinator().Signal(SIGTERM);
  EXPECT_EQ(cluster.coordinator().WaitForExit(), 0) << cluster.Logs();
  const std::string text = ReadWholeFile(audit).value_or("");
  const std::string name = R"("name": "spiffe://example/trainer", "object": )";
  EXPECT_THAT(text, ::testing::ContainsRegex(absl::StrCat(R"("rpc": "Coordinator/Submit".*)", name, "\"",
                                                          dataset_.job.name(), R"(", "outcome": "OK")")));
  EXPECT_THAT(text, ::testing::ContainsRegex(absl::StrCat(R"("rpc": "Coordinator/Cancel".*)", name,
                                                          R"("no-such-job", "outcome": "NOT_FOUND")")));
  EXPECT_THAT(text, ::testing::ContainsRegex(R"("rpc": "Coordinator/OpenSession".*"outcome": "UNAUTHENTICATED")"));
}

TEST_F(TlsClusterTest, AProcessWithAKeyWritesNoCoreDump) {
  support::ProcessCluster cluster(Options(1), dataset_.roots);
  for (const pid_t pid : {cluster.coordinator().pid(), cluster.worker(0).process->pid()}) {
    const std::string limits = ReadWholeFile(absl::StrCat("/proc/", pid, "/limits")).value_or("");
    const size_t at = limits.find("Max core file size");
    ASSERT_NE(at, std::string::npos) << limits;
    EXPECT_THAT(limits.substr(at, 40), ::testing::ContainsRegex(" [01] ")) << limits;
  }
}

TEST_F(TlsClusterTest, AFaultInChangedFilesIsLoggedAndTheOldOnesServe) {
  support::ProcessCluster cluster(Options(1), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  const std::string stranger = support::TestAuthority().Issue().key;
  ASSERT_TRUE(WriteFileAtomically(File("coordinator", "key"), stranger).ok());
  EXPECT_TRUE(support::WaitUntil([&] {
    return absl::StrContains(cluster.Logs(), "key.pem: it does not belong to the first certificate in ");
  })) << cluster.Logs();
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
  EXPECT_TRUE(result.status.ok()) << result.status << cluster.Logs();
}

TEST_F(TlsClusterTest, EachSideWithoutTlsIsToldWhatIsMissing) {
  support::ProcessClusterOptions options = Options(1);
  options.coordinator_flags.insert(options.coordinator_flags.end(), {"--http", "127.0.0.1:0"});
  support::ProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  support::ReadPlan plan = Plan();
  plan.connect.tls_cert = plan.connect.tls_key = "";
  EXPECT_THAT(std::string(support::ReadThrough(cluster.address(), plan).status.message()), HasSubstr("--tls-cert"));
  plan.connect = {};
  plan.connect.open_timeout = absl::Seconds(4);
  const absl::Status plaintext = support::ReadThrough(cluster.address(), plan).status;
  EXPECT_THAT(std::string(plaintext.message()), HasSubstr("--tls-ca"));
  EXPECT_TRUE(support::WaitUntil([&] {
    return absl::StrContains(cluster.Logs(), "a TLS handshake failed: the other side speaks plaintext");
  })) << cluster.Logs();
  const auto certificates =
      net::ReadCertificates({File("trainer", "cert"), File("trainer", "key"), File("trainer", "ca")}, absl::Now());
  ASSERT_TRUE(certificates.ok()) << certificates.status();
  const cli::ProbeTls tls{*certificates, "localhost"};
  const auto metrics =
      cli::ProbeHttp(*net::ParseAddress(cluster.HttpsAddress()), "/metrics", std::chrono::seconds(20), &tls);
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  EXPECT_THAT(metrics->body, ::testing::ContainsRegex("\npenstock_tls_failed_handshakes_total [1-9]"));
}

class TlsStartTest : public TlsClusterTest {
 protected:
  // Starts a coordinator that must refuse to start. Returns its message.
  std::string Refusal(const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {PENSTOCKD,     "coordinator", "--listen",
                                          "127.0.0.1:0", "--state-dir", folder_.File("state")};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const std::string log = folder_.File("refusal");
    support::Process process(arguments, log);
    EXPECT_GT(process.WaitForExit(), 0);
    return ReadWholeFile(log).value_or("");
  }
};

TEST_F(TlsStartTest, APairThatDoesNotMatchIsRejected) {
  ASSERT_TRUE(WriteFileAtomically(File("coordinator", "key"), authority_.Issue().key).ok());
  EXPECT_THAT(Refusal(Flags("coordinator")), HasSubstr("key.pem: it does not belong"));
}

TEST_F(TlsStartTest, AnExpiredCertificateIsRejected) {
  WriteCertificates(folder_.File("tls/now/coordinator"), authority_,
                    authority_.Issue({.ends = absl::FromUnixSeconds(1'609'459'200)}));
  EXPECT_THAT(Refusal(Flags("coordinator")), HasSubstr("cert.pem: it expired on "));
}

TEST_F(TlsStartTest, AMissingFileIsRejected) {
  std::filesystem::remove(File("coordinator", "ca"));
  EXPECT_THAT(Refusal(Flags("coordinator")), HasSubstr("ca.pem"));
}

TEST_F(TlsStartTest, StandaloneNeedsNoCertificateForItself) {
  const std::string port_file = folder_.File("port");
  WriteCertificates(folder_.File("tls/now/coordinator"), authority_,
                    authority_.Issue({.names = {"DNS:public.example"}}));
  support::Process standalone({PENSTOCKD, "standalone", "--listen", "127.0.0.1:0", "--state-dir", folder_.File("state"),
                               "--socket-dir", "", "--port-file", port_file, "--data-root", folder_.path(),
                               "--tls-cert", File("coordinator", "cert"), "--tls-key", File("coordinator", "key")},
                              folder_.File("standalone-log"));
  ASSERT_TRUE(support::WaitUntil([&] { return std::filesystem::exists(port_file); }))
      << ReadWholeFile(folder_.File("standalone-log")).value_or("");
}

}  // namespace
}  // namespace penstock::faults
