// Jobs whose batch size changes after rows of the run. The laws of every order hold, served and in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/integration/order_laws.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kRecords = 100;

// 8 rows; inside of the first epoch 20; from the second epoch on 12; in its midst 4 and then 28.
class BatchSizes : public ::testing::Test {
 protected:
  BatchSizes() : dataset_(support::MakeNumberDataset({.shards = 4, .records_per_shard = 25}, folder_.path())) {
    job().mutable_order()->clear_repeats();
    job().mutable_batch()->set_size(8);
    job().mutable_batch()->set_last(v1::DROP);
    Change(30, 20);
    Change(kRecords, 12);
    Change(kRecords + 31, 4);
    Change(kRecords + 50, 28);
  }

  v1::JobSpec& job() { return dataset_.job; }
  void Change(uint64_t at_rows, uint32_t size) {
    v1::BatchChange* const change = job().mutable_batch()->add_change();
    change->set_at_rows(at_rows);
    change->set_size(size);
  }
  static std::vector<uint64_t> Sizes(const support::ReadResult& result) {
    std::vector<uint64_t> sizes;
    for (const support::ReadStep& step : result.steps) sizes.push_back(step.ids.size());
    return sizes;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_F(BatchSizes, AnyNumberOfWorkersGivesTheRowsOfALocalJob) {
  for (const v1::LastBatch last : {v1::DROP, v1::PAD, v1::PARTIAL}) {
    job().mutable_batch()->set_last(last);
    SCOPED_TRACE(v1::LastBatch_Name(last));
    ExpectRowsOfAnyWorkers(dataset_, 3, [&](const support::ReadResult& result) {
      const std::vector<uint64_t> sizes = Sizes(result);
      if (last == v1::DROP) {
        EXPECT_THAT(sizes, ElementsAre(8, 8, 8, 8, 20, 20, 20, 12, 12, 12, 4, 4, 4, 4, 28, 28, 28, 28));
      } else if (last == v1::PARTIAL) {
        EXPECT_THAT(sizes, ElementsAre(8, 8, 8, 8, 20, 20, 20, 8, 12, 12, 12, 4, 4, 4, 4, 28, 20, 28, 28, 28, 16));
      }
    });
  }
}

TEST_F(BatchSizes, RanksReadTheirSlicesOfTheSameRows) { ExpectRanksShareSteps(dataset_, 3); }

TEST_F(BatchSizes, ByRank) {
  job().mutable_assignment()->set_policy(v1::BY_RANK);
  ExpectRanksShareSteps(dataset_, 3);
}

// By rank, larger steps may have rows of workers that own nothing of smaller ones.
TEST_F(BatchSizes, WorkersOfLaterSizesGetTheirGrants) {
  job().mutable_assignment()->set_policy(v1::BY_RANK);
  job().mutable_batch()->set_size(2);
  job().mutable_batch()->clear_change();
  Change(90, 8);
  support::ClusterOptions options;
  options.workers = 5;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  ASSERT_TRUE(cluster.control().WaitForOwners(job().name(), 5));
  const support::ReadResult result = support::ReadThrough(cluster.address(), support::EpochsOf(job(), 1));
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, support::PlainDigest(dataset_, job(), 1));
  EXPECT_EQ(Sizes(result).size(), 46u);
}

TEST_F(BatchSizes, AResumeAfterEachStepReadsTheRest) { ExpectStatesContinue(dataset_, 3, 1); }

TEST_F(BatchSizes, AReaderMayReadWithASizeOfItsOwn) {
  support::InProcessCluster cluster({}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  support::ReadPlan plan = support::EpochsOf(job(), 2);
  plan.options.batch_size = 50;
  EXPECT_THAT(Sizes(support::ReadThrough(cluster.address(), plan)), ElementsAre(50, 50, 50, 50));
  // A state of such a run continues with the job's sizes, by the rows that the run had.
  plan.max_steps = 3;
  const support::ReadResult before = support::ReadThrough(cluster.address(), plan);
  support::ReadPlan next = support::EpochsOf(job(), 2);
  next.options.state = before.state;
  EXPECT_THAT(Sizes(support::ReadThrough(cluster.address(), next)), ElementsAre(28, 28, 28, 28));
}

TEST_F(BatchSizes, AWorldThatDoesNotDivideALaterSizeIsRefused) {
  support::InProcessCluster cluster({}, dataset_.roots);
  job().mutable_batch()->mutable_change(1)->set_size(18);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  support::ReadPlan plan = support::EpochsOf(job(), 1);
  plan.options.world_size = 4;
  EXPECT_THAT(
      support::ReadThrough(cluster.address(), plan).status.ToString(),
      HasSubstr("a global batch of 18 rows cannot be divided among 4 ranks; choose a batch.change[1].size that"));
  job().set_name("larger");
  job().mutable_batch()->mutable_change(2)->set_size(kRecords + 1);
  EXPECT_THAT(cluster.control().Submit(job()).ToString(), HasSubstr("a smaller batch.change[2].size"));
}

}  // namespace
}  // namespace penstock::integration
