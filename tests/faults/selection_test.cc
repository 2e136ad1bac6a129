// A job that selects records, on real processes: workers that are killed and drained, a coordinator that restarts, and
// copies that are damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::faults {
namespace {

constexpr int kSelectedShards = 6;

class SelectedJob : public ::testing::Test {
 protected:
  SelectedJob()
      : dataset_(support::MakeImageDataset({.shards = kSelectedShards, .records_per_shard = 40}, folder_.path())) {
    v1::JobSpec& job = dataset_.job;
    job.mutable_dataset(0)->add_select()->set_filter("col('image/class/label') % 2 == 0");
    job.mutable_dataset(0)->add_select()->set_filter("hash(col('image/filename')) % 10 < 8");
    job.mutable_dataset(0)->add_select()->mutable_split()->set_to(0.9);
    job.mutable_dataset(0)->add_select()->set_skip(5);
    job.mutable_batch()->set_size(16);
    job.mutable_batch()->set_last(v1::PAD);
    job.mutable_errors()->set_policy(v1::MASK);
    job.mutable_errors()->set_max_bad_fraction(0.9F);
    expected_ = support::PlainDigest(dataset_, job, 3);
  }

  support::ReadPlan Plan() const {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 3;
    plan.options.prefetch_steps = 2;
    plan.timeout = absl::Seconds(90);
    return plan;
  }
  support::TempFolder folder_;
  support::TestDataset dataset_;
  std::string expected_;
};

TEST_F(SelectedJob, KeepsItsRowsWhileWorkersAndTheCoordinatorDie) {
  support::ProcessCluster cluster({.workers = 3}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 3)) << cluster.Logs();
  support::ReadPlan plan = Plan();
  plan.after_step = [&](uint64_t steps) {
    if (steps == 3) cluster.worker(1).process->Signal(SIGKILL);
    if (steps == 6) cluster.RestartCoordinator();
    if (steps == 9) cluster.RestartWorker(1);
    EXPECT_TRUE(steps != 12 || cluster.control().Drain(cluster.worker(0).id).ok());
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_GT(result.steps.size(), 12u);
  EXPECT_EQ(result.digest, expected_);
}

TEST_F(SelectedJob, QuarantinesADamagedRecordByItsNumberInTheFile) {
  support::ProcessCluster cluster({.workers = 2}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 2)) << cluster.Logs();
  const support::ReadResult intact = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(intact.status.ok()) << intact.status << cluster.Logs();
  std::set<std::pair<int64_t, int64_t>> selected;
  for (const support::ReadStep& step : intact.steps) selected.insert(step.ids.begin(), step.ids.end());
  ASSERT_GT(selected.size(), 20u);
  const auto [shard, record] = *std::next(selected.begin(), 15);
  support::BreakRecord(dataset_.files[static_cast<size_t>(shard)], static_cast<uint64_t>(record));
  for (size_t i = 0; i < 2; ++i) cluster.RestartWorker(i);  // without the caches
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 2)) << cluster.Logs();
  const support::ReadResult damaged = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(damaged.status.ok()) << damaged.status << cluster.Logs();
  EXPECT_EQ(damaged.stats.masked_rows, 3u);
  const v1::QuarantineReply reply = cluster.control().Quarantine(dataset_.job.name());
  ASSERT_EQ(reply.entries_size(), 1) << reply.ShortDebugString();
  EXPECT_EQ(reply.entries(0).record(), static_cast<uint64_t>(record));
  EXPECT_EQ(reply.entries(0).path(), absl::StrCat("data-0000", shard));
}

// The new worker has no index of the selection, and the file has another time. If it evaluated the filters again, it
// would leave the damaged record out, and serve nothing of the file.
TEST_F(SelectedJob, ANewWorkerTakesTheSelectionFromTheCoordinatorAlthoughARecordIsDamaged) {
  support::ProcessCluster cluster({.workers = 1}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  support::ReadPlan one = Plan();
  one.max_steps = 1;
  const support::ReadResult first = support::ReadThrough(cluster.address(), one);
  ASSERT_TRUE(first.status.ok()) << first.status << cluster.Logs();
  const auto [shard, record] = first.steps[0].ids[3];
  support::BreakRecord(dataset_.files[static_cast<size_t>(shard)], static_cast<uint64_t>(record));
  cluster.AddWorker();
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 2)) << cluster.Logs();
  ASSERT_TRUE(cluster.control().Drain(cluster.worker(0).id).ok());
  ASSERT_TRUE(cluster.control().WaitForState(cluster.worker(0).id, v1::WorkerStatus::LEFT)) << cluster.Logs();
  const support::ReadResult rest = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(rest.status.ok()) << rest.status << cluster.Logs();
  EXPECT_EQ(rest.stats.masked_rows, 3u);
  EXPECT_EQ(rest.steps[0].ids, first.steps[0].ids);
}

}  // namespace
}  // namespace penstock::faults
