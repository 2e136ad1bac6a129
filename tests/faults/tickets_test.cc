// A cluster of processes in which trainers read with tickets: the coordinator is lost, a name is revoked, a caller has
// no ticket, another user's trainer reads through shared memory.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "server/tickets/ticket.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/wait_until.h"
#include "transport/grpc/grpc_transport.h"

namespace penstock::faults {
namespace {

using ::testing::HasSubstr;

class TicketsTest : public ::testing::Test {
 protected:
  TicketsTest() : dataset_(support::MakeImageDataset({.shards = 4, .records_per_shard = 16}, folder_.path())) {
    NewToken("ops", "operator");
    NewToken("nodes", "worker");
    NewToken("alice", "trainer");
  }

  std::string Tokens() const { return folder_.File("tokens"); }
  std::string TokenOf(const std::string& name) const { return folder_.File(name + ".token"); }
  void NewToken(const std::string& name, const std::string& role) {
    const Outcome made = Run(absl::StrCat("token ", name, " --role ", role, " --file '", Tokens(), "'"));
    ASSERT_EQ(made.code, 0) << made.text;
    ASSERT_TRUE(WriteFileAtomically(TokenOf(name), made.text).ok());
  }

  struct Outcome {
    int code = -1;
    std::string text;  // both outputs
  };
  // Runs `penstock` with the token of `name`, or without one.
  Outcome Run(const std::string& arguments, const std::string& name = "", const std::string& address = "",
              const std::string& before = "") {
    std::string command = absl::StrCat(before, " env PENSTOCK_COORDINATOR='", address, "' ");
    if (!name.empty()) absl::StrAppend(&command, "PENSTOCK_TOKEN_FILE='", TokenOf(name), "' ");
    absl::StrAppend(&command, "'", PENSTOCK, "' ", arguments, " >'", folder_.File("out"), "' 2>&1 </dev/null");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadWholeFile(folder_.File("out")).value_or("")};
  }

  support::ProcessClusterOptions Options(int workers) const {
    support::ProcessClusterOptions options;
    options.workers = workers;
    options.coordinator_flags = {"--tokens", Tokens()};
    options.worker_flags = {"--memory-budget", "128MiB", "--token-file", TokenOf("nodes")};
    options.token_file = TokenOf("ops");
    return options;
  }
  support::ReadPlan Plan() const {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 0;
    plan.connect.token_file = TokenOf("alice");
    return plan;
  }
  std::string DigestWithoutTokens(uint64_t steps) const {
    support::ProcessCluster plain({}, dataset_.roots);
    EXPECT_TRUE(plain.control().Submit(dataset_.job).ok()) << plain.Logs();
    support::ReadPlan same = Plan();
    same.connect = {};
    same.max_steps = steps;
    return support::ReadThrough(plain.address(), same).digest;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

// Over the network and through shared memory.
class LostCoordinatorTest : public TicketsTest, public ::testing::WithParamInterface<bool> {};

TEST_P(LostCoordinatorTest, ATrainerMovesToAnotherWorkerWithItsTicket) {
  support::ProcessClusterOptions options = Options(2);
  options.shared_memory = GetParam();
  support::ProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  // Without the coordinator, a worker cannot request the index of a shard that it does not own.
  const auto has_all_indexes = [&](size_t worker) {
    size_t files = 0;
    std::error_code none;  // the folder may not exist yet
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(cluster.worker(worker).state_dir + "/indexes", none)) {
      files += entry.path().extension() == ".psidx" ? 1 : 0;
    }
    return files == 4;
  };
  EXPECT_TRUE(support::WaitUntil([&] { return has_all_indexes(0) && has_all_indexes(1); })) << cluster.Logs();
  support::ReadPlan plan = Plan();
  plan.max_steps = 200;
  plan.after_step = [&](uint64_t done) {
    if (done == 5) cluster.coordinator().Signal(SIGKILL);
    if (done == 40) cluster.worker(0).process->Signal(SIGKILL);
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_EQ(result.digest, DigestWithoutTokens(200));
}
INSTANTIATE_TEST_SUITE_P(All, LostCoordinatorTest, ::testing::Bool());

TEST_F(TicketsTest, RevokeEndsTheStreamsOfTheNameAlone) {
  NewToken("bob", "trainer");
  support::ProcessCluster cluster(Options(2), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  support::ReadPlan bobs = Plan(), plan = Plan();
  bobs.connect.token_file = TokenOf("bob");
  plan.connect.coordinator = cluster.address();
  auto alice = Reader::Open(plan.connect, plan.options);
  ASSERT_TRUE(alice.ok()) << alice.status() << cluster.Logs();
  ASSERT_TRUE((*alice)->Next(absl::Seconds(60)).ok());
  absl::Status end;
  bool revoked = false;
  bobs.after_step = [&](uint64_t done) {
    if (done == 5) {
      const Outcome outcome = Run("revoke alice", "ops", cluster.address());
      EXPECT_EQ(outcome.code, 0) << outcome.text;
      EXPECT_THAT(outcome.text, HasSubstr("1 session of 'alice' ended"));
      EXPECT_THAT(outcome.text, HasSubstr("still in the coordinator's file of --tokens"));
      revoked = true;
    }
    if (!revoked || !end.ok()) return;
    end = (*alice)->Next(absl::Seconds(60)).status();
  };
  bobs.until = [&] { return revoked && !end.ok(); };
  const support::ReadResult result = support::ReadThrough(cluster.address(), bobs);
  EXPECT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_EQ(end.code(), absl::StatusCode::kPermissionDenied) << end;
  EXPECT_THAT(std::string(end.message()), HasSubstr("has revoked the tickets of 'alice'"));
  EXPECT_EQ(result.digest, DigestWithoutTokens(result.steps.size()));
  // The name is still in the file.
  EXPECT_EQ(Run("read " + dataset_.job.name() + " --steps 2", "alice", cluster.address()).code, 0);
}

// The end of a stream.
class End final : public transport::StreamEvents {
 public:
  void OnMessage(transport::SliceList) override {}
  void OnWritten() override {}
  void OnClosed(const absl::Status& status) override { status_.set_value(status); }
  absl::Status Wait() { return status_.get_future().get(); }

 private:
  std::promise<absl::Status> status_;
};

// The worker has no --tokens: it expects tickets because its coordinator issues them.
TEST_F(TicketsTest, AWorkerRejectsStreamsWithoutATicketOrWithAForgedOne) {
  support::ProcessCluster cluster(Options(1), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  ASSERT_EQ(Run("read " + dataset_.job.name() + " --steps 2", "alice", cluster.address()).code, 0);
  const auto status = cluster.control().Status();
  ASSERT_TRUE(status.ok()) << status.status();
  transport::GrpcTransport carrier;
  transport::WorkerAddress worker(status->workers(0).address());
  const auto end_with = [&](const std::string& ticket) {
    worker.ticket = [ticket] { return ticket; };
    const auto end = std::make_shared<End>();
    const auto stream = carrier.Connect(worker, end);
    stream->StartRead();
    return end->Wait();
  };
  const absl::Status none = end_with("");
  EXPECT_EQ(none.code(), absl::StatusCode::kUnauthenticated) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("accepts only callers with a ticket"));
  v1::TicketClaims claims;
  claims.set_name("alice");
  claims.set_job(dataset_.job.name());
  claims.set_expires(INT64_MAX);
  const absl::Status foreign = end_with(server::SignTicket(claims, std::string(server::kSigningKeyBytes, 'x')));
  EXPECT_EQ(foreign.code(), absl::StatusCode::kUnauthenticated) << foreign;
  EXPECT_THAT(std::string(foreign.message()), HasSubstr("a key that this worker does not know"));
}

TEST_F(TicketsTest, OnlyTheCoordinatorsUserCanReadTheKeys) {
  support::ProcessCluster cluster(Options(0), dataset_.roots);
  struct stat info {};
  ASSERT_EQ(stat((cluster.coordinator_dir() + "/coordinator.db").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u) << "it has the key that signs tickets";
}

// Runs a command as another user, which needs root.
TEST_F(TicketsTest, AnotherUserReadsThroughSharedMemoryOnlyIfTheSocketAdmitsIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can run a trainer as another user";
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  const std::string as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
  ASSERT_EQ(chown(TokenOf("alice").c_str(), 65534, 65534), 0);
  for (const std::string flag : {"own", "any"}) {
    support::ProcessClusterOptions options = Options(1);
    const std::string sockets = folder_.File("sockets_" + flag);
    for (const std::string& more : {std::string("--socket-users"), flag, std::string("--socket-dir"), sockets}) {
      options.worker_flags.push_back(more);
    }
    support::ProcessCluster cluster(options, dataset_.roots);
    ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
    const std::string read = absl::StrCat("read ", dataset_.job.name(), " --steps 20");
    const Outcome outcome = Run(read, "alice", cluster.address(), as_nobody);
    EXPECT_EQ(outcome.code, 0) << outcome.text << cluster.Logs();
    EXPECT_EQ(absl::StrContains(outcome.text, "its rows do not come through shared memory"), flag == "own")
        << outcome.text << cluster.Logs();
  }
}

}  // namespace
}  // namespace penstock::faults
