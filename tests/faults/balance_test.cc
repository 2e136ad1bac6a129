// A job that balances classes, on real processes: a worker that is killed, one that drains, and a coordinator that
// restarts.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::faults {
namespace {

TEST(BalancedJob, KeepsItsRowsWhileWorkersAndTheCoordinatorDie) {
  const support::TempFolder folder;
  support::TestDataset dataset = support::MakeImageDataset({.shards = 6, .records_per_shard = 40}, folder.path());
  dataset.job.mutable_dataset(0)->add_select()->mutable_sample()->set_fraction(0.8);
  v1::Balance* const balance = dataset.job.mutable_dataset(0)->add_select()->mutable_balance();
  balance->set_by("hash(col('image/encoded')) % 23 // (1 + hash(col('image/encoded')) % 5)");  // groups of many sizes
  balance->set_power(0.25);
  dataset.job.mutable_batch()->set_size(8);
  const std::string expected = support::PlainDigest(dataset, dataset.job, 2);
  support::ProcessCluster cluster({.workers = 3}, dataset.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset.job).ok()) << cluster.Logs();
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset.job.name(), 3)) << cluster.Logs();
  support::ReadPlan plan;
  plan.options.job = dataset.job.name();
  plan.options.epochs = 2;
  plan.options.prefetch_steps = 2;
  plan.timeout = absl::Seconds(90);
  plan.after_step = [&](uint64_t steps) {
    if (steps == 3) cluster.worker(1).process->Signal(SIGKILL);
    if (steps == 10) cluster.RestartCoordinator();
    if (steps == 20) cluster.RestartWorker(1);
    EXPECT_TRUE(steps != 25 || cluster.control().Drain(cluster.worker(0).id).ok());
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_GT(result.steps.size(), 30u);
  EXPECT_EQ(result.digest, expected);
}

}  // namespace
}  // namespace penstock::faults
