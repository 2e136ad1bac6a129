// The metrics of a coordinator and of workers that have served a trainer.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/metrics/process_metrics.h"
#include "tests/integration/serving_testing.h"
#include "tests/server/metrics/metrics_text.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

using server::MetricsText;

class MetricsTest : public ServingTest {
 protected:
  // Returns the coordinator's metrics, or "" after a failure.
  static std::string TextOf(coordinator::Coordinator& coordinator) {
    auto taken = std::make_shared<std::promise<absl::StatusOr<coordinator::Coordinator::MetricsText>>>();
    coordinator.CollectMetrics(
        [taken](absl::StatusOr<coordinator::Coordinator::MetricsText> text) { taken->set_value(std::move(text)); });
    const auto text = taken->get_future().get();
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? (*text)() : "";
  }
};

TEST_F(MetricsTest, CountWhatWasServed) {
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  ASSERT_TRUE(cluster.control().WaitForOwners(dataset_.job.name(), 2));
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan(1));
  ASSERT_TRUE(result.status.ok()) << result.status;
  double rows = 0, sent_rows = 0, sent_bytes = 0, indexes = 0;
  for (size_t i = 0; i < 2; ++i) {
    const MetricsText text(cluster.worker(i).Metrics());
    rows += text.Value("penstock_worker_rows_total");
    for (const char* request : {"grant", "fetch"}) {
      sent_rows += text.Value(absl::StrCat("penstock_worker_sent_rows_total{request=\"", request, "\"}"));
    }
    for (const char* carrier : {"shared_memory", "grpc", "grpc_zstd"}) {
      sent_bytes += text.Value(absl::StrCat("penstock_worker_sent_bytes_total{carrier=\"", carrier, "\"}"));
    }
    for (const char* source : {"sidecar", "coordinator", "built"}) {
      indexes += text.Value(absl::StrCat("penstock_worker_indexes_total{source=\"", source, "\"}"));
    }
    EXPECT_EQ(text.Value("penstock_worker_jobs"), 1);
    EXPECT_GT(text.Value("penstock_worker_memory_budget_bytes"), 0);
    EXPECT_GT(text.Value("penstock_worker_folder_size_bytes{folder=\"state\"}"), 0);
    EXPECT_EQ(text.Value("penstock_worker_draining"), 0);
  }
  EXPECT_GE(rows, 200) << "an epoch; the probe and rows ahead come in addition";
  EXPECT_GE(sent_rows, 200);
  EXPECT_GT(sent_bytes, 0);
  EXPECT_GE(indexes, 5) << "the shards";

  const std::string written = TextOf(cluster.coordinator());
  const MetricsText text(written);
  EXPECT_EQ(text.Value("penstock_workers{state=\"live\"}"), 2);
  EXPECT_EQ(text.Value("penstock_workers_wanted"), 1) << "no trainer is left";
  EXPECT_EQ(text.Value("penstock_jobs{state=\"ready\"}"), 1);
  EXPECT_GT(text.Value("penstock_coordinator_commits_total{outcome=\"stored\"}"), 0);
  EXPECT_GT(text.Value("penstock_coordinator_state_size_bytes"), 0);
  EXPECT_EQ(text.Value(absl::StrCat("penstock_trainer_rows_total{job=\"", dataset_.job.name(), "\",rank=\"0\"}")),
            13 * 16)
      << "with the padding; the last report comes with the end of the session";

  // A standalone daemon serves all three texts together: no name is in two of them.
  const MetricsText all(absl::StrCat(server::ProcessMetricsText("standalone"), written, cluster.worker(0).Metrics()));
  EXPECT_GT(all.series(), 100u);
}

}  // namespace
}  // namespace penstock::integration
