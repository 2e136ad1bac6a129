// Jobs whose records are in groups: balanced, with weights, sorted, or in batches of similar values. The laws of every
// order hold, served and in this process.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/order_laws.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

using ::testing::HasSubstr;

constexpr int kOfGroupedShard = 25;
constexpr int kGroupedRecords = 4 * kOfGroupedShard;
constexpr int kGroupedBatch = 8;  // of 12 whole batches and a rest of 4 rows in an epoch

class GroupingTest : public ::testing::TestWithParam<const char*> {
 protected:
  GroupingTest()
      : dataset_(support::MakeNumberDataset({.shards = 4, .records_per_shard = kOfGroupedShard}, folder_.path())) {
    SetStep(GetParam());
    job().mutable_order()->clear_repeats();
    job().mutable_batch()->set_size(kGroupedBatch);
    job().mutable_batch()->set_last(v1::PARTIAL);
  }

  v1::JobSpec& job() { return dataset_.job; }
  void SetStep(const std::string& text) {
    job().mutable_dataset(0)->clear_select();
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, job().mutable_dataset(0)->add_select())) << text;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_P(GroupingTest, AnyNumberOfWorkersGivesTheRowsOfALocalJob) {
  ExpectRowsOfAnyWorkers(dataset_, 3, [](const support::ReadResult& result) {
    size_t rows = 0;
    for (const support::ReadStep& step : result.steps) rows += step.ids.size();
    EXPECT_EQ(rows, 3u * kGroupedRecords);
  });
}

TEST_P(GroupingTest, RanksReadTheirSlicesOfTheSameRows) {
  job().mutable_batch()->set_last(v1::DROP);
  ExpectRanksShareSteps(dataset_, 2);
}

TEST_P(GroupingTest, AResumeAfterEachStepReadsTheRest) { ExpectStatesContinue(dataset_, 2, 2); }

TEST_P(GroupingTest, AStateOfAnotherOrderIsRejected) {
  support::InProcessCluster cluster({}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const support::ReadPlan next = PlanAfterTwoSteps(cluster, job(), 1);
  const std::string by = "by: \"id % 25\"";
  for (const std::string& other :
       {absl::StrCat("sort { ", by, " bins: 6 }"), absl::StrCat("sort { ", by, " epochs: 5 }"),
        absl::StrCat("bucket { ", by, " bins: 7 }"), absl::StrCat("bucket { by: \"id % 24\" bins: 6 }"),
        absl::StrCat("bucket { ", by, " bins: 6 budget: 59 }"), absl::StrCat("weights { by: \"id % 3\" }"),
        absl::StrCat("balance { ", by, " }")}) {
    SetStep(other);
    ASSERT_TRUE(cluster.control().Submit(job(), true).ok()) << other;
    EXPECT_THAT(support::ReadThrough(cluster.address(), next).status.ToString(), HasSubstr("order fingerprint"))
        << other;
  }
}

INSTANTIATE_TEST_SUITE_P(EachStep, GroupingTest,
                         ::testing::Values("balance { by: 'id % 25 > 6' power: 0.5 }", "weights { by: 'id % 25 // 9' }",
                                           "sort { by: 'id % 25' bins: 7 epochs: 2 }", "sort { by: '-id' }",
                                           "bucket { by: 'id % 25' bins: 6 }",
                                           "bucket { by: 'id % 25' bins: 6 budget: 100 multiple: 4 }",
                                           "bucket { by: 'id % 25' bounds: 8 bounds: 16 sizes: 8 sizes: 4 sizes: 8 "
                                           "multiple: 4 }"));

TEST(Grouping, AStateOfOtherSizesOfBatchesIsRejected) {
  const support::TempFolder folder;
  support::TestDataset dataset =
      support::MakeNumberDataset({.shards = 4, .records_per_shard = kOfGroupedShard}, folder.path());
  dataset.job.mutable_order()->clear_repeats();
  dataset.job.mutable_batch()->set_size(kGroupedBatch);
  const auto set = [&](const std::string& sizes) {
    dataset.job.mutable_dataset(0)->clear_select();
    const std::string text = absl::StrCat("bucket { by: 'id % 25' ", sizes, " }");
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, dataset.job.mutable_dataset(0)->add_select()))
        << text;
  };
  set("bins: 25 budget: 60 multiple: 2");
  support::InProcessCluster cluster({}, dataset.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset.job).ok());
  support::ReadPlan next = PlanAfterTwoSteps(cluster, dataset.job, 1);
  for (const char* const other :
       {"bins: 25 budget: 80 multiple: 2", "bins: 25 budget: 60 multiple: 1", "bins: 24 budget: 60 multiple: 2",
        "bins: 25 budget: 1200 cost: QUADRATIC multiple: 2", "bounds: 9 sizes: 8 sizes: 4", "bins: 25"}) {
    set(other);
    ASSERT_TRUE(cluster.control().Submit(dataset.job, true).ok()) << other;
    EXPECT_THAT(support::ReadThrough(cluster.address(), next).status.ToString(), HasSubstr("order fingerprint"))
        << other;
  }
}

TEST(Grouping, ABudgetWithoutRoomFailsTheJob) {
  const support::TempFolder folder;
  support::TestDataset dataset =
      support::MakeNumberDataset({.shards = 4, .records_per_shard = kOfGroupedShard}, folder.path());
  dataset.job.mutable_order()->clear_repeats();
  v1::Bucket* const bucket = dataset.job.mutable_dataset(0)->add_select()->mutable_bucket();
  bucket->set_by("id % 25");
  bucket->set_budget(23);
  support::InProcessCluster cluster({}, dataset.roots);
  const absl::Status submitted = cluster.control().Submit(dataset.job);
  EXPECT_THAT(submitted.ToString(), HasSubstr("the budget of 23 has no room for 1 row with the value 24 of `by`"));
}

// The values of the rows show what the steps promise.
TEST(Grouping, RowsFollowTheirValues) {
  const support::TempFolder folder;
  support::TestDataset dataset =
      support::MakeNumberDataset({.shards = 4, .records_per_shard = kOfGroupedShard}, folder.path());
  v1::JobSpec& job = dataset.job;
  job.mutable_order()->clear_repeats();
  job.mutable_batch()->set_size(kGroupedBatch);
  job.mutable_batch()->set_last(v1::PARTIAL);
  const auto values = [&](const std::string& step) {
    job.mutable_dataset(0)->clear_select();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(step, job.mutable_dataset(0)->add_select()));
    support::InProcessCluster cluster({}, dataset.roots);
    EXPECT_TRUE(cluster.control().Submit(job).ok());
    const support::ReadResult result = support::ReadThrough(cluster.address(), support::EpochsOf(job, 2));
    EXPECT_TRUE(result.status.ok()) << result.status;
    std::vector<std::vector<int64_t>> steps;
    for (const support::ReadStep& read : result.steps) {
      std::vector<int64_t>& ids = steps.emplace_back();
      for (const auto& [shard, record] : read.ids) ids.push_back(record);  // id % 25
    }
    return steps;
  };
  // 25 values of 4 records: batches of 8 rows have 2 neighbors, or 3 around the rest.
  std::vector<int64_t> seen(kOfGroupedShard, 0);
  bool descends = false;
  int64_t before = 0;
  for (const std::vector<int64_t>& batch : values("bucket { by: 'id % 25' bins: 25 }")) {
    const auto [least, most] = std::minmax_element(batch.begin(), batch.end());
    EXPECT_LE(*most - *least, 2);
    descends |= *least < before;
    before = *least;
    for (const int64_t value : batch) ++seen[static_cast<size_t>(value)];
  }
  EXPECT_TRUE(descends) << "batches are shuffled";
  EXPECT_THAT(seen, ::testing::Each(8));
  std::fill(seen.begin(), seen.end(), 0);
  std::set<size_t> sizes;
  for (const std::vector<int64_t>& batch : values("bucket { by: 'id % 25' bins: 25 budget: 60 multiple: 2 }")) {
    sizes.insert(batch.size());
    EXPECT_EQ(batch.size() % 2, 0u);
    EXPECT_LE(static_cast<int64_t>(batch.size()) * *std::max_element(batch.begin(), batch.end()), 60);
    for (const int64_t value : batch) ++seen[static_cast<size_t>(value)];
  }
  EXPECT_THAT(sizes, ::testing::ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(seen, ::testing::Each(8));
  std::vector<int64_t> sorted;
  for (const std::vector<int64_t>& batch : values("sort { by: '-(id % 25)' epochs: 1 }")) {
    sorted.insert(sorted.end(), batch.begin(), batch.end());
  }
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.begin() + kGroupedRecords, std::greater<>()));
  EXPECT_FALSE(std::is_sorted(sorted.begin() + kGroupedRecords, sorted.end(), std::greater<>()));
  std::map<int64_t, int> rows;
  for (const std::vector<int64_t>& batch : values("weights { by: 'id % 25 // 9' }")) {
    for (const int64_t value : batch) ++rows[value / 9];
  }
  EXPECT_EQ(rows.count(0), 0u) << "the weight of values up to 8 is 0";
  EXPECT_NEAR(rows[1], 200.0 * 36 / (36 + 2 * 28), 4);
  EXPECT_NEAR(rows[2], 200.0 * 56 / (36 + 2 * 28), 4);
}

}  // namespace
}  // namespace penstock::integration
