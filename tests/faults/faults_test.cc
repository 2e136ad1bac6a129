// Processes that are killed, stopped, drained and restarted while a trainer reads. No row is lost or repeated, the
// digest is the same, and no wait is long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <climits>
#include <thread>

#include "base/file.h"
#include "base/runtime/clock.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::faults {
namespace {

constexpr double kLongestStall = 2;  // seconds, after a crash
constexpr double kNoStall = 1;       // seconds, if a worker joins or leaves in good order

class FaultsTest : public ::testing::Test {
 protected:
  // 6 shards of 80 images in steps of 16: 30 steps an epoch, of which the trainer prefetches 4.
  FaultsTest() : dataset_(support::MakeImageDataset({.shards = 6, .records_per_shard = 80}, folder_.path())) {
    dataset_.job.mutable_batch()->set_size(16);
    expected_ = support::PlainDigest(dataset_, dataset_.job, 2);
  }

  // Two epochs. Calls `at_step` once, after step 15 of the first, and `later` after step 35.
  support::ReadPlan Plan(std::function<void()> at_step, std::function<void()> later = {}) const {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 2;
    plan.options.prefetch_steps = 4;
    plan.after_step = [at_step = std::move(at_step), later = std::move(later)](uint64_t steps) {
      if (steps == 15 && at_step) at_step();
      if (steps == 35 && later) later();
    };
    return plan;
  }
  support::ProcessClusterOptions Workers(int workers) const {
    support::ProcessClusterOptions options;
    options.workers = workers;
    return options;
  }
  void SubmitTo(support::ProcessCluster& cluster, int owners) {
    const absl::Status submitted = cluster.control().Submit(dataset_.job);
    ASSERT_TRUE(submitted.ok()) << submitted << cluster.Logs();
    ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), owners)) << cluster.Logs();
  }
  void ExpectTheSameRows(const support::ReadResult& result, support::ProcessCluster& cluster, double stall) {
    ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
    EXPECT_EQ(result.digest, expected_);
    EXPECT_GT(result.stats.shared_memory_bytes, 0u) << "workers on this host are reached through shared memory";
    EXPECT_TRUE(support::EveryRecordOncePerEpoch(result, dataset_.records, 2));
    EXPECT_LT(result.longest_wait, stall) << cluster.Logs();
    RecordProperty("longest_wait_ms", static_cast<int>(result.longest_wait * 1000));
    std::printf("longest wait %.3f s, %llu rows fetched again\n", result.longest_wait,
                static_cast<unsigned long long>(result.stats.fetched_rows));
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
  std::string expected_;
};

TEST_F(FaultsTest, AKilledWorkerCostsLessThanTwoSeconds) {
  support::ProcessCluster cluster(Workers(3), dataset_.roots);
  SubmitTo(cluster, 3);
  const support::ReadResult result =
      support::ReadThrough(cluster.address(), Plan([&] { cluster.worker(1).process->Signal(SIGKILL); }));
  ExpectTheSameRows(result, cluster, kLongestStall);
}

TEST_F(FaultsTest, AHungWorkerCostsLessThanTwoSeconds) {
  support::ProcessCluster cluster(Workers(3), dataset_.roots);
  SubmitTo(cluster, 3);
  const support::ReadResult result =
      support::ReadThrough(cluster.address(), Plan([&] { cluster.worker(1).process->Signal(SIGSTOP); }));
  ExpectTheSameRows(result, cluster, kLongestStall);
}

TEST_F(FaultsTest, AWorkerThatHangsAndResumesChangesNoRow) {
  support::ProcessCluster cluster(Workers(2), dataset_.roots);
  SubmitTo(cluster, 2);
  const support::ReadResult result = support::ReadThrough(
      cluster.address(),
      Plan([&] { cluster.worker(0).process->Signal(SIGSTOP); }, [&] { cluster.worker(0).process->Signal(SIGCONT); }));
  ExpectTheSameRows(result, cluster, kLongestStall);
}

TEST_F(FaultsTest, AWorkerThatJoinsDuringAnEpochServesWithoutAStall) {
  support::ProcessCluster cluster(Workers(2), dataset_.roots);
  SubmitTo(cluster, 2);
  const support::ReadResult result =
      support::ReadThrough(cluster.address(), Plan([&] {
                             cluster.AddWorker();
                             ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 3));
                           }));
  ExpectTheSameRows(result, cluster, kNoStall);
}

TEST_F(FaultsTest, ADrainedWorkerLeavesWithoutAStall) {
  support::ProcessCluster cluster(Workers(3), dataset_.roots);
  SubmitTo(cluster, 3);
  const support::ReadResult result =
      support::ReadThrough(cluster.address(), Plan([&] { cluster.worker(2).process->Signal(SIGTERM); }));
  ExpectTheSameRows(result, cluster, kNoStall);
  EXPECT_EQ(cluster.worker(2).process->WaitForExit(), 0) << cluster.Logs();
  EXPECT_EQ(result.stats.broken_streams, 0u);
}

TEST_F(FaultsTest, AWorkerDrainedByAnOperatorLeaves) {
  support::ProcessCluster cluster(Workers(2), dataset_.roots);
  SubmitTo(cluster, 2);
  const support::ReadResult result = support::ReadThrough(
      cluster.address(), Plan([&] { EXPECT_TRUE(cluster.control().Drain(cluster.worker(0).id).ok()); }));
  ExpectTheSameRows(result, cluster, kNoStall);
  EXPECT_EQ(cluster.worker(0).process->WaitForExit(), 0) << cluster.Logs();
  EXPECT_TRUE(cluster.control().WaitForState(cluster.worker(0).id, v1::WorkerStatus::LEFT));
}

TEST_F(FaultsTest, TheTrainerContinuesWithoutTheCoordinatorEvenIfAWorkerDies) {
  support::ProcessCluster cluster(Workers(3), dataset_.roots);
  SubmitTo(cluster, 3);
  const support::ReadResult result = support::ReadThrough(
      cluster.address(),
      Plan([&] { cluster.coordinator().Signal(SIGKILL); }, [&] { cluster.worker(0).process->Signal(SIGKILL); }));
  ExpectTheSameRows(result, cluster, kLongestStall);
}

TEST_F(FaultsTest, ARestartedCoordinatorKeepsJobsAndWorkers) {
  support::ProcessCluster cluster(Workers(2), dataset_.roots);
  SubmitTo(cluster, 2);
  const support::ReadResult result =
      support::ReadThrough(cluster.address(), Plan(
                                                  [&] {
                                                    cluster.coordinator().Signal(SIGKILL);
                                                    cluster.RestartCoordinator();
                                                  },
                                                  {}));
  ExpectTheSameRows(result, cluster, kLongestStall);
  EXPECT_TRUE(cluster.control().WaitForLive(2)) << cluster.Logs();
  const support::ReadResult again = support::ReadThrough(cluster.address(), Plan({}));
  ExpectTheSameRows(again, cluster, kLongestStall);
}

TEST_F(FaultsTest, AKilledWorkerServesAgainAfterItsRestart) {
  support::ProcessCluster cluster(Workers(1), dataset_.roots);
  SubmitTo(cluster, 1);
  // It is the only worker: the trainer waits for another.
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan([&] {
                                                            cluster.worker(0).process->Signal(SIGKILL);
                                                            cluster.worker(0).process->WaitForExit();
                                                            cluster.AddWorker();
                                                          }));
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_EQ(result.digest, expected_);
}

// The worker's rows arrive from the worker or from others, a few from both. bench/slow_worker.sh measures the cost.
TEST_F(FaultsTest, AWorkerStoppedForFourFifthsOfTheTimeChangesNoRow) {
  support::ProcessCluster cluster(Workers(3), dataset_.roots);
  SubmitTo(cluster, 3);
  std::atomic<bool> over{false};
  std::thread stutter([&] {
    while (!over) {
      cluster.worker(1).process->Signal(SIGSTOP);
      Clock::Real()->Pause(80 * kMillisecond);
      cluster.worker(1).process->Signal(SIGCONT);
      Clock::Real()->Pause(20 * kMillisecond);
    }
  });
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan({}));
  over = true;
  stutter.join();
  ExpectTheSameRows(result, cluster, kLongestStall);
}

// Workers take long to make the step. The reader waits for it, and does not fetch its rows a second time.
TEST(LargeStepTest, HealthyWorkersMakeALargeStepWithoutFetchesOrDuplicates) {
  support::TempFolder folder;
  support::TestDataset large = support::MakeNumberDataset({.shards = 6, .records_per_shard = 25000}, folder.path());
  large.job.mutable_batch()->set_size(150000);
  support::ProcessClusterOptions options;
  options.workers = 3;
  options.worker_flags = {"--memory-budget", "512MiB"};
  support::ProcessCluster cluster(options, large.roots);
  ASSERT_TRUE(cluster.control().Submit(large.job).ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.control().WaitForOwners(large.job.name(), 3)) << cluster.Logs();
  support::ReadPlan plan;
  plan.options.job = large.job.name();
  plan.options.epochs = 2;
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_EQ(result.stats.fetched_rows, 0u);
  EXPECT_EQ(result.stats.duplicate_rows, 0u);
  EXPECT_TRUE(support::EveryRecordOncePerEpoch(result, large.records, 2));
}

// 256 MiB plus 96 MiB of process for 60 s, scaled down: the budget is far below the trainer's requests.
TEST_F(FaultsTest, ASlowTrainerDoesNotMakeAWorkerExceedItsBudget) {
  constexpr uint64_t kBudget = 64 << 20, kProcess = 96 << 20;
  support::TempFolder folder;
  support::TestDataset large = support::MakeImageDataset(
      {.shards = 2, .records_per_shard = 60, .width = 256, .height = 192, .crop = 224}, folder.path());
  large.job.mutable_batch()->set_size(24);  // 3.6 MB per step
  support::ProcessClusterOptions options = Workers(1);
  options.threads = 2;
  options.worker_flags = {"--memory-budget", "64MiB", "--record-cache", "8MiB"};
  support::ProcessCluster cluster(options, large.roots);
  ASSERT_TRUE(cluster.control().Submit(large.job).ok());
  support::ReadPlan plan;
  plan.options.job = large.job.name();
  plan.options.epochs = 12;  // 216 MB of rows in all
  plan.options.prefetch_steps = 60;
  // The slow trainer works on each step for this time.
  plan.after_step = [](uint64_t) { Clock::Real()->Pause(30 * kMillisecond); };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  const uint64_t peak = cluster.worker(0).process->Memory("VmHWM");
  std::printf("peak %llu MiB\n", static_cast<unsigned long long>(peak >> 20));
  EXPECT_GT(peak, 0u);
  EXPECT_LT(peak, kBudget + kProcess);
}

TEST_F(FaultsTest, ABusyPortAndAUsedStateFolderAreReportedAtStart) {
  support::ProcessCluster cluster(Workers(1), dataset_.roots);
  support::TempFolder scratch;
  const std::string root = "--data-root=" + folder_.path();
  support::Process busy(
      {cluster.worker(0).program, "worker", "--listen", cluster.address(), root, "--state-dir", scratch.File("state")},
      scratch.File("busy"));
  EXPECT_EQ(busy.WaitForExit(), 1);
  EXPECT_THAT(*ReadWholeFile(scratch.File("busy")), ::testing::HasSubstr(cluster.address()));
  support::Process used({cluster.worker(0).program, "worker", root, "--state-dir", cluster.worker(0).state_dir},
                        scratch.File("used"));
  EXPECT_EQ(used.WaitForExit(), 1);
  EXPECT_THAT(*ReadWholeFile(scratch.File("used")), ::testing::HasSubstr(cluster.worker(0).state_dir));
  support::Process usage({cluster.worker(0).program, "worker", "--lisen", "x"}, scratch.File("usage"));
  EXPECT_EQ(usage.WaitForExit(), 2);
  EXPECT_THAT(*ReadWholeFile(scratch.File("usage")), ::testing::HasSubstr("--listen"));
}

}  // namespace
}  // namespace penstock::faults
