// A cluster of processes over TLS in which each caller has a role: commands, rows, rotated tokens, faulty files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "client/cli/http_probe.h"
#include "net/address.h"
#include "tests/faults/roles_testing.h"
#include "tests/support/wait_until.h"

namespace penstock::faults {
namespace {

using ::testing::HasSubstr;

TEST_F(RolesTest, EachCommandNeedsItsRole) {
  support::ProcessCluster cluster(Options(1), dataset_.roots);
  const std::string job = dataset_.job.name();
  const std::string submit = absl::StrCat("submit '", folder_.File("job.textproto"), "'");
  struct Case {
    std::string command;
    std::vector<std::string> may;  // besides ops
  };
  const std::vector<Case> cases = {
      {submit, {}},
      {"status", {"eye", "alice", "bob"}},
      {"explain " + job, {"eye", "alice"}},
      {"shards " + job, {"eye"}},
      {"quarantine " + job, {"eye"}},
      {"read " + job + " --steps 2", {"alice"}},
      {"cancel " + job, {}},
      {"drain " + cluster.worker(0).id, {}},
  };
  for (const Case& c : cases) {
    for (const std::string name : {"eye", "alice", "bob", "nodes", "ops"}) {
      const Outcome outcome = Run(c.command, name, cluster.address());
      const bool may = name == "ops" || std::find(c.may.begin(), c.may.end(), name) != c.may.end();
      const bool rejected = outcome.code == 1 && (absl::StrContains(outcome.text, "needs the role ") ||
                                                  absl::StrContains(outcome.text, "may not access job "));
      EXPECT_EQ(rejected, !may) << name << ": " << c.command << ": " << outcome.text << cluster.Logs();
      if (rejected) {
        EXPECT_EQ(outcome.code, 1) << outcome.text;
      }
      if (may && !absl::StartsWith(c.command, "explain")) {  // without a reader, nothing can be explained
        EXPECT_EQ(outcome.code, 0) << name << ": " << c.command << ": " << outcome.text;
      }
    }
    const Outcome unknown = Run(c.command, "", cluster.address());
    EXPECT_EQ(unknown.code, 1) << c.command;
    EXPECT_THAT(unknown.text, HasSubstr("accepts only callers with a token or a certificate")) << c.command;
  }
  EXPECT_FALSE(absl::StrContains(cluster.Logs(), "pst_"));
}

TEST_F(RolesTest, TheAuditLogAndTheStatusNameTheCallersOfRejectedCallsAndPages) {
  support::ProcessClusterOptions options = Options(0);
  const std::string audit = folder_.File("audit.json");
  std::ofstream(Tokens(), std::ios::app) << "san:spiffe://example/trainer trainer *\n";
  options.coordinator_flags.insert(options.coordinator_flags.end(), {"--audit", audit, "--http", "127.0.0.1:0"});
  support::ProcessCluster cluster(options, dataset_.roots);
  EXPECT_THAT(Run("revoke alcie", "ops", cluster.address()).text, HasSubstr("check the name"));
  EXPECT_EQ(Run("cancel imagenet", "alice", cluster.address()).code, 1);
  const absl::StatusOr<net::Address> http = net::ParseAddress(cluster.HttpsAddress());
  ASSERT_TRUE(http.ok()) << http.status();
  const auto get = [&](cli::ProbeTls probe) {
    probe.certificates.ca = authority_.pem();
    const auto answer = cli::ProbeHttp(*http, "/metrics", std::chrono::seconds(20), &probe);
    return answer.ok() ? answer->status : 0;
  };
  EXPECT_EQ(get({}), 401);
  const auto trainer = authority_.Issue({.names = {"URI:spiffe://example/trainer"}});
  cli::ProbeTls named;
  named.certificates.cert = trainer.cert;
  named.certificates.key = trainer.key;
  EXPECT_EQ(get(named), 403);
  const auto status = Run("status --json", "ops", cluster.address());
  EXPECT_THAT(status.text, HasSubstr(R"("name": "alice")"));
  EXPECT_THAT(status.text, HasSubstr(R"("name": "san:spiffe://example/trainer")"));
  cluster.coordinator().Signal(SIGTERM);
  EXPECT_EQ(cluster.coordinator().WaitForExit(), 0) << cluster.Logs();
  const std::string text = ReadWholeFile(audit).value_or("");
  EXPECT_THAT(
      text,
      ::testing::ContainsRegex(
          R"("rpc": "Coordinator/Cancel".*"name": "alice", "object": "imagenet", "outcome": "PERMISSION_DENIED")"));
  EXPECT_THAT(text, ::testing::ContainsRegex(R"("rpc": "HTTP".*"object": "/metrics", "outcome": "UNAUTHENTICATED")"));
  EXPECT_THAT(
      text, ::testing::ContainsRegex(R"("rpc": "HTTP".*"name": "san:spiffe://example/trainer", "object": "/metrics", )"
                                     R"("outcome": "PERMISSION_DENIED")"));
}

// Tickets name its trainers, so that they need no certificate: the worker's CA is for its own call to the coordinator.
TEST_F(RolesTest, AWorkerWithoutTokensServesTrainersThatHaveOnlyATicket) {
  support::ProcessClusterOptions options = Options(1);
  const auto tokens = std::find(options.worker_flags.begin(), options.worker_flags.end(), "--tokens");
  ASSERT_NE(tokens, options.worker_flags.end());
  options.worker_flags.erase(tokens, tokens + 2);
  support::ProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan("alice"));
  EXPECT_TRUE(result.status.ok()) << result.status << cluster.Logs();
}

TEST_F(RolesTest, TheStatusOfATrainerHidesOtherJobs) {
  support::ProcessCluster cluster(Options(1), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  EXPECT_THAT(Run("status --json", "alice", cluster.address()).text, HasSubstr(dataset_.job.name()));
  const Outcome other = Run("status --json", "bob", cluster.address());
  EXPECT_EQ(other.code, 0) << other.text;
  EXPECT_FALSE(absl::StrContains(other.text, absl::StrCat("\"", dataset_.job.name(), "\""))) << other.text;
}

// The old tokens of the worker and of the trainer are removed while the trainer reads, and a worker is killed then.
TEST_F(RolesTest, TokensRotateUnderAReadingTrainer) {
  support::ProcessCluster cluster(Options(2), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  const std::string before = ReadWholeFile(Tokens()).value();
  std::filesystem::copy(TokenOf("alice"), TokenOf("old"));
  std::string without_old;  // the tokens file without the old lines
  bool rotated = false, used = false;
  uint64_t used_at = 0, steps = 0;
  support::ReadPlan plan = Plan("alice");
  plan.options.epochs = 0;
  plan.after_step = [&](uint64_t done) {
    steps = done;
    if (done == 2 && !rotated) {
      rotated = true;
      NewToken("alice", "trainer", dataset_.job.name() + ",other-*");
      NewToken("nodes", "worker");
      const std::string after = ReadWholeFile(Tokens()).value();
      for (const absl::string_view line : absl::StrSplit(after, '\n', absl::SkipEmpty())) {
        const bool changed = absl::StartsWith(line, "alice ") || absl::StartsWith(line, "nodes ");
        if (!changed || !absl::StrContains(before, line)) absl::StrAppend(&without_old, line, "\n");
      }
      // Both are valid until every process has read its new token.
      EXPECT_TRUE(support::WaitUntil([&] {
        return Run("status", "alice", cluster.address()).code == 0 && Run("status", "old", cluster.address()).code == 0;
      }));
    }
    if (!rotated || used || done < 100) return;
    std::string path = Tokens() + ".next";
    ASSERT_TRUE(WriteFileAtomically(path, without_old).ok());
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
    std::filesystem::rename(path, Tokens());
    EXPECT_TRUE(support::WaitUntil([&] { return Run("status", "old", cluster.address()).code == 1; }))
        << cluster.Logs();
    used = true;
    used_at = done;
    cluster.worker(0).process->Signal(SIGKILL);
    cluster.AddWorker();
  };
  plan.until = [&] { return used && steps >= used_at + 100; };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_TRUE(used);

  support::ProcessCluster plain({}, dataset_.roots);
  ASSERT_TRUE(plain.control().Submit(dataset_.job).ok()) << plain.Logs();
  support::ReadPlan same = Plan("alice");
  same.connect = {};
  same.options.epochs = 0;
  same.max_steps = result.steps.size();
  EXPECT_EQ(support::ReadThrough(plain.address(), same).digest, result.digest);
}

TEST_F(RolesTest, NamesInCertificatesHaveRolesToo) {
  const std::string content = absl::StrCat(ReadWholeFile(Tokens()).value(), "san:spiffe://example/trainer trainer ",
                                           dataset_.job.name(), "\nsan:workers.example worker *\n");
  ASSERT_TRUE(WriteFileAtomically(Tokens(), content).ok());
  ASSERT_EQ(chmod(Tokens().c_str(), 0600), 0);
  support::ProcessClusterOptions options = Options(1);
  options.worker_flags = Flags({"--memory-budget", "64MiB", "--tls-name", "workers.example"});  // without a token
  support::ProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  support::TempFolder mine;
  support::ReadPlan plan = Plan("alice");
  plan.connect.token_file = "";
  plan.options.epochs = 1;
  for (const auto& [name, may] : {std::pair("URI:spiffe://example/trainer", true),
                                  {"URI:spiffe://example/other", false},
                                  {"DNS:workers.example", false}}) {
    WriteCertificates(mine.path(), authority_, authority_.Issue({.names = {name}}));
    plan.connect.tls_cert = mine.File("cert.pem");
    plan.connect.tls_key = mine.File("key.pem");
    const absl::Status status = support::ReadThrough(cluster.address(), plan).status;
    EXPECT_EQ(status.ok(), may) << name << ": " << status << cluster.Logs();
    if (may) continue;
    EXPECT_THAT(
        std::string(status.message()),
        ::testing::AnyOf(HasSubstr("no line for the names in the caller's certificate (spiffe://example/other)"),
                         HasSubstr("'san:workers.example' has the role worker, and ")));
  }
}

TEST_F(RolesTest, AFaultyFileIsLoggedOnceAndTheLinesFromBeforeServe) {
  support::ProcessCluster cluster(Options(1), dataset_.roots);
  const std::string content = ReadWholeFile(Tokens()).value();
  const auto replace = [&](const std::string& by, mode_t mode) {
    const std::string next = Tokens() + ".next";
    ASSERT_TRUE(WriteFileAtomically(next, by).ok());
    ASSERT_EQ(chmod(next.c_str(), mode), 0);
    std::filesystem::rename(next, Tokens());
  };
  replace(content + "carol trainr * 00\n", 0600);
  EXPECT_TRUE(support::WaitUntil([&] { return absl::StrContains(cluster.Logs(), "line 6: 'trainr' is no role"); }))
      << cluster.Logs();
  EXPECT_EQ(Run("status", "eye", cluster.address()).code, 0);
  replace(content, 0644);
  EXPECT_TRUE(support::WaitUntil([&] { return absl::StrContains(cluster.Logs(), "other users can read it"); }))
      << cluster.Logs();
  EXPECT_EQ(Run("status", "eye", cluster.address()).code, 0);
  replace(content, 0600);
  EXPECT_TRUE(support::WaitUntil([&] { return absl::StrContains(cluster.Logs(), "is valid again"); }))
      << cluster.Logs();
}

TEST_F(RolesTest, ADaemonWithTokensRejectsPlaintextOnTheNetworkAndFaultyFiles) {
  const auto refusal = [&](std::vector<std::string> flags) {
    std::vector<std::string> arguments = {PENSTOCKD, "coordinator", "--state-dir", folder_.File("state"), "--insecure"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    support::Process process(arguments, folder_.File("refusal"));
    EXPECT_GT(process.WaitForExit(), 0);
    return ReadWholeFile(folder_.File("refusal")).value_or("");
  };
  EXPECT_THAT(refusal({"--listen", "0.0.0.0:0", "--tokens", Tokens()}), HasSubstr("which --insecure does not allow"));
  EXPECT_THAT(refusal({"--listen", "127.0.0.1:0", "--http", "0.0.0.0:0", "--tokens", Tokens()}),
              HasSubstr("which --insecure does not allow"));
  ASSERT_EQ(chmod(Tokens().c_str(), 0644), 0);
  EXPECT_THAT(refusal({"--listen", "127.0.0.1:0", "--tokens", Tokens()}), HasSubstr("other users can read it"));
  EXPECT_THAT(refusal({"--listen", "127.0.0.1:0", "--tokens", folder_.File("none")}), HasSubstr("tokens file"));
}

}  // namespace
}  // namespace penstock::faults
