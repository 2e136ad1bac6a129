// Jobs whose rows are packed from several records. The laws of every order hold, served and in this process.
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

using ::testing::HasSubstr;

class PackingTest : public ::testing::TestWithParam<const char*> {
 protected:
  PackingTest() : dataset_(support::MakeNumberDataset({.shards = 4, .records_per_shard = 50}, folder_.path())) {
    SetPack(GetParam());
    // The values of all records of a row follow each other.
    for (v1::Feature& feature : *job().mutable_features()) feature.set_variable_length(true);
    job().mutable_order()->clear_repeats();
    job().mutable_batch()->set_size(4);
    job().mutable_batch()->set_last(v1::PARTIAL);
  }

  v1::JobSpec& job() { return dataset_.job; }
  void SetPack(const std::string& text) {
    job().mutable_dataset(0)->clear_select();
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(absl::StrCat("pack { features: 'values' ", text, " }"),
                                                              job().mutable_dataset(0)->add_select()))
        << text;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_P(PackingTest, AnyNumberOfWorkersGivesTheRowsOfALocalJob) {
  ExpectRowsOfAnyWorkers(dataset_, 2, [](const support::ReadResult& result) {
    std::map<std::pair<int64_t, int64_t>, int> times;  // by the place of a row: shard, number of the row in it
    for (const support::ReadStep& step : result.steps) {
      for (const auto& id : step.ids) ++times[id];
    }
    EXPECT_GT(times.size(), 20u);
    for (const auto& [id, count] : times) EXPECT_EQ(count, 2) << id.first << ", " << id.second;
  });
}

TEST_P(PackingTest, RanksReadTheirSlicesOfTheSameRows) {
  job().mutable_batch()->set_last(v1::DROP);
  ExpectRanksShareSteps(dataset_, 2);
}

TEST_P(PackingTest, AResumeAfterEachStepReadsTheRest) { ExpectStatesContinue(dataset_, 1, 2); }

INSTANTIATE_TEST_SUITE_P(EachPack, PackingTest,
                         ::testing::Values("length: 16 window: 20 outputs: SEGMENT_IDS outputs: POSITIONS "
                                           "outputs: LENGTHS outputs: RECORDS",
                                           "length: 2 longer: SPLIT", "length: 4 longer: TRUNCATE",
                                           "length: 4 align: 2 longer: TRUNCATE keep: LAST",
                                           "length: 9 concatenate: true overlap: 2"));

class PackState : public PackingTest {};

TEST_P(PackState, OfOtherRowsIsRejected) {
  support::InProcessCluster cluster({}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const support::ReadPlan next = PlanAfterTwoSteps(cluster, job(), 1);
  for (const char* other : {"length: 17", "length: 16 window: 10", "length: 16 concatenate: true",
                            "length: 16 concatenate: true overlap: 1", "length: 16 align: 4"}) {
    SetPack(other);
    ASSERT_TRUE(cluster.control().Submit(job(), true).ok()) << other;
    EXPECT_THAT(support::ReadThrough(cluster.address(), next).status.ToString(), HasSubstr("fingerprint")) << other;
  }
  // The rows are the same, and their columns are not.
  SetPack("length: 16 outputs: LENGTHS");
  ASSERT_TRUE(cluster.control().Submit(job(), true).ok());
  EXPECT_THAT(support::ReadThrough(cluster.address(), next).status.ToString(), HasSubstr("pipeline fingerprint"));
}

INSTANTIATE_TEST_SUITE_P(OnePack, PackState, ::testing::Values("length: 16"));

}  // namespace
}  // namespace penstock::integration
