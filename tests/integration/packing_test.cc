// Jobs whose rows are packed from several records. The laws of every order hold, served and in this process.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/plain_rows.h"

namespace penstock::integration {
namespace {

using ::testing::HasSubstr;

// The place of each row: shard, number of the row in it.
using PackedIds = std::vector<std::pair<int64_t, int64_t>>;

PackedIds PackedIdsOf(const support::ReadResult& result) {
  PackedIds all;
  for (const support::ReadStep& step : result.steps) all.insert(all.end(), step.ids.begin(), step.ids.end());
  return all;
}

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
  support::ReadPlan Plan(uint64_t epochs) const { return support::EpochsOf(dataset_.job, epochs); }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_P(PackingTest, AnyNumberOfWorkersGivesTheRowsOfALocalJob) {
  const std::string expected = support::PlainDigest(dataset_, job(), 2);
  for (const int workers : {1, 2, 5}) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    support::ClusterOptions options;
    options.workers = workers;
    support::InProcessCluster cluster(options, dataset_.roots);
    ASSERT_TRUE(cluster.control().Submit(job()).ok());
    ASSERT_TRUE(cluster.control().WaitForOwners(job().name(), workers));
    const support::ReadResult result = support::ReadThrough(cluster.address(), Plan(2));
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.digest, expected);
    std::map<std::pair<int64_t, int64_t>, int> times;
    for (const auto& id : PackedIdsOf(result)) ++times[id];
    for (const auto& [id, count] : times) EXPECT_EQ(count, 2) << id.first << ", " << id.second;
  }
}

TEST_P(PackingTest, RanksReadTheirSlicesOfTheSameRows) {
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset_.roots);
  job().mutable_batch()->set_last(v1::DROP);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const support::ReadResult whole = support::ReadThrough(cluster.address(), Plan(2));
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  for (const uint32_t ranks : {2u, 4u}) {
    std::vector<PackedIds> steps(whole.steps.size());
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      support::ReadPlan plan = Plan(2);
      plan.options.rank = rank;
      plan.options.world_size = ranks;
      const support::ReadResult slice = support::ReadThrough(cluster.address(), plan);
      ASSERT_EQ(slice.steps.size(), steps.size());
      for (size_t i = 0; i < steps.size(); ++i) {
        steps[i].insert(steps[i].end(), slice.steps[i].ids.begin(), slice.steps[i].ids.end());
      }
    }
    for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], whole.steps[i].ids) << ranks << " ranks, step " << i;
  }
}

TEST_P(PackingTest, AResumeAfterEachStepReadsTheRest) {
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const support::ReadResult all = support::ReadThrough(cluster.address(), Plan(1));
  const PackedIds whole = PackedIdsOf(all);
  for (uint64_t steps = 1; steps < all.steps.size(); steps += 2) {
    support::ReadPlan first = Plan(1), second = Plan(1);
    first.max_steps = steps;
    const support::ReadResult begun = support::ReadThrough(cluster.address(), first);
    second.options.state = begun.state;
    second.max_steps = all.steps.size() - steps;
    PackedIds rows = PackedIdsOf(begun);
    const PackedIds rest = PackedIdsOf(support::ReadThrough(cluster.address(), second));
    rows.insert(rows.end(), rest.begin(), rest.end());
    EXPECT_EQ(rows, whole) << "after " << steps << " steps";
  }
}

INSTANTIATE_TEST_SUITE_P(EachPack, PackingTest,
                         ::testing::Values("length: 16 window: 20 outputs: SEGMENT_IDS outputs: POSITIONS "
                                           "outputs: LENGTHS outputs: RECORDS",
                                           "length: 2 longer: SPLIT", "length: 4 longer: TRUNCATE",
                                           "length: 9 concatenate: true overlap: 2"));

class PackState : public PackingTest {};

TEST_P(PackState, OfOtherRowsIsRejected) {
  support::InProcessCluster cluster({}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  support::ReadPlan plan = Plan(1);
  plan.max_steps = 2;
  support::ReadPlan next = Plan(1);
  next.options.state = support::ReadThrough(cluster.address(), plan).state;
  ASSERT_TRUE(support::ReadThrough(cluster.address(), next).status.ok());
  for (const char* other : {"length: 17", "length: 16 window: 10", "length: 16 concatenate: true",
                            "length: 16 concatenate: true overlap: 1"}) {
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
