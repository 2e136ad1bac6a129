// A job that is read without any daemon, and the same job served: batches, states and outcomes are the same.
#include "client/feed/direct_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/storage/posix_storage.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

using ::testing::HasSubstr;

class DirectReaderTest : public ::testing::Test {
 protected:
  static support::ReadPlan PlanOf(const support::TestDataset& dataset) {
    support::ReadPlan plan;
    plan.options.job = dataset.job.name();
    plan.options.epochs = 2;
    plan.options.prefetch_steps = 4;
    return plan;
  }
  support::ReadResult ReadHere(const support::TestDataset& dataset, const support::ReadPlan& plan) {
    support::ReadResult failed;
    auto job = jobs_.Load(dataset.job, dataset.roots);
    if (!job.ok()) {
      failed.status = job.status();
      return failed;
    }
    auto reader = feed::OpenDirectReader((*jobs_.host())->loader(), *job, plan.options);
    if (reader.ok()) return support::ReadFrom(**reader, plan);
    failed.status = reader.status();
    return failed;
  }
  void ExpectTheSame(const support::TestDataset& dataset, const support::ReadPlan& plan) {
    support::InProcessCluster cluster(TwoWorkers(), dataset.roots);
    ASSERT_TRUE(cluster.control().Submit(dataset.job).ok());
    const support::ReadResult served = support::ReadThrough(cluster.address(), plan), here = ReadHere(dataset, plan);
    ASSERT_TRUE(served.status.ok()) << served.status;
    ASSERT_TRUE(here.status.ok()) << here.status;
    EXPECT_EQ(here.digest, served.digest);
    EXPECT_EQ(here.state, served.state);
    EXPECT_EQ(here.stats.masked_rows, served.stats.masked_rows);
    EXPECT_EQ(here.stats.substituted_rows, served.stats.substituted_rows);
    ASSERT_EQ(here.steps.size(), served.steps.size());
    for (size_t i = 0; i < here.steps.size(); ++i) {
      EXPECT_EQ(here.steps[i].ids, served.steps[i].ids);
      EXPECT_EQ(here.steps[i].sources, served.steps[i].sources);
      EXPECT_EQ(here.steps[i].valid, served.steps[i].valid);
    }
  }
  static support::ClusterOptions TwoWorkers() {
    support::ClusterOptions options;
    options.workers = 2;
    return options;
  }

  support::TempFolder folder_;
  feed::LocalJobs jobs_{{.host = {.storage = storage::LocalFiles()}}};
};

TEST_F(DirectReaderTest, ServedImagesWithPaddingAreTheSame) {
  support::TestDataset dataset = support::MakeImageDataset({.shards = 3, .records_per_shard = 25}, folder_.path());
  dataset.job.mutable_batch()->set_last(v1::PAD);
  ExpectTheSame(dataset, PlanOf(dataset));
}

TEST_F(DirectReaderTest, ServedRaggedNumbersAndStringsAreTheSame) {
  const support::TestDataset dataset = support::MakeNumberDataset({}, folder_.path());
  ExpectTheSame(dataset, PlanOf(dataset));
}

TEST_F(DirectReaderTest, ServedBoxesAndMasksAreTheSame) {
  const support::TestDataset dataset = support::MakeDetectionDataset(folder_.path());
  ExpectTheSame(dataset, PlanOf(dataset));
}

TEST_F(DirectReaderTest, ServedMixedRowsAreTheSame) {
  support::TestDataset dataset = support::MakeImageDataset({.shards = 3, .records_per_shard = 25}, folder_.path());
  v1::Mix& mix = *dataset.job.mutable_mix();
  mix.set_mixup_alpha(0.4f);
  mix.set_cutmix_alpha(1);
  mix.set_classes(10);
  dataset.job.mutable_batch()->set_last(v1::PAD);
  ExpectTheSame(dataset, PlanOf(dataset));
}

TEST_F(DirectReaderTest, ARankThatContinuesAtAnotherBatchSizeReadsTheSameRows) {
  support::TestDataset dataset = support::MakeImageDataset({.shards = 3, .records_per_shard = 25}, folder_.path());
  support::ReadPlan plan = PlanOf(dataset);
  plan.max_steps = 4;
  const support::ReadResult begun = ReadHere(dataset, plan);
  ASSERT_TRUE(begun.status.ok()) << begun.status;
  plan.max_steps = UINT64_MAX;
  plan.options.state = begun.state;
  plan.options.batch_size = 12;
  plan.options.rank = 1;
  plan.options.world_size = 2;
  ExpectTheSame(dataset, plan);
}

TEST_F(DirectReaderTest, ServedBadRecordsHaveTheSameOutcomeUnderEachPolicy) {
  support::TestDataset dataset = support::MakeImageDataset({.shards = 3, .records_per_shard = 25}, folder_.path());
  support::BreakRecord(dataset.files[0], 3);
  support::BreakRecord(dataset.files[2], 20);
  dataset.job.mutable_errors()->set_max_bad_fraction(0.1f);
  for (const v1::ErrorPolicy policy : {v1::MASK, v1::SUBSTITUTE}) {
    dataset.job.mutable_errors()->set_policy(policy);
    ExpectTheSame(dataset, PlanOf(dataset));
  }
  dataset.job.mutable_errors()->set_max_bad_fraction(0.02f);  // one of 75
  EXPECT_THAT(ReadHere(dataset, PlanOf(dataset)).status.message(), HasSubstr("max_bad_fraction"));
  dataset.job.mutable_errors()->set_policy(v1::FAIL);
  const support::ReadResult failed = ReadHere(dataset, PlanOf(dataset));
  EXPECT_EQ(failed.status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(failed.status.message(), HasSubstr("record"));
}

TEST_F(DirectReaderTest, AStateOfAnotherJobIsRejected) {
  const support::TestDataset dataset =
      support::MakeImageDataset({.shards = 3, .records_per_shard = 25}, folder_.path());
  support::ReadPlan plan = PlanOf(dataset);
  plan.max_steps = 1;
  plan.options.state = ReadHere(dataset, plan).state;
  support::TestDataset other = dataset;
  other.job.mutable_order()->set_seed(18);
  EXPECT_EQ(ReadHere(other, plan).status.code(), absl::StatusCode::kFailedPrecondition);
  plan.options.state = "nonsense";
  EXPECT_EQ(ReadHere(dataset, plan).status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock::integration
