// Files and records that change, vanish or break while they are served: reads that continue, and reads that stop with a
// reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "tests/integration/serving_testing.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

using ::testing::HasSubstr;

TEST_F(ServingTest, AChangedFileStopsTheRunAndIsNamed) {
  support::ClusterOptions options;
  options.record_cache_bytes = 0;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  for (const std::string& file : dataset_.files) support::WriteShard(file, {"another record"});
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan(1));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kFailedPrecondition) << result.status;
  EXPECT_THAT(std::string(result.status.message()), HasSubstr("data-0000"));
}

TEST_F(ServingTest, ATouchedDataSetGivesTheSameRows) {
  const std::string expected = support::PlainDigest(dataset_, dataset_.job, 2);
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  support::ReadPlan plan = Plan();
  plan.after_step = [&](uint64_t steps) {
    if (steps % 5 != 0) return;
    for (const std::string& file : dataset_.files) {
      std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::minutes(1));
    }
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, expected);
}

TEST_F(ServingTest, AMissingFileCostsNoRowIfItReturns) {
  const std::string expected = support::PlainDigest(dataset_, dataset_.job, 2);
  support::ClusterOptions options;
  options.workers = 1;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  const std::string& file = dataset_.files[3];
  std::filesystem::rename(file, file + ".away");
  std::thread back([&] {
    // The file returns after the coordinator has the report.
    EXPECT_TRUE(support::WaitUntil([&] {
      const auto status = cluster.control().Status();
      return status.ok() && status->workers(0).load().troubles_size() > 0 &&
             absl::StrContains(status->workers(0).load().troubles(0), file);
    }));
    std::filesystem::rename(file + ".away", file);
  });
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
  back.join();
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, expected);
}

TEST_F(ServingTest, ADamagedRecordIsReportedWithItsStepOrMasked) {
  support::BreakRecord(dataset_.files[2], 7);
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  const support::ReadResult failed = support::ReadThrough(cluster.address(), Plan(1));
  EXPECT_EQ(failed.status.code(), absl::StatusCode::kDataLoss) << failed.status;
  EXPECT_THAT(std::string(failed.status.message()), HasSubstr(dataset_.files[2]));
  EXPECT_THAT(std::string(failed.status.message()), HasSubstr("record 7"));

  v1::JobSpec masks = dataset_.job;
  masks.set_name("masks");
  masks.mutable_errors()->set_policy(v1::MASK);
  ASSERT_TRUE(cluster.control().Submit(masks).ok());
  support::ReadPlan plan = Plan(1);
  plan.options.job = "masks";
  const support::ReadResult masked = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(masked.status.ok()) << masked.status;
  EXPECT_EQ(masked.digest, support::PlainDigest(dataset_, masks, 1));
  EXPECT_EQ(masked.stats.masked_rows, 1u);
}

TEST_F(ServingTest, ASubstitutedRowNamesTheRecordOfItsContent) {
  support::BreakRecord(dataset_.files[2], 7);
  dataset_.job.mutable_errors()->set_policy(v1::SUBSTITUTE);
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan(1));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, support::PlainDigest(dataset_, dataset_.job, 1));
  const std::pair<int64_t, int64_t> broken(2, 7);
  int substituted = 0;
  for (const support::ReadStep& step : result.steps) {
    for (size_t row = 0; row < step.ids.size(); ++row) {
      if (step.ids[row] != broken) {
        EXPECT_EQ(step.sources[row], step.ids[row]);
        continue;
      }
      ++substituted;
      EXPECT_EQ(step.sources[row].first, 2) << "a record of the same shard";
      EXPECT_NE(step.sources[row].second, 7);
      EXPECT_EQ(step.valid[row], 1);
    }
  }
  EXPECT_GE(substituted, 1);
  EXPECT_EQ(result.stats.substituted_rows, static_cast<uint64_t>(substituted));
}

}  // namespace
}  // namespace penstock::integration
