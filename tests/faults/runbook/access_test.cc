// Situations of the runbook about certificates, tokens and rejected callers.
#include <signal.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "tests/faults/runbook/testing.h"
#include "tests/support/certificates/certificates.h"

namespace penstock::faults {
namespace {

// A cluster with TLS and tokens. Each daemon has its own folder with its certificate.
class RunbookAccessTest : public RunbookTest {
 protected:
  void SetUp() override {
    RunbookTest::SetUp();
    for (const std::string side : {"coordinator", "worker"}) Issue(side, absl::FromUnixSeconds(4'102'444'800));
    NewToken("ops", "operator");
    NewToken("nodes", "worker");
    NewToken("alice", "trainer");
    UseFiles(folder_.File("coordinator"), "ops");
  }
  void Issue(const std::string& side, absl::Time ends) {
    std::filesystem::create_directories(folder_.File(side));
    WriteCertificates(
        folder_.File(side), authority_,
        authority_.Issue({.names = {"DNS:localhost", "IP:127.0.0.1", "DNS:workers.example"}, .ends = ends}));
  }
  void NewToken(const std::string& name, const std::string& role) {
    const Outcome made = Run(absl::StrCat("penstock token ", name, " --role ", role,
                                          role == "trainer" ? " --jobs '*'" : "", " --file '", Tokens(), "'"));
    ASSERT_EQ(made.code, 0) << made.text;
    ASSERT_TRUE(WriteFileAtomically(folder_.File(name + ".token"), made.text).ok());
  }
  // Commands and trainers use the CA of this folder and the token of this name.
  void UseFiles(const std::string& folder, const std::string& name) {
    environment_ = {absl::StrCat("PENSTOCK_TLS_CA=", folder, "/ca.pem")};
    if (!name.empty()) environment_.push_back(absl::StrCat("PENSTOCK_TOKEN_FILE=", folder_.File(name + ".token")));
  }
  std::vector<std::string> Flags(const std::string& side, std::vector<std::string> flags = {}) const {
    for (const std::string name : {"cert", "key", "ca"}) {
      flags.insert(flags.end(), {"--tls-" + name, absl::StrCat(folder_.File(side), "/", name, ".pem")});
    }
    flags.insert(flags.end(), {"--tokens", Tokens()});
    return flags;
  }
  void StartSecure(const std::string& config = "") {
    support::ProcessClusterOptions options = Workers(0);
    options.coordinator_flags = Flags("coordinator");
    options.coordinator_config = config;
    options.worker_flags =
        Flags("worker", {"--tls-name", "workers.example", "--token-file", folder_.File("nodes.token")});
    options.tls.ca = folder_.File("coordinator") + "/ca.pem";
    options.token_file = folder_.File("ops.token");
    Start(1, options);
  }
  std::string Tokens() const { return folder_.File("tokens"); }
  void WriteTokens(const std::string& lines) {
    ASSERT_TRUE(WriteFileAtomically(Tokens(), lines).ok());
    std::filesystem::permissions(Tokens(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }

  support::TestAuthority authority_;
};

TEST_F(RunbookAccessTest, ACertificateExpiresSoon) {
  StartSecure();
  Issue("worker", absl::Now() + absl::Hours(72));
  ExpectSymptoms();
  Issue("worker", absl::FromUnixSeconds(4'102'444'800));
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, ACertificateHasExpired) {
  Issue("coordinator", absl::Now() + absl::Seconds(30));
  StartSecure();
  ExpectSymptoms();
  Issue("coordinator", absl::FromUnixSeconds(4'102'444'800));
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, AKeyDoesNotFitItsCertificate) {
  StartSecure();
  ASSERT_TRUE(WriteFileAtomically(folder_.File("coordinator") + "/key.pem", authority_.Issue().key).ok());
  ExpectSymptoms();
  Issue("coordinator", absl::FromUnixSeconds(4'102'444'800));
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, AClientTrustsAnotherAuthority) {
  StartSecure();
  const support::TestAuthority stranger;
  const support::TempFolder other;
  WriteCertificates(other.path(), stranger, stranger.Issue());
  UseFiles(other.path(), "ops");
  ExpectSymptoms();
  UseFiles(folder_.File("coordinator"), "ops");
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, AClientLacksTLS) {
  StartSecure();
  environment_.clear();
  ExpectSymptoms();
  UseFiles(folder_.File("coordinator"), "ops");
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, TheTokensFileHasAFault) {
  StartSecure();
  const std::string lines = *ReadWholeFile(Tokens());
  WriteTokens("ops emperor *\n");
  ExpectSymptoms();
  WriteTokens(lines);
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, ATokenIsNotKnown) {
  StartSecure();
  const std::string lines = *ReadWholeFile(Tokens());
  std::string fewer;
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    if (!absl::StartsWith(line, "nodes ")) absl::StrAppend(&fewer, line, "\n");
  }
  WriteTokens(fewer);
  ExpectSymptoms();
  WriteTokens(lines);
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, ACallerHasNoToken) {
  StartSecure();
  UseFiles(folder_.File("coordinator"), "");
  ExpectSymptoms();
  UseFiles(folder_.File("coordinator"), "ops");
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, ACallerHasTheWrongRole) {
  StartSecure();
  WriteJob();
  UseFiles(folder_.File("coordinator"), "alice");
  ExpectSymptoms();
  UseFiles(folder_.File("coordinator"), "ops");
  Act(1);
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, ACallerExceedsALimit) {
  StartSecure("limits { sessions_per_name: 1 }");
  Submit();
  UseFiles(folder_.File("coordinator"), "alice");
  support::Process& first = Read({"--pace", "20"});
  UseFiles(folder_.File("coordinator"), "ops");
  WaitForReader();
  UseFiles(folder_.File("coordinator"), "alice");
  Read({"--pace", "20"});
  UseFiles(folder_.File("coordinator"), "ops");
  ExpectSymptoms();
  first.Signal(SIGTERM);
  UseFiles(folder_.File("coordinator"), "alice");
  ExpectConfirmed();
}

}  // namespace
}  // namespace penstock::faults
