// Storage that no longer answers: a worker still stops within its bound, and readers continue with other workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <climits>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/hanging_files/hanging_files.h"

namespace penstock::faults {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

// docs/operations.md, "Workers come and go": the longest stop, plus a margin for a busy machine.
constexpr double kStopping = 5 + 2;
// The same for a process after SIGTERM: its drain_timeout_ms (here), its last call to the coordinator, and the stop.
constexpr seconds kDraining(1);
constexpr seconds kEnding = kDraining + seconds(2) + seconds(5) + seconds(2);

double Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class HungStorageTest : public ::testing::Test {
 protected:
  HungStorageTest() : dataset_(support::MakeImageDataset({.shards = 4, .records_per_shard = 40}, data_.path())) {
    dataset_.job.mutable_batch()->set_size(16);
  }
  support::ReadPlan Plan(uint64_t epochs) const { return support::EpochsOf(dataset_.job, epochs); }

  support::TempFolder data_, folder_;
  support::TestDataset dataset_;
};

// ---- In this process: the time of Stop -----------------------------------------------------------------------------

class HungWorkerTest : public HungStorageTest {
 protected:
  void Start(int read_threads = 0) {
    support::ClusterOptions options;
    options.workers = 1;
    options.read_threads = read_threads;
    options.record_cache_bytes = 0;
    cluster_.emplace(options, dataset_.roots);
  }
  // Begins to read, until the reader is cancelled or its step takes too long.
  void ReadInBackground(std::function<void(uint64_t)> after_step = {}) {
    reader_ = std::thread([this, after_step] {
      support::ReadPlan plan = Plan(1000);
      plan.timeout = absl::Seconds(2);
      plan.after_step = after_step;
      support::ReadThrough(cluster_->address(), plan).status.IgnoreError();
    });
  }
  // Checks the time until all workers are stopped and destroyed.
  void ExpectStopsInTime() {
    const auto start = std::chrono::steady_clock::now();
    cluster_->StopWorkers();
    EXPECT_LT(Since(start), kStopping);
    std::printf("stopped after %.1f s\n", Since(start));
  }
  ~HungWorkerTest() override {
    if (reader_.joinable()) reader_.join();
  }

  std::optional<support::InProcessCluster> cluster_;
  std::thread reader_;
};

TEST_F(HungWorkerTest, StopIsBoundedWhileRowsAreRead) {
  Start();
  ASSERT_TRUE(cluster_->control().Submit(dataset_.job).ok());
  std::optional<support::HangingFiles> hang;
  ReadInBackground([&](uint64_t steps) {
    if (steps == 5) hang.emplace(data_.path());
  });
  ASSERT_TRUE(support::WaitUntil([] { return support::HangingFiles::hanging() > 0; }));
  ExpectStopsInTime();
  hang.reset();
}

TEST_F(HungWorkerTest, StopIsBoundedWhileRowsAreParked) {
  Start(2);
  ASSERT_TRUE(cluster_->control().Submit(dataset_.job).ok());
  std::optional<support::HangingFiles> hang;
  ReadInBackground([&](uint64_t steps) {
    if (steps == 5) hang.emplace(data_.path());
  });
  ASSERT_TRUE(support::WaitUntil([] { return support::HangingFiles::hanging() > 0; }));
  ExpectStopsInTime();
  hang.reset();
}

TEST_F(HungWorkerTest, StopIsBoundedWhileAShardIsOpened) {
  Start();
  ASSERT_TRUE(cluster_->control().Submit(dataset_.job).ok());
  const support::HangingFiles hang(data_.path());
  ReadInBackground();
  ASSERT_TRUE(support::WaitUntil([] { return support::HangingFiles::hanging() > 0; }));
  ExpectStopsInTime();
}

TEST_F(HungWorkerTest, StopIsBoundedWhileAJobIsPrepared) {
  Start();
  const support::HangingFiles hang(data_.path());
  ASSERT_TRUE(cluster_->control().BeginSubmit(dataset_.job).ok());
  EXPECT_TRUE(support::WaitUntil([] { return support::HangingFiles::hanging() > 0; }));
  ExpectStopsInTime();
}

// ---- Processes -----------------------------------------------------------------------------------------------------

class HungProcessTest : public HungStorageTest {
 protected:
  HungProcessTest() {
    EXPECT_TRUE(
        WriteFileAtomically(folder_.File("worker.textproto"), "worker_settings { drain_timeout_ms: 1000 }\n").ok());
  }
  std::vector<std::string> Flags() const {
    return {"--config", folder_.File("worker.textproto"), "--record-cache", "0"};
  }
  std::vector<std::string> Environment() const {
    return support::HangingFilesEnvironment(HANGING_FILES, data_.path(), trigger_);
  }
  void Hang() { EXPECT_TRUE(WriteFileAtomically(trigger_, "").ok()); }

  void ExpectEndsInTime(support::ProcessCluster& cluster, support::Process& process) {
    const auto start = std::chrono::steady_clock::now();
    process.Signal(SIGTERM);
    EXPECT_EQ(process.WaitForExit(kEnding), 0) << cluster.Logs();
    std::printf("ended after %.1f s\n", Since(start));
  }

  const std::string trigger_ = folder_.File("hang");
};

TEST_F(HungProcessTest, AReaderContinuesWithAnotherWorkerAndTheHungWorkerEndsInTime) {
  support::ProcessCluster cluster(support::ProcessClusterOptions(), dataset_.roots);
  support::ProcessCluster::WorkerProcess& hung = cluster.AddWorker(Flags(), Environment());
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 2)) << cluster.Logs();
  support::ReadPlan plan = Plan(4);
  plan.after_step = [&](uint64_t steps) {
    if (steps == 8) Hang();
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_EQ(result.digest, support::PlainDigest(dataset_, dataset_.job, 4));
  std::printf("longest wait %.3f s\n", result.longest_wait);
  EXPECT_LT(result.longest_wait, 2) << cluster.Logs();
  ExpectEndsInTime(cluster, *hung.process);
  EXPECT_THAT(cluster.Logs(), HasSubstr("storage hangs"));
}

TEST_F(HungProcessTest, AHungWorkerEndsInTimeWhileAReaderWaits) {
  support::ProcessClusterOptions options;
  options.workers = 0;
  support::ProcessCluster cluster(options, dataset_.roots);
  support::ProcessCluster::WorkerProcess& hung = cluster.AddWorker(Flags(), Environment());
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  Hang();
  std::thread reader([&] {
    support::ReadPlan plan = Plan(1);
    plan.timeout = absl::Seconds(5);
    support::ReadThrough(cluster.address(), plan).status.IgnoreError();
  });
  ASSERT_TRUE(support::WaitUntil([&] {
    const auto status = cluster.control().Status();
    return status.ok() && status->workers_size() == 1 && status->workers(0).load().sessions() == 1;
  }));
  ExpectEndsInTime(cluster, *hung.process);
  reader.join();
}

TEST_F(HungProcessTest, AWorkerThatHangsOnItsDataRootsEndsAtOnce) {
  Hang();
  support::ProcessClusterOptions options;
  options.workers = 0;
  support::ProcessCluster cluster(options, dataset_.roots);
  support::Process worker({PENSTOCKD, "worker", "--coordinator", cluster.address(), "--state-dir",
                           folder_.File("state"), "--data-root", data_.path()},
                          folder_.File("log"), Environment());
  // The worker logs nothing before it has its data roots. A second suffices to get there.
  EXPECT_EQ(worker.WaitForExit(seconds(1)), INT_MIN) << "the worker does not hang";
  worker.Signal(SIGTERM);
  EXPECT_EQ(worker.WaitForExit(seconds(2)), 1);
}

}  // namespace
}  // namespace penstock::faults
