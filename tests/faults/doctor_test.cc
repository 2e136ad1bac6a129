// `penstock doctor` against real processes: no fault in a healthy cluster, and each planted fault by its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/version.h"
#include "net/protocols_proto.h"
#include "penstock/v1/control.pb.h"
#include "tests/faults/secure_files.h"
#include "tests/support/certificates/certificates.h"
#include "tests/support/cluster/control_group.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/silent_port.h"
#include "tests/support/cluster/status_server.h"
#include "tests/support/hanging_files/hanging_files.h"
#include "tests/support/http_server/fake_s3.h"
#include "tests/support/http_server/http_server.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"
#include "tests/support/wait_until.h"

namespace penstock::faults {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() : dataset_(support::MakeNumberDataset({.shards = 1, .records_per_shard = 4}, data_.path())) {}

  struct Outcome {
    int code = -1;
    std::string text;  // both outputs
  };
  // Runs the command at `address`, after "NAME=VALUE" and other words of a shell.
  Outcome Doctor(const std::string& address, const std::string& before = "", const std::string& flags = "") {
    const std::string command = absl::StrCat(before, " '", PENSTOCK, "' doctor --coordinator ", address, " ", flags,
                                             " >'", folder_.File("out"), "' 2>&1 </dev/null");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadWholeFile(folder_.File("out")).value_or("")};
  }
  // Daemons check themselves every few seconds: runs the command until a line begins with `fault` ("worker w1
  // certificate: ...", without the blanks of the columns) and has `what`.
  Outcome UntilFault(const std::string& address, const std::string& fault, const std::string& what,
                     const std::string& before = "") {
    Outcome last;
    EXPECT_TRUE(support::WaitUntil([&] {
      last = Doctor(address, before);
      return HasFault(last, fault, what);
    })) << "no line '"
        << fault << "' with '" << what << "' in\n"
        << last.text;
    EXPECT_EQ(last.code, 1) << last.text;
    return last;
  }
  static bool HasFault(const Outcome& outcome, const std::string& fault, const std::string& what) {
    for (const absl::string_view line : absl::StrSplit(outcome.text, '\n')) {
      std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (absl::StartsWith(absl::StrJoin(words, " "), "FAULT " + fault) && absl::StrContains(line, what)) return true;
    }
    return false;
  }
  // Runs the command until no line is without a result. Expects no fault.
  Outcome ExpectHealthy(const std::string& address, const std::string& before = "") {
    Outcome last;
    EXPECT_TRUE(support::WaitUntil([&] {
      last = Doctor(address, before);
      return !absl::StrContains(last.text, "\n?");
    })) << last.text;
    EXPECT_EQ(last.code, 0) << last.text;
    EXPECT_THAT(last.text, Not(HasSubstr("FAULT")));
    return last;
  }

  support::TempFolder data_, folder_;
  support::TestDataset dataset_;
};

TEST_F(DoctorTest, AHealthyClusterHasNoFault) {
  support::ProcessClusterOptions options;
  options.workers = 2;
  options.worker_flags.insert(options.worker_flags.end(), {"--name", "w1"});
  support::ProcessCluster cluster(options, dataset_.roots);
  const Outcome outcome = ExpectHealthy(cluster.address());
  for (const char* line :
       {"this host ", "open files: ", "cgroup limits: ", "socket buffers: ", "address: answers at 127.0.0.1:",
        "caller: every caller may do everything", "clock: agrees with this host's",
        "workers: 2 workers send heartbeats", "transport: trainers here read through shared memory",
        "clock: agrees with the coordinator's", " is readable\n", "state directory: "}) {
    EXPECT_THAT(outcome.text, HasSubstr(line));
  }
  const Outcome json = Doctor(cluster.address(), "", "--json");
  EXPECT_EQ(json.code, 0);
  EXPECT_THAT(json.text, AllOf(HasSubstr("{\"faults\": 0, \"checks\": [{\"process\": \"this host\", "),
                               HasSubstr("{\"process\": \"worker w1\", \"check\": \"state\", \"result\": \"ok\"")));
  EXPECT_EQ(Doctor(cluster.address(), "", "extra").code, 2);
}

TEST_F(DoctorTest, FaultsOfTheConnectionToTheCoordinator) {
  const Outcome away = Doctor("127.0.0.1:1");
  EXPECT_TRUE(HasFault(away, "coordinator address:", "is it running?")) << away.text;
  support::ProcessClusterOptions none;
  none.workers = 0;
  support::ProcessCluster cluster(none, dataset_.roots);
  UntilFault(cluster.address(), "coordinator workers:", "none sends heartbeats. Start one: penstockd worker");
  const support::TestAuthority authority;
  WriteCertificates(folder_.path(), authority, authority.Issue());
  UntilFault(cluster.address(), "coordinator address:", "it serves plaintext, and this client has a CA",
             absl::StrCat("PENSTOCK_TLS_CA='", folder_.File("ca.pem"), "'"));
}

TEST_F(DoctorTest, FaultsOfThisHost) {
  support::ProcessCluster cluster({}, dataset_.roots);
  UntilFault(cluster.address(), "this host open files:", "at most 512 files may be open", "ulimit -n 512;");
  ASSERT_TRUE(WriteFileAtomically(folder_.File("empty"), "").ok());
  Outcome outcome = UntilFault(cluster.address(), "this host token:", "--token-file",
                               absl::StrCat("PENSTOCK_TOKEN_FILE='", folder_.File("empty"), "'"));
  EXPECT_THAT(outcome.text, HasSubstr("not asked, because of the fault on this host"));
  UntilFault(cluster.address(), "this host certificate:", folder_.File("none.pem"),
             absl::StrCat("PENSTOCK_TLS_CA='", folder_.File("none.pem"), "'"));
}

// Faults of workers, one in each of them, in one cluster.
TEST_F(DoctorTest, FaultsOfWorkers) {
  // A storage that rejects the keys "denied", and a service whose keys end soon.
  support::FakeS3 s3;
  s3.Put("bucket", "data/shard", "x");
  s3.fault = [](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    const auto authorization = request.headers.find("authorization");
    if (authorization == request.headers.end() || !absl::StrContains(authorization->second, "Credential=denied/")) {
      return std::nullopt;
    }
    return support::S3Error(403, "InvalidAccessKeyId", "no such key");
  };
  const support::HttpServer server([&s3](const support::ServedRequest& request) -> support::ServedAnswer {
    if (request.path != "/keys") return s3(request);
    return {.body = absl::StrCat(
                R"({"AccessKeyId": "id", "SecretAccessKey": "hunter2", "Token": "hunter2-session", )",
                R"("Expiration": ")",
                absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now() + absl::Seconds(100), absl::UTCTimeZone()), "\"}")};
  });

  support::ProcessClusterOptions options;
  options.workers = 0;
  options.worker_flags = {};
  support::ProcessCluster cluster(options, dataset_.roots);
  const auto flags = [](const std::string& name, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--name", name});
    if (name != "budget") more.insert(more.end(), {"--memory-budget", "64MiB"});
    return more;
  };
  const support::TempFolder gone, empty, hung;
  ASSERT_TRUE(WriteFileAtomically(gone.File("shard"), "x").ok());
  ASSERT_TRUE(WriteFileAtomically(hung.File("shard"), "x").ok());
  cluster.AddWorkerAt({{.name = "gone", .path = gone.path()}}, flags("root"));
  cluster.AddWorkerAt({{.name = "empty", .path = empty.path()}}, flags("unmounted"));
  cluster.AddWorkerAt({{.name = "hung", .path = hung.path()}}, flags("nfs"),
                      support::HangingFilesEnvironment(HANGING_FILES, hung.path(), folder_.File("hang")));
  cluster.AddWorkerAt({{.name = "bucket", .path = "s3://bucket/data"}}, flags("s3"),
                      {absl::StrCat("AWS_ENDPOINT_URL_S3=", server.url()), "AWS_ACCESS_KEY_ID=denied",
                       "AWS_SECRET_ACCESS_KEY=hunter2"});
  cluster.AddWorkerAt({{.name = "bucket", .path = "s3://bucket/data"}}, flags("keys"),
                      {absl::StrCat("AWS_ENDPOINT_URL_S3=", server.url()),
                       absl::StrCat("AWS_CONTAINER_CREDENTIALS_FULL_URI=", server.url(), "/keys")});
  const std::string socket = absl::StrCat(cluster.socket_dir(), "/", cluster.AddWorker(flags("socket")).id, ".sock");
  cluster.AddWorker(flags("advertise", {"--advertise", "127.0.0.1:1"}));
  cluster.AddWorker(flags("budget", {"--memory-budget", "100TiB"}));
  support::Process& killed = *cluster.AddWorker(flags("killed")).process;

  std::filesystem::remove_all(gone.path());
  std::filesystem::remove(socket);
  ASSERT_TRUE(WriteFileAtomically(folder_.File("hang"), "").ok());
  killed.Signal(SIGKILL);
  const std::string& at = cluster.address();
  UntilFault(at, "worker root data root gone:", "No such file or directory. Mount it");
  UntilFault(at, "worker unmounted data root empty:", "is empty. Mount its file system");
  UntilFault(at, "worker nfs data root hung:", "no answer for ");
  UntilFault(at, "worker s3 data root bucket:", "InvalidAccessKeyId");
  UntilFault(at, "worker keys storage credentials:", "could not be renewed. Renew them");
  UntilFault(at, "worker socket shared memory:", "is gone. Restart the worker");
  UntilFault(at, "worker socket transport:", "its rows do not come through shared memory");
  UntilFault(at, "worker advertise address:", "this host cannot reach 127.0.0.1:1");
  UntilFault(at, "worker budget cgroup limits:", "Lower --memory-budget");
  const Outcome outcome = UntilFault(at, "worker killed state:", ". Start it again");
  EXPECT_THAT(outcome.text, Not(HasSubstr("hunter2")));
}

// Runs the command as another user, which needs root.
TEST_F(DoctorTest, AnotherUserIsToldThatTheWorkersSocketDoesNotServeIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can run the command as another user";
  support::ProcessCluster cluster({.workers = 1}, dataset_.roots);
  const Outcome outcome = UntilFault(cluster.address(), "worker", "This process runs as user 65534; a worker serves",
                                     "setpriv --reuid=65534 --regid=65534 --clear-groups");
  EXPECT_THAT(outcome.text, HasSubstr("--socket-group or --socket-users any"));
}

TEST_F(DoctorTest, AWorkerWithALowLimitOfOpenFiles) {
  support::ProcessClusterOptions options;
  options.worker_prefix = support::AfterShell("ulimit -n 512");
  options.worker_flags.insert(options.worker_flags.end(), {"--name", "w1"});
  support::ProcessCluster cluster(options, dataset_.roots);
  UntilFault(cluster.address(), "worker w1 open files:", "at most 512 files may be open");
}

// A cluster with TLS and tokens.
class SecureDoctorTest : public DoctorTest {
 protected:
  support::ProcessClusterOptions Options() const {
    support::ProcessClusterOptions options;
    options.coordinator_flags = files_.Flags("coordinator");
    options.worker_flags = files_.Flags("worker", {"--memory-budget", "64MiB", "--name", "w1", "--tls-name",
                                                   "workers.example", "--token-file", files_.TokenOf("nodes")});
    options.tls.ca = files_.Ca();
    options.token_file = files_.TokenOf("ops");
    return options;
  }
  std::string As(const std::string& name) const {
    return absl::StrCat("PENSTOCK_TLS_CA='", files_.Ca(), "' PENSTOCK_TOKEN_FILE='", files_.TokenOf(name), "'");
  }

  SecureFiles files_{folder_.path()};
};

TEST_F(SecureDoctorTest, AHealthyClusterHasNoFaultAndRejectsNoProbe) {
  support::ProcessCluster cluster(Options(), dataset_.roots);
  const Outcome outcome = ExpectHealthy(cluster.address(), As("ops"));
  for (const char* line : {"over TLS\n", "caller: this is 'ops' with the role operator",
                           "is for localhost, 127.0.0.1, workers.example, and "
                           "expires on 2100-01-01",
                           "tokens file: ", "token: ", " over TLS as workers.example\n",
                           "transport: trainers here read through shared memory\n"}) {
    EXPECT_THAT(outcome.text, HasSubstr(line));
  }
  EXPECT_THAT(outcome.text, Not(HasSubstr("pst_")));
  const v1::StatusReply status = *cluster.control().Status();
  EXPECT_EQ(status.rejected_size(), 0) << status.ShortDebugString();
  EXPECT_EQ(status.workers(0).rejected_size(), 0) << status.ShortDebugString();
  // A trainer does not see what names folders.
  const Outcome trainer = Doctor(cluster.address(), As("alice"));
  EXPECT_EQ(trainer.code, 0) << trainer.text;
  EXPECT_THAT(trainer.text, AllOf(HasSubstr("'alice' with the role trainer"),
                                  HasSubstr("viewers and operators see them"), Not(HasSubstr(data_.path()))));
}

TEST_F(SecureDoctorTest, FaultsOfTheCaller) {
  support::ProcessCluster cluster(Options(), dataset_.roots);
  UntilFault(cluster.address(), "coordinator address:", "--tls-ca");
  const support::TestAuthority stranger;
  const support::TempFolder other;
  WriteCertificates(other.path(), stranger, stranger.Issue());
  UntilFault(cluster.address(), "coordinator address:", "not signed by the CA in ",
             absl::StrCat("PENSTOCK_TLS_CA='", other.File("ca.pem"), "'"));
  UntilFault(cluster.address(), "coordinator caller:", "name the token's file with --token-file",
             absl::StrCat("PENSTOCK_TLS_CA='", files_.Ca(), "'"));
  UntilFault(cluster.address(), "coordinator caller:", "needs the role ", As("nodes"));
}

TEST_F(SecureDoctorTest, FaultsOfCertificatesAndTokensInUse) {
  support::ProcessCluster cluster(Options(), dataset_.roots);
  const std::string& at = cluster.address();
  files_.ReplaceKey("coordinator");
  UntilFault(at, "coordinator certificate:", "New connections use the pair from before, which expires on 2100-01-01",
             As("ops"));
  files_.Issue("worker", absl::Now() + absl::Hours(72));
  UntilFault(at, "worker w1 certificate:", "Put a new certificate", As("ops"));
  // The worker's token is no longer known. The old operator still is.
  files_.RemoveTokensOf("nodes");
  UntilFault(at, "coordinator callers:", "does not know the caller's token", As("ops"));
  UntilFault(at, "worker w1 state:", "answers. Its log has the reason: check its --coordinator, --token-file",
             As("ops"));
  files_.WriteTokens("ops emperor *\n");
  const Outcome outcome = UntilFault(at, "coordinator tokens file:", "The content from before stays in use", As("ops"));
  EXPECT_THAT(outcome.text, Not(HasSubstr("pst_")));
}

class DoctorOfStatusTest : public DoctorTest {
 protected:
  // A status of the release `version`, with a worker at an address that answers: the real coordinator's.
  v1::StatusReply StatusOf(const std::string& version) {
    if (!cluster_.has_value()) {
      support::ProcessClusterOptions options;
      options.workers = 0;
      cluster_.emplace(options, dataset_.roots);
    }
    v1::StatusReply status;
    status.set_version(version);
    *status.mutable_protocols() = net::ToProto(kProtocols);
    v1::WorkerStatus* const worker = status.add_workers();
    worker->set_id("w1");
    worker->set_address(cluster_->address());
    worker->set_state(v1::WorkerStatus::LIVE);
    worker->set_version(version);
    *worker->mutable_protocols() = net::ToProto(kProtocols);
    return status;
  }

  std::optional<support::ProcessCluster> cluster_;
};

TEST_F(DoctorOfStatusTest, ACoordinatorOfThePreviousReleaseHasNoFault) {
  const support::StatusServer server(StatusOf("0.3.0"));
  const Outcome outcome = Doctor(server.address());
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, AllOf(HasSubstr("penstock 0.3.0 does not send its time"),
                                  HasSubstr("penstock 0.3.0 makes none"), HasSubstr("penstock 0.3.0, protocol ")));
}

TEST_F(DoctorOfStatusTest, FaultsOfClocksAndProtocols) {
  v1::StatusReply status = StatusOf(std::string(Version()));
  status.set_unix_ms(absl::ToUnixMillis(absl::Now() - absl::Hours(1)));
  status.mutable_workers(0)->set_clock_ahead_ms(90'000);
  status.mutable_workers(0)->mutable_protocols()->set_oldest(100);
  status.mutable_workers(0)->mutable_protocols()->set_newest(101);
  const support::StatusServer server(status);
  const Outcome outcome = Doctor(server.address());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(HasFault(outcome, "coordinator clock: is ", "behind this host's. Synchronize both clocks"))
      << outcome.text;
  EXPECT_TRUE(HasFault(outcome, "worker w1 clock: is 90.0 s ahead", "Synchronize both clocks")) << outcome.text;
  EXPECT_TRUE(HasFault(outcome, "worker w1 release:", "upgrade the command on this host")) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("penstock doctor: 3 faults"));
}

// Workers that are hung or lost do not block the command.
TEST_F(DoctorOfStatusTest, ManyWorkersThatDoNotAnswerDelayItOnce) {
  v1::StatusReply status = StatusOf(std::string(Version()));
  const support::SilentPort silent(support::SilentPort::Kind::kMute);
  for (int i = 0; i < 30; ++i) {
    v1::WorkerStatus* const worker = status.add_workers();
    *worker = status.workers(0);
    worker->set_id(absl::StrCat("silent-", i));
    worker->set_address(silent.address());
  }
  const support::StatusServer server(status);
  const Outcome outcome = Doctor(server.address(), "timeout 20");  // one after another they would take 90 s
  EXPECT_EQ(outcome.code, 1) << outcome.text;
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(HasFault(outcome, absl::StrCat("worker silent-", i, " address:"), silent.address())) << outcome.text;
  }
}

}  // namespace
}  // namespace penstock::faults
