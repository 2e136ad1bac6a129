// Addresses that do not answer, in place of a worker and of the coordinator. Each program names the address within its
// deadline, and a reader with another worker continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/mutex.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/cluster/silent_port.h"

namespace penstock::faults {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class SilentPeersTest : public ::testing::TestWithParam<support::SilentPort::Kind> {
 protected:
  SilentPeersTest() : dataset_(support::MakeImageDataset({.shards = 4, .records_per_shard = 40}, folder_.path())) {
    dataset_.job.mutable_batch()->set_size(16);
  }
  support::ReadPlan Plan() const {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 2;
    plan.options.prefetch_steps = 4;
    return plan;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
  support::SilentPort silent_{GetParam()};
};

TEST_P(SilentPeersTest, AWorkerThatDoesNotAnswerCostsAReaderAtMostTwoSeconds) {
  support::ProcessCluster cluster({.shared_memory = false}, dataset_.roots);
  // The worker serves, registers and sends heartbeats, but no client reaches it at its advertised address.
  cluster.AddWorker({"--advertise", silent_.address()});
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 2)) << cluster.Logs();
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  std::printf("first wait %.3f s, longest wait %.3f s\n", result.first_wait, result.longest_wait);
  EXPECT_LT(result.first_wait, 2.5) << cluster.Logs();
  EXPECT_LT(result.longest_wait, 2) << cluster.Logs();
  EXPECT_EQ(result.digest, support::PlainDigest(dataset_, dataset_.job, 2));
}

TEST_P(SilentPeersTest, AReaderNamesItsOnlyWorkerIfThatDoesNotAnswer) {
  support::ProcessClusterOptions options;
  options.shared_memory = false;  // through shared memory it would answer
  options.worker_flags.insert(options.worker_flags.end(), {"--advertise", silent_.address()});
  support::ProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 1)) << cluster.Logs();
  Mutex mutex;
  std::vector<std::string> said;
  support::ReadPlan plan = Plan();
  plan.timeout = absl::Seconds(4);
  plan.options.on_wait = [&](const std::string& text) {
    MutexLock lock(&mutex);
    said.push_back(text);
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  EXPECT_EQ(result.status.code(), absl::StatusCode::kDeadlineExceeded) << result.status;
  EXPECT_THAT(std::string(result.status.message()), HasSubstr(silent_.address()));
  MutexLock lock(&mutex);
  ASSERT_FALSE(said.empty());
  EXPECT_THAT(said.front(), HasSubstr(silent_.address()));
}

INSTANTIATE_TEST_SUITE_P(All, SilentPeersTest,
                         ::testing::Values(support::SilentPort::Kind::kMute, support::SilentPort::Kind::kBlackHole),
                         [](const ::testing::TestParamInfo<support::SilentPort::Kind>& kind) {
                           return kind.param == support::SilentPort::Kind::kMute ? "Mute" : "BlackHole";
                         });

// At the coordinator's address: both kinds of silence at once.
class SilentCoordinatorTest : public ::testing::Test {
 protected:
  std::string Log(const std::string& name) const { return ReadWholeFile(folder_.File(name)).value_or("(no output)"); }

  const support::SilentPort mute_{support::SilentPort::Kind::kMute}, hole_{support::SilentPort::Kind::kBlackHole};
  const std::vector<std::string> addresses_ = {mute_.address(), hole_.address()};
  support::TempFolder folder_;
};

TEST_F(SilentCoordinatorTest, OpeningAReaderFailsInTimeAndNamesTheAddress) {
  for (const std::string& address : addresses_) {
    const auto start = std::chrono::steady_clock::now();
    ConnectOptions connect;
    connect.coordinator = address;
    connect.open_timeout = absl::Seconds(1.5);
    ReaderOptions options;
    options.job = "any";
    const auto reader = Reader::Open(connect, options);
    EXPECT_EQ(reader.status().code(), absl::StatusCode::kUnavailable) << reader.status();
    EXPECT_THAT(std::string(reader.status().message()), HasSubstr("coordinator " + address));
    EXPECT_LT(Since(start), 3);
  }
}

TEST_F(SilentCoordinatorTest, CommandsFailInTimeAndNameTheAddress) {
  struct Run {
    std::string address, name;
    std::unique_ptr<support::Process> process;
  };
  std::vector<Run> runs;
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& address : addresses_) {
    const std::vector<std::vector<std::string>> commands = {
        {"status"}, {"drain", "some-worker"}, {"read", "any", "--timeout", "8"}};
    for (const std::vector<std::string>& command : commands) {
      std::vector<std::string> arguments = {PENSTOCK};
      arguments.insert(arguments.end(), command.begin(), command.end());
      arguments.insert(arguments.end(), {"--coordinator", address});
      const std::string name = absl::StrCat(command.front(), "-", address);
      runs.push_back({address, name, std::make_unique<support::Process>(arguments, folder_.File(name))});
    }
  }
  for (const Run& run : runs) {
    EXPECT_EQ(run.process->WaitForExit(seconds(15)), 1) << run.name << ": " << Log(run.name);
    EXPECT_THAT(Log(run.name), HasSubstr("coordinator")) << run.name;
    EXPECT_THAT(Log(run.name), HasSubstr(run.address)) << run.name;
  }
  EXPECT_LT(Since(start), 15);
}

TEST_F(SilentCoordinatorTest, AReaderOfAJobFileNamesTheAddressAfterThreeSeconds) {
  const support::TestDataset dataset = support::MakeImageDataset({.shards = 1, .records_per_shard = 8}, folder_.path());
  ASSERT_TRUE(WriteFileAtomically(folder_.File("job.textproto"), dataset.job.DebugString()).ok());
  std::vector<std::unique_ptr<support::Process>> readers;
  for (const std::string& address : addresses_) {
    readers.push_back(std::make_unique<support::Process>(
        std::vector<std::string>{PENSTOCK, "read", folder_.File("job.textproto"), "--coordinator", address},
        folder_.File(address)));
  }
  for (size_t i = 0; i < readers.size(); ++i) {
    const std::string& address = addresses_[i];
    const auto said = [&] { return absl::StrContains(Log(address), "waiting to submit: "); };
    EXPECT_TRUE(support::WaitUntil(said, seconds(8))) << Log(address);
    EXPECT_THAT(Log(address), HasSubstr(address));
    EXPECT_TRUE(readers[i]->running()) << "it waits for --timeout: " << Log(address);
  }
}

TEST_F(SilentCoordinatorTest, AWorkerNamesTheAddressAndEndsInTimeAfterSigterm) {
  std::vector<std::unique_ptr<support::Process>> workers;
  for (const std::string& address : addresses_) {
    workers.push_back(std::make_unique<support::Process>(
        std::vector<std::string>{PENSTOCKD, "worker", "--coordinator", address, "--data-root", folder_.path(),
                                 "--state-dir", folder_.File("state-" + address)},
        folder_.File(address)));
  }
  for (size_t i = 0; i < workers.size(); ++i) {
    const std::string& address = addresses_[i];
    const auto said = [&] { return absl::StrContains(Log(address), "coordinator " + address); };
    EXPECT_TRUE(support::WaitUntil(said, seconds(5))) << Log(address);
    EXPECT_TRUE(workers[i]->running());
    workers[i]->Signal(SIGTERM);
    EXPECT_EQ(workers[i]->WaitForExit(seconds(5)), 0) << Log(address);
  }
}

}  // namespace
}  // namespace penstock::faults
