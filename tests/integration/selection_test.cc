// Jobs that select records, served and in this process: the rows are those of the selected records alone, with the
// numbers that they have in their files.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/order_laws.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

using ::testing::HasSubstr;

constexpr int kFiles = 5, kInEachFile = 30;

// The selection, as a loop over the records' numbers in the data set.
bool Selected(uint64_t id) { return id % 3 != 1 && id >= 7; }

class SelectionTest : public ::testing::Test {
 protected:
  SelectionTest()
      : dataset_(support::MakeNumberDataset({.shards = kFiles, .records_per_shard = kInEachFile}, folder_.path())) {
    job().mutable_dataset(0)->add_select()->set_filter("id % 3 != 1");
    job().mutable_dataset(0)->add_select()->set_filter("weight >= 0.875 and has(name)");
    job().mutable_batch()->set_last(v1::PAD);
    for (uint64_t id = 0; id < dataset_.records; ++id) {
      if (Selected(id)) selected_.emplace(id / kInEachFile, id % kInEachFile);
    }
  }

  v1::JobSpec& job() { return dataset_.job; }
  support::ReadPlan Plan(uint64_t epochs = 2) const { return support::EpochsOf(dataset_.job, epochs); }
  support::ReadResult ReadOn(int workers) {
    support::ClusterOptions options;
    options.workers = workers;
    support::InProcessCluster cluster(options, dataset_.roots);
    const absl::Status submitted = cluster.control().Submit(job());
    EXPECT_TRUE(submitted.ok()) << submitted;
    EXPECT_TRUE(cluster.control().WaitForOwners(job().name(), workers));
    return support::ReadThrough(cluster.address(), Plan());
  }
  // Expects each selected record, by its number in its file, exactly once in each epoch.
  void ExpectSelected(const support::ReadResult& result, uint64_t epochs = 2) {
    ASSERT_TRUE(result.status.ok()) << result.status;
    std::vector<std::multiset<std::pair<int64_t, int64_t>>> read(epochs);
    for (const support::ReadStep& step : result.steps) {
      for (size_t row = 0; row < step.ids.size(); ++row) {
        if (step.valid[row] != 0) read.at(step.epoch).insert(step.ids[row]);
      }
    }
    for (const auto& epoch : read) {
      EXPECT_EQ(epoch, (std::multiset<std::pair<int64_t, int64_t>>(selected_.begin(), selected_.end())));
    }
  }

  // Expects the selected records, with the bytes of a local job, from 1, 2 and 5 workers.
  void ExpectTheRowsOfALocalJob() {
    ExpectRowsOfAnyWorkers(dataset_, 2, [this](const support::ReadResult& result) { ExpectSelected(result); });
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
  std::set<std::pair<int64_t, int64_t>> selected_;
};

TEST_F(SelectionTest, AnyNumberOfWorkersGivesTheRowsOfALocalJob) { ExpectTheRowsOfALocalJob(); }

// Filters, and then steps that count through all files.
TEST_F(SelectionTest, StepsThatCountKeepTheSameRecordsOnAnyNumberOfWorkers) {
  job().mutable_dataset(0)->add_select()->set_skip(11);
  job().mutable_dataset(0)->add_select()->mutable_every()->set_n(3);
  job().mutable_dataset(0)->add_select()->set_take(19);
  std::set<std::pair<int64_t, int64_t>> kept;
  size_t position = 0;
  for (const auto& id : selected_) {
    if (position >= 11 && (position - 11) % 3 == 0 && kept.size() < 19) kept.insert(id);
    ++position;
  }
  selected_ = kept;
  ASSERT_EQ(selected_.size(), 19u);
  ExpectTheRowsOfALocalJob();
}

TEST_F(SelectionTest, ASplitForTrainingAndOneForValidationShareNoRecord) {
  const auto all = selected_;
  std::set<std::pair<int64_t, int64_t>> read;
  size_t rows = 0;
  for (const double from : {0.0, 0.8}) {
    v1::Split* const split = job().mutable_dataset(0)->mutable_select(0)->mutable_split();
    split->set_from(from);
    split->set_to(from == 0 ? 0.8 : 1);
    const support::ReadResult result = ReadOn(2);
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.digest, support::PlainDigest(dataset_, job(), 2));
    for (const support::ReadStep& step : result.steps) {
      for (size_t row = 0; row < step.ids.size(); ++row) {
        if (step.epoch > 0 || step.valid[row] == 0) continue;
        read.insert(step.ids[row]);
        ++rows;
      }
    }
  }
  EXPECT_EQ(rows, read.size());
  EXPECT_TRUE(std::includes(read.begin(), read.end(), all.begin(), all.end()));
}

TEST_F(SelectionTest, AStateOfAnotherSplitOrSampleIsRejected) {
  const auto steps = [](const std::string& text) {
    v1::Dataset dataset;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &dataset)) << text;
    return dataset.select();
  };
  *job().mutable_dataset(0)->mutable_select() =
      steps("select { split { of: 'id' from: 0.1 to: 0.8 seed: 1 } } select { sample { fraction: 0.8 seed: 1 } }");
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const support::ReadPlan second = PlanAfterTwoSteps(cluster, job(), 2);
  for (const char* other :
       {"select { split { of: 'id + 1' from: 0.1 to: 0.8 seed: 1 } } select { sample { fraction: 0.8 seed: 1 } }",
        "select { split { from: 0.1 to: 0.8 seed: 1 } } select { sample { fraction: 0.8 seed: 1 } }",
        "select { split { of: 'id' to: 0.8 seed: 1 } } select { sample { fraction: 0.8 seed: 1 } }",
        "select { split { of: 'id' from: 0.1 seed: 1 } } select { sample { fraction: 0.8 seed: 1 } }",
        "select { split { of: 'id' from: 0.1 to: 0.8 seed: 2 } } select { sample { fraction: 0.8 seed: 1 } }",
        "select { split { of: 'id' from: 0.1 to: 0.8 seed: 1 } } select { sample { fraction: 0.5 seed: 1 } }",
        "select { split { of: 'id' from: 0.1 to: 0.8 seed: 1 } } select { sample { fraction: 0.8 } }"}) {
    *job().mutable_dataset(0)->mutable_select() = steps(other);
    ASSERT_TRUE(cluster.control().Submit(job(), true).ok());
    const absl::Status resumed = support::ReadThrough(cluster.address(), second).status;
    EXPECT_TRUE(absl::IsFailedPrecondition(resumed)) << other << "\n" << resumed;
  }
}

TEST_F(SelectionTest, AStateOfAnotherSliceIsRejected) {
  job().mutable_dataset(0)->add_select()->set_take(40);
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const support::ReadPlan second = PlanAfterTwoSteps(cluster, job(), 2);
  v1::Select* const step = job().mutable_dataset(0)->mutable_select(2);
  step->mutable_range()->set_to(40);
  ASSERT_TRUE(cluster.control().Submit(job(), true).ok());
  EXPECT_TRUE(support::ReadThrough(cluster.address(), second).status.ok()) << "the same records";
  for (int change = 0; change < 3; ++change) {
    SCOPED_TRACE(change);
    if (change == 0) step->set_take(39);
    if (change == 1) {
      step->mutable_range()->set_from(1);
      step->mutable_range()->set_to(41);
    }
    if (change == 2) step->mutable_every()->set_n(2);
    ASSERT_TRUE(cluster.control().Submit(job(), true).ok());
    const absl::Status other = support::ReadThrough(cluster.address(), second).status;
    EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  }
}

TEST_F(SelectionTest, ATakeOfMoreRecordsChangesNothing) {
  const std::string expected = support::PlainDigest(dataset_, job(), 2);
  job().mutable_dataset(0)->add_select()->set_take(1000);
  EXPECT_EQ(support::PlainDigest(dataset_, job(), 2), expected);
  EXPECT_EQ(ReadOn(2).digest, expected);
  job().mutable_dataset(0)->mutable_select(2)->set_skip(1000);
  EXPECT_THAT(support::PlainDigest(dataset_, job(), 1), HasSubstr("keeps none of the 150 records in 5 files"));
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  EXPECT_THAT(cluster.control().Submit(job()).ToString(), HasSubstr("keeps none of the 150 records in the 5 files"));
}

TEST_F(SelectionTest, TheOrderIsThatOfADataSetWithOnlyTheSelectedRecords) {
  for (const auto shuffle : {v1::Order::NONE, v1::Order::CHUNKED, v1::Order::FULL}) {
    job().mutable_order()->set_shuffle(shuffle);
    const auto selected = support::OpenJob(job(), dataset_.roots);
    ASSERT_TRUE(selected.ok()) << selected.status();
    const plan::EpochOrder plan = (*selected)->PlanOf(3);
    std::vector<uint64_t> counts;
    for (int shard = 0; shard < kFiles; ++shard) {
      counts.push_back(static_cast<uint64_t>(
          std::count_if(selected_.begin(), selected_.end(), [&](const auto& id) { return id.first == shard; })));
    }
    const auto alone = plan::EpochPlan::Create(*plan::ShardOffsets::Create(counts), (*selected)->plan_options(), 3);
    ASSERT_EQ(plan.num_positions(), alone->num_positions());
    for (uint64_t p = 0; p < plan.num_positions(); ++p) ASSERT_EQ(plan.RecordAt(p), alone->RecordAt(p));
  }
}

TEST_F(SelectionTest, RanksShareEachStep) { ExpectRanksShareSteps(dataset_, 2); }

TEST_F(SelectionTest, AStateContinuesAtEachStep) { ExpectStatesContinue(dataset_, 1, 1); }

TEST_F(SelectionTest, AStateOfOtherRecordsIsRejectedAndOneOfTheSameRecordsContinues) {
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const support::ReadPlan second = PlanAfterTwoSteps(cluster, job(), 2);

  job().mutable_dataset(0)->mutable_select(0)->set_filter("not (id % 3 == 1)");
  ASSERT_TRUE(cluster.control().Submit(job(), true).ok());
  EXPECT_TRUE(support::ReadThrough(cluster.address(), second).status.ok()) << "another text, the same records";

  job().mutable_dataset(0)->mutable_select(0)->set_filter("id % 3 != 2");
  ASSERT_TRUE(cluster.control().Submit(job(), true).ok());
  const absl::Status other = support::ReadThrough(cluster.address(), second).status;
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("order"));

  job().mutable_dataset(0)->clear_select();
  ASSERT_TRUE(cluster.control().Submit(job(), true).ok());
  EXPECT_FALSE(support::ReadThrough(cluster.address(), second).status.ok());
}

TEST_F(SelectionTest, AFilterThatKeepsAllRecordsChangesNothing) {
  job().mutable_dataset(0)->clear_select();
  const std::string expected = support::PlainDigest(dataset_, job(), 2);
  job().mutable_dataset(0)->add_select()->set_filter("id >= 0");
  EXPECT_EQ(support::PlainDigest(dataset_, job(), 2), expected);
  EXPECT_EQ(ReadOn(2).digest, expected);
}

TEST_F(SelectionTest, ASubstituteIsASelectedRecord) {
  job().mutable_errors()->set_policy(v1::SUBSTITUTE);
  job().mutable_errors()->set_max_bad_fraction(0.5F);
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  // Damaged after the job was prepared.
  for (int shard = 0; shard < kFiles; ++shard) support::BreakRecord(dataset_.files[static_cast<size_t>(shard)], 12);
  const support::ReadResult result = support::ReadThrough(cluster.address(), Plan());
  ASSERT_TRUE(result.status.ok()) << result.status;
  int substituted = 0;
  for (const support::ReadStep& step : result.steps) {
    for (size_t row = 0; row < step.sources.size(); ++row) {
      if (step.sources[row] == step.ids[row]) continue;
      ++substituted;
      EXPECT_EQ(step.ids[row].second, 12);
      EXPECT_EQ(step.sources[row].first, step.ids[row].first);
      EXPECT_TRUE(selected_.contains(step.sources[row])) << step.sources[row].second;
    }
  }
  EXPECT_GT(substituted, 0);
}

TEST_F(SelectionTest, ASelectionOfNothingFailsWithTheNumbers) {
  job().mutable_dataset(0)->add_select()->set_filter("id < 0");
  support::InProcessCluster cluster(support::ClusterOptions(), dataset_.roots);
  const absl::Status submitted = cluster.control().Submit(job());
  EXPECT_THAT(submitted.ToString(), HasSubstr("keeps none of the 150 records in the 5 files"));
  EXPECT_THAT(support::PlainDigest(dataset_, job(), 1), HasSubstr("keeps none of the 150 records in 5 files"));
}

}  // namespace
}  // namespace penstock::integration
