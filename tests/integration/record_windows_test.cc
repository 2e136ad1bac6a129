// Jobs whose rows are windows of records. The laws of every order hold, served and in this process.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/integration/order_laws.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RecordWindowsTest : public ::testing::TestWithParam<const char*> {
 protected:
  RecordWindowsTest() : dataset_(support::MakeNumberDataset({.shards = 4, .records_per_shard = 50}, folder_.path())) {
    SetSteps(absl::StrCat("select { window { ", GetParam(), " } }"));
    job().mutable_order()->clear_repeats();
    job().mutable_batch()->set_size(4);
    job().mutable_batch()->set_last(v1::PARTIAL);
  }

  v1::JobSpec& job() { return dataset_.job; }
  void SetSteps(const std::string& steps) {
    v1::Dataset parsed;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(steps, &parsed)) << steps;
    *job().mutable_dataset(0)->mutable_select() = parsed.select();
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_P(RecordWindowsTest, AnyNumberOfWorkersGivesTheRowsOfALocalJob) {
  ExpectRowsOfAnyWorkers(dataset_, 2, [](const support::ReadResult& result) {
    std::map<std::pair<int64_t, int64_t>, int> times;  // by the place of a row: shard, number of the row in it
    for (const support::ReadStep& step : result.steps) {
      for (const auto& id : step.ids) ++times[id];
    }
    EXPECT_GT(times.size(), 12u);
    for (const auto& [id, count] : times) EXPECT_EQ(count, 2) << id.first << ", " << id.second;
  });
}

TEST_P(RecordWindowsTest, RanksReadTheirSlicesOfTheSameRows) {
  job().mutable_batch()->set_last(v1::DROP);
  ExpectRanksShareSteps(dataset_, 2);
}

TEST_P(RecordWindowsTest, AResumeAfterEachStepReadsTheRest) { ExpectStatesContinue(dataset_, 1, 7); }

TEST_P(RecordWindowsTest, StepsThatCountKeepWindows) {
  v1::Dataset more;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString("select { skip: 3 } select { every { n: 2 } }", &more));
  for (const v1::Select& step : more.select()) *job().mutable_dataset(0)->add_select() = step;
  ExpectRowsOfAnyWorkers(dataset_, 1, [](const support::ReadResult&) {});
}

INSTANTIATE_TEST_SUITE_P(EachWindow, RecordWindowsTest,
                         ::testing::Values("size: 5 stride: 1 by: 'id // 13' records: 'numbers'", "size: 3 step: 4",
                                           "size: 4 stride: 7"));

class RecordWindowState : public RecordWindowsTest {};

TEST_P(RecordWindowState, OfOtherRowsIsRejected) {
  support::InProcessCluster cluster({}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const support::ReadPlan next = PlanAfterTwoSteps(cluster, job(), 1);
  for (const char* other :
       {"size: 4 stride: 2 step: 2 by: 'id // 20'", "size: 3 stride: 3 step: 2 by: 'id // 20'",
        "size: 3 stride: 2 step: 1 by: 'id // 20'", "size: 3 stride: 2 step: 2 by: 'id // 19'",
        "size: 3 stride: 2 step: 2", "size: 3 stride: 2 step: 2 by: 'id // 20' records: 'numbers'"}) {
    SetSteps(absl::StrCat("select { window { ", other, " } }"));
    ASSERT_TRUE(cluster.control().Submit(job(), true).ok()) << other;
    EXPECT_THAT(support::ReadThrough(cluster.address(), next).status.ToString(), HasSubstr("fingerprint")) << other;
  }
  // Another expression that makes the same rows.
  SetSteps("select { window { size: 3 stride: 2 step: 2 by: '(id + 0) // 20' } }");
  ASSERT_TRUE(cluster.control().Submit(job(), true).ok());
  EXPECT_TRUE(support::ReadThrough(cluster.address(), next).status.ok());
}

TEST_P(RecordWindowState, AWindowLongerThanEachRunFailsTheJobWithTheLongestRun) {
  SetSteps("select { window { size: 6 step: 4 by: 'id // 13' } }");
  const auto reason = AllOf(HasSubstr("dataset[0].select: keeps none of the 200 records in"),
                            HasSubstr("a window reaches over 21 records, and the longest run of one value of `id // "
                                      "13` has 13: give a smaller size or step"));
  EXPECT_THAT(support::PlainDigest(dataset_, job(), 1), reason);
  support::InProcessCluster cluster({}, dataset_.roots);
  EXPECT_THAT(cluster.control().Submit(job()).ToString(), reason);
}

INSTANTIATE_TEST_SUITE_P(OneWindow, RecordWindowState, ::testing::Values("size: 3 stride: 2 step: 2 by: 'id // 20'"));

}  // namespace
}  // namespace penstock::integration
