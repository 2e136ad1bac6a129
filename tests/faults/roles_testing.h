// A data set, certificates, and callers with roles, for tests of a cluster over TLS.
#ifndef PENSTOCK_TESTS_FAULTS_ROLES_TESTING_H_
#define PENSTOCK_TESTS_FAULTS_ROLES_TESTING_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/support/certificates/certificates.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::faults {

class RolesTest : public ::testing::Test {
 protected:
  RolesTest() : dataset_(support::MakeImageDataset({.shards = 4, .records_per_shard = 16}, folder_.path())) {
    WriteCertificates(folder_.path(), authority_,
                      authority_.Issue({.names = {"DNS:localhost", "IP:127.0.0.1", "DNS:workers.example"}}));
    std::string text;
    google::protobuf::TextFormat::PrintToString(dataset_.job, &text);
    EXPECT_TRUE(WriteFileAtomically(folder_.File("job.textproto"), text).ok());
    NewToken("ops", "operator");
    NewToken("nodes", "worker");
    NewToken("eye", "viewer");
    NewToken("alice", "trainer", dataset_.job.name() + ",other-*");
    NewToken("bob", "trainer", "other-*");
  }

  std::string Tokens() const { return folder_.File("tokens"); }
  std::string TokenOf(const std::string& name) const { return folder_.File(name + ".token"); }

  // Makes a token by the command, and replaces the file with the name's secret atomically.
  void NewToken(const std::string& name, const std::string& role, const std::string& jobs = "*",
                const std::string& flags = "") {
    const Outcome made =
        Run(absl::StrCat("token ", name, " --role ", role, " --jobs '", jobs, "' ", flags, " --file '", Tokens(), "'"));
    ASSERT_EQ(made.code, 0) << made.text;
    ASSERT_TRUE(WriteFileAtomically(TokenOf(name), made.text).ok());
  }

  struct Outcome {
    int code = -1;
    std::string text;  // both outputs
  };
  // Runs `penstock`, with the token of `name` if that is not "".
  Outcome Run(const std::string& arguments, const std::string& name = "", const std::string& address = "") {
    std::string command = absl::StrCat("PENSTOCK_COORDINATOR='", address, "' ");
    if (!address.empty()) absl::StrAppend(&command, "PENSTOCK_TLS_CA='", folder_.File("ca.pem"), "' ");
    if (!name.empty()) absl::StrAppend(&command, "PENSTOCK_TOKEN_FILE='", TokenOf(name), "' ");
    absl::StrAppend(&command, "'", PENSTOCK, "' ", arguments, " >'", folder_.File("out"), "' 2>&1 </dev/null");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadWholeFile(folder_.File("out")).value_or("")};
  }

  std::vector<std::string> Flags(std::vector<std::string> flags = {}) const {
    for (const std::string name : {"cert", "key", "ca"}) {
      flags.push_back("--tls-" + name);
      flags.push_back(folder_.File(name + ".pem"));
    }
    flags.push_back("--tokens");
    flags.push_back(Tokens());
    return flags;
  }
  support::ProcessClusterOptions Options(int workers) const {
    support::ProcessClusterOptions options;
    options.workers = workers;
    options.coordinator_flags = Flags();
    options.worker_flags =
        Flags({"--memory-budget", "64MiB", "--tls-name", "workers.example", "--token-file", TokenOf("nodes")});
    options.shared_memory = false;
    options.tls.ca = folder_.File("ca.pem");
    options.token_file = TokenOf("ops");
    return options;
  }
  support::ReadPlan Plan(const std::string& name) const {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 3;
    plan.connect.tls_ca = folder_.File("ca.pem");
    plan.connect.token_file = TokenOf(name);
    return plan;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
  support::TestAuthority authority_;
};

}  // namespace penstock::faults

#endif  // PENSTOCK_TESTS_FAULTS_ROLES_TESTING_H_
