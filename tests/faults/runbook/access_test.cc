// Situations of the runbook about certificates, tokens and rejected callers.
#include <signal.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "tests/faults/runbook/testing.h"
#include "tests/faults/secure_files.h"
#include "tests/support/certificates/certificates.h"

namespace penstock::faults {
namespace {

// A cluster with TLS and tokens. Each daemon has its own folder with its certificate.
class RunbookAccessTest : public RunbookTest {
 protected:
  void SetUp() override {
    RunbookTest::SetUp();
    files_.emplace(folder_.path());
    UseFiles(folder_.File("coordinator"), "ops");
  }
  // Commands and trainers use the CA of this folder and the token of this name.
  void UseFiles(const std::string& folder, const std::string& name) {
    environment_ = {absl::StrCat("PENSTOCK_TLS_CA=", folder, "/ca.pem")};
    if (!name.empty()) environment_.push_back(absl::StrCat("PENSTOCK_TOKEN_FILE=", files_->TokenOf(name)));
  }
  void StartSecure(const std::string& config = "") {
    support::ProcessClusterOptions options = Workers(0);
    options.coordinator_flags = files_->Flags("coordinator");
    options.coordinator_config = config;
    options.worker_flags =
        files_->Flags("worker", {"--tls-name", "workers.example", "--token-file", files_->TokenOf("nodes")});
    options.tls.ca = files_->Ca();
    options.token_file = files_->TokenOf("ops");
    Start(1, options);
  }

  std::optional<SecureFiles> files_;
};

TEST_F(RunbookAccessTest, ACertificateExpiresSoon) {
  StartSecure();
  files_->Issue("worker", absl::Now() + absl::Hours(72));
  ExpectSymptoms();
  files_->Issue("worker");
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, ACertificateHasExpired) {
  files_->Issue("coordinator", absl::Now() + absl::Seconds(30));
  StartSecure();
  ExpectSymptoms();
  files_->Issue("coordinator");
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, AKeyDoesNotFitItsCertificate) {
  StartSecure();
  files_->ReplaceKey("coordinator");
  ExpectSymptoms();
  files_->Issue("coordinator");
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
  const std::string lines = *ReadWholeFile(files_->Tokens());
  files_->WriteTokens("ops emperor *\n");
  ExpectSymptoms();
  files_->WriteTokens(lines);
  ExpectConfirmed();
}

TEST_F(RunbookAccessTest, ATokenIsNotKnown) {
  StartSecure();
  const std::string lines = *ReadWholeFile(files_->Tokens());
  files_->RemoveTokensOf("nodes");
  ExpectSymptoms();
  files_->WriteTokens(lines);
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
