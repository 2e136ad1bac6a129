// Jobs whose longer records are cut at a place that each row draws. The laws of every order hold, served and in this
// process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/integration/order_laws.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

class PaddingTest : public ::testing::Test {
 protected:
  PaddingTest() : dataset_(support::MakeNumberDataset({.shards = 4, .records_per_shard = 50}, folder_.path())) {
    for (v1::Feature& feature : *dataset_.job.mutable_features()) {
      if (feature.key() != "values") continue;
      feature.mutable_pad()->set_length(2);
      feature.mutable_pad()->set_truncate(true);
      feature.mutable_pad()->set_keep(v1::PadTo::RANDOM);
    }
    dataset_.job.mutable_batch()->set_size(4);
    dataset_.job.mutable_batch()->set_last(v1::DROP);
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_F(PaddingTest, AnyNumberOfWorkersGivesTheRowsOfALocalJob) {
  ExpectRowsOfAnyWorkers(dataset_, 2, [](const support::ReadResult& result) { EXPECT_GT(result.steps.size(), 50u); });
}

TEST_F(PaddingTest, RanksReadTheirSlicesOfTheSameRows) { ExpectRanksShareSteps(dataset_, 2); }

TEST_F(PaddingTest, AResumeAfterEachStepReadsTheRest) { ExpectStatesContinue(dataset_, 1, 2); }

TEST_F(PaddingTest, AStateOfOtherValuesIsRejected) {
  support::InProcessCluster cluster({}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset_.job).ok());
  const support::ReadPlan next = PlanAfterTwoSteps(cluster, dataset_.job, 1);
  for (v1::Feature& feature : *dataset_.job.mutable_features()) {
    if (feature.has_pad()) feature.mutable_pad()->set_keep(v1::PadTo::LAST);
  }
  ASSERT_TRUE(cluster.control().Submit(dataset_.job, true).ok());
  EXPECT_THAT(support::ReadThrough(cluster.address(), next).status.ToString(),
              ::testing::HasSubstr("pipeline fingerprint"));
}

}  // namespace
}  // namespace penstock::integration
