// Trainers on a worker's host, as processes: rows are the same with every carrier, and dead processes leave nothing.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/wait_until.h"

namespace penstock::faults {
namespace {

class SameHostTest : public ::testing::Test {
 protected:
  SameHostTest() : dataset_(support::MakeImageDataset({.shards = 3, .records_per_shard = 60}, folder_.path())) {
    dataset_.job.mutable_batch()->set_size(12);
    expected_ = support::PlainDigest(dataset_, dataset_.job, 2);
  }

  void SubmitTo(support::ProcessCluster& cluster) {
    const absl::Status submitted = cluster.control().Submit(dataset_.job);
    ASSERT_TRUE(submitted.ok()) << submitted << cluster.Logs();
  }
  support::ReadResult Read(support::ProcessCluster& cluster) const {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 2;
    support::ReadResult result = support::ReadThrough(cluster.address(), plan);
    EXPECT_TRUE(result.status.ok()) << result.status << cluster.Logs();
    EXPECT_EQ(result.digest, expected_);
    return result;
  }
  // The number of a process's mappings of rings.
  static int Rings(pid_t process) {
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) count += line.find("penstock-rows") != std::string::npos ? 1 : 0;
    return count;
  }
  static int Descriptors(pid_t process) {
    int count = 0;
    const std::filesystem::directory_iterator fds("/proc/" + std::to_string(process) + "/fd");
    for ([[maybe_unused]] const auto& entry : fds) ++count;
    return count;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
  std::string expected_;
};

TEST_F(SameHostTest, RowsAreTheSameThroughSharedMemoryAndOverTheNetwork) {
  for (const bool shared_memory : {true, false}) {
    support::ProcessCluster cluster({.workers = 2, .shared_memory = shared_memory}, dataset_.roots);
    SubmitTo(cluster);
    const support::ReadResult result = Read(cluster);
    EXPECT_EQ(result.stats.shared_memory_bytes, shared_memory ? result.stats.bytes_received : 0);
    EXPECT_GT(result.stats.bytes_received, 0u);
  }
}

TEST_F(SameHostTest, AKilledTrainerLeavesNoResourcesAtTheWorker) {
  support::ProcessCluster cluster({}, dataset_.roots);
  SubmitTo(cluster);
  Read(cluster);
  const pid_t worker = cluster.worker(0).process->pid();
  ASSERT_TRUE(support::WaitUntil([&] { return Rings(worker) == 0; }));
  const int before = Descriptors(worker);
  for (int i = 0; i < 3; ++i) {
    support::Process trainer(
        {PENSTOCK, "read", dataset_.job.name(), "--pace", "50", "--coordinator", cluster.address()},
        folder_.File("log"));
    ASSERT_TRUE(support::WaitUntil([&] { return Rings(worker) == 1; })) << cluster.Logs();
    trainer.Signal(SIGKILL);
    trainer.WaitForExit();
    EXPECT_TRUE(support::WaitUntil([&] { return Rings(worker) == 0; })) << "a ring whose client has died";
  }
  EXPECT_TRUE(support::WaitUntil([&] { return Descriptors(worker) <= before; }))
      << Descriptors(worker) << ", before " << before;
  Read(cluster);
}

TEST_F(SameHostTest, TheNextWorkerRemovesTheSocketOfAKilledOne) {
  support::ProcessCluster cluster({}, dataset_.roots);
  SubmitTo(cluster);
  const auto sockets = [&] {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(cluster.socket_dir())) ++count;
    return count;
  };
  EXPECT_EQ(sockets(), 1);
  cluster.worker(0).process->Signal(SIGKILL);
  cluster.worker(0).process->WaitForExit();
  EXPECT_EQ(sockets(), 1);
  cluster.AddWorker();
  EXPECT_EQ(sockets(), 1);
  Read(cluster);
  cluster.worker(1).process->Signal(SIGTERM);
  EXPECT_EQ(cluster.worker(1).process->WaitForExit(), 0) << cluster.Logs();
  EXPECT_EQ(sockets(), 0);
}

}  // namespace
}  // namespace penstock::faults
