// Rows over several connections of one stream, between processes.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>

#include "absl/strings/match.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::faults {
namespace {

constexpr char kSeveral[] = "rows go by grpc x";  // in the log of workers that use further connections

class ConnectionsTest : public ::testing::Test {
 protected:
  ConnectionsTest() : dataset_(support::MakeImageDataset({.shards = 4, .records_per_shard = 16}, folder_.path())) {
    // Repeats the same rows from the cache, so that many bytes pass.
    dataset_.job.clear_ops();
    dataset_.job.add_ops()->mutable_decode_image()->set_channels(v1::DecodeImage::RGB);
    v1::Resize* resize = dataset_.job.add_ops()->mutable_resize();
    resize->set_height(224);
    resize->set_width(224);
  }

  support::ReadPlan Plan() const {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 1'000'000;
    return plan;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_F(ConnectionsTest, AWorkerKilledDuringSendsOverSeveralConnectionsCostsNoRow) {
  support::ProcessCluster cluster({.workers = 2,
                                   .worker_flags = {"--memory-budget", "256MiB", "--row-cache", "64MiB",
                                                    "--wire-compression", "off", "--wire-connections", "3"},
                                   .shared_memory = false},
                                  dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok()) << cluster.Logs();
  const auto begun = std::chrono::steady_clock::now();
  uint64_t asked = 0, killed_at = 0;
  support::ReadPlan plan = Plan();
  plan.until = [&] {
    if (++asked % 200 != 0) return false;
    if (std::chrono::steady_clock::now() - begun > std::chrono::seconds(120)) return true;
    if (killed_at > 0) return asked >= killed_at + 500;
    if (absl::StrContains(cluster.Logs(), kSeveral)) {
      cluster.worker(0).process->Signal(SIGKILL);
      killed_at = asked;
    }
    return false;
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  ASSERT_GT(killed_at, 0u) << "no worker used further connections" << cluster.Logs();

  support::ProcessCluster one({.worker_flags = {"--memory-budget", "256MiB", "--row-cache", "64MiB"}}, dataset_.roots);
  ASSERT_TRUE(one.control().Submit(dataset_.job).ok()) << one.Logs();
  support::ReadPlan same = Plan();
  same.max_steps = result.steps.size();
  const support::ReadResult expected = support::ReadThrough(one.address(), same);
  ASSERT_TRUE(expected.status.ok()) << expected.status << one.Logs();
  EXPECT_EQ(result.digest, expected.digest);
}

}  // namespace
}  // namespace penstock::faults
