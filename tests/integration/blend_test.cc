// Jobs that blend data sets, served and in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "pipeline/plan/job_dataset.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/plain_rows.h"

namespace penstock::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kInEachFile = 30;

class BlendTest : public ::testing::Test {
 protected:
  // The data sets are files 0 and 1, file 2, and files 2 to 4: two of them share a file.
  BlendTest() : dataset_(support::MakeNumberDataset({.shards = 5, .records_per_shard = kInEachFile}, folder_.path())) {
    const std::vector<std::string> files(job().dataset(0).files().begin(), job().dataset(0).files().end());
    job().clear_dataset();
    Add("web", {0, 1}, 5);
    Add("code", {2}, 2);
    Add("books", {2, 3, 4}, 1);
    job().mutable_blend()->set_epoch_rows(224);
    job().mutable_order()->clear_repeats();
    job().mutable_batch()->set_size(8);
  }

  v1::Dataset* Add(const std::string& name, const std::vector<size_t>& files, double weight) {
    v1::Dataset* const dataset = job().add_dataset();
    dataset->set_name(name);
    dataset->set_weight(weight);
    for (const size_t file : files) dataset->add_files(dataset_.files[file]);
    return dataset;
  }

  v1::JobSpec& job() { return dataset_.job; }
  support::ReadPlan Plan(uint64_t epochs = 2) const { return support::EpochsOf(dataset_.job, epochs); }
  support::ReadResult ReadOn(int workers, uint64_t epochs = 2) {
    support::ClusterOptions options;
    options.workers = workers;
    support::InProcessCluster cluster(options, dataset_.roots);
    const absl::Status submitted = cluster.control().Submit(job());
    EXPECT_TRUE(submitted.ok()) << submitted;
    EXPECT_TRUE(cluster.control().WaitForOwners(job().name(), workers));
    return support::ReadThrough(cluster.address(), Plan(epochs));
  }
  // Adds a data set of JSON lines. Its weights are twice the column's.
  void AddLines() {
    std::string lines;
    for (int i = 0; i < 20; ++i) {
      absl::StrAppend(&lines, "{\"n\": ", 1000 + i, ", \"all\": {\"v\": [", i, ".5, 2]}, \"s\": \"line ", i,
                      "\", \"w\": ", i, "}\n");
    }
    ASSERT_TRUE(WriteFileAtomically(folder_.File("more.jsonl"), lines).ok());
    v1::Dataset* const dataset = Add("lines", {}, 2);
    dataset->add_files("more.jsonl");
    *dataset->mutable_features() = job().features();
    const std::vector<std::string> keys = {"n", "all.v", "s", "w"};
    for (int i = 0; i < dataset->features_size(); ++i) {
      v1::Feature* const feature = dataset->mutable_features(i);
      if (feature->column().empty()) feature->set_column(feature->key());
      feature->set_key(keys.at(static_cast<size_t>(i)));
    }
    v1::Op* const half = dataset->add_ops();
    half->set_column("weight");
    half->mutable_scale()->set_factor(0.5);
    half->mutable_scale()->set_to(v1::FLOAT32);
    job().mutable_blend()->set_epoch_rows(240);
  }
  // Returns the columns of the rows of each data set, in order, from a plain loop.
  std::map<uint32_t, std::vector<std::vector<support::PlainRow::Column>>> ColumnsBySet(const v1::JobSpec& job,
                                                                                       uint64_t epochs) const {
    std::map<uint32_t, std::vector<std::vector<support::PlainRow::Column>>> rows;
    const auto load = support::OpenJob(job, dataset_.roots);
    EXPECT_TRUE(load.ok()) << load.status();
    const auto steps = support::PlainSteps(**load, {.epochs = epochs});
    EXPECT_TRUE(steps.ok()) << steps.status();
    for (const support::PlainStep& step : *steps) {
      for (const support::PlainRow& row : step.rows) rows[row.id.set].push_back(row.columns);
    }
    return rows;
  }
  // Selects every third record of data set 0, other thirds of file 2 in data sets 1 and 2, and there a part by numbers.
  void SelectInEach() {
    job().mutable_dataset(0)->add_select()->set_filter("id % 3 == 0");
    job().mutable_dataset(1)->add_select()->set_filter("id % 3 == 1");
    job().mutable_dataset(2)->add_select()->set_filter("id % 3 != 1");
    v1::Select* const every = job().mutable_dataset(2)->add_select();
    every->mutable_range()->set_from(5);
    every->mutable_range()->set_to(50);
  }
  static bool IsSelected(int set, int64_t id) {
    if (set < 2) return id % 3 == set;
    const int64_t before = id - 60 - (id - 60 + 1) / 3;  // records that the filter keeps before this one: id 60 is 0
    return id % 3 != 1 && before >= 5 && before < 50;
  }
  // Expects in each data set the rows of a job of it alone, with batches of `batch` rows.
  void ExpectTheRowsOfJobsAlone(uint64_t batch) {
    const auto blended = BySet(ReadOn(2));
    const v1::JobSpec whole = job();
    for (int set = 0; set < whole.dataset_size(); ++set) {
      job() = plan::JobOfSet(whole, set);
      job().clear_blend();
      job().mutable_dataset(0)->clear_weight();
      job().mutable_batch()->set_size(batch);
      const auto alone = BySet(ReadOn(2, 30)).at(0);
      const auto& rows = blended.at(set);
      ASSERT_GE(alone.size(), rows.size());
      EXPECT_TRUE(std::equal(rows.begin(), rows.end(), alone.begin())) << whole.dataset(set).name();
    }
  }
  // Reads two epochs from 1, 2 and 5 workers, and expects the rows of a local job.
  std::vector<support::ReadResult> ReadOnFleets() {
    const std::string expected = support::PlainDigest(dataset_, job(), 2);
    std::vector<support::ReadResult> results;
    for (const int workers : {1, 2, 5}) {
      SCOPED_TRACE(testing::Message() << workers << " workers");
      results.push_back(ReadOn(workers));
      EXPECT_TRUE(results.back().status.ok()) << results.back().status;
      EXPECT_EQ(results.back().digest, expected);
    }
    return results;
  }
  // Returns the ids of the rows of each data set, in order.
  static std::map<int, std::vector<std::pair<int64_t, int64_t>>> BySet(const support::ReadResult& result) {
    std::map<int, std::vector<std::pair<int64_t, int64_t>>> rows;
    for (const support::ReadStep& step : result.steps) {
      for (size_t row = 0; row < step.ids.size(); ++row) rows[step.datasets.at(row)].push_back(step.ids[row]);
    }
    return rows;
  }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_F(BlendTest, AnyNumberOfWorkersGivesTheRowsOfALocalJob) {
  for (const support::ReadResult& result : ReadOnFleets()) {
    const auto rows = BySet(result);
    ASSERT_EQ(result.stats.datasets.size(), 3u);
    for (int set = 0; set < 3; ++set) {
      const DatasetStats& stats = result.stats.datasets[static_cast<size_t>(set)];
      const double records = kInEachFile * std::vector<int>{2, 1, 3}[static_cast<size_t>(set)];
      EXPECT_EQ(stats.name, job().dataset(set).name());
      EXPECT_EQ(stats.rows, rows.at(set).size());
      EXPECT_DOUBLE_EQ(stats.passes, static_cast<double>(stats.rows) / records);
    }
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_NEAR(static_cast<double>(rows.at(0).size()), 448.0 * 5 / 8, 2);
    EXPECT_NEAR(static_cast<double>(rows.at(1).size()), 448.0 * 2 / 8, 2);
    EXPECT_NEAR(static_cast<double>(rows.at(2).size()), 448.0 * 1 / 8, 2);
  }
}

TEST_F(BlendTest, ADataSetHasTheRowsOfAJobOfItAlone) {
  ExpectTheRowsOfJobsAlone(10);  // drops no row of 60, 30 or 90
}

// Two of the data sets share a file, and select other records of it.
TEST_F(BlendTest, EachDataSetSelectsItsOwnRecords) {
  SelectInEach();
  for (const support::ReadResult& result : ReadOnFleets()) {
    for (const auto& [set, ids] : BySet(result)) {
      for (const auto& [shard, record] : ids) {
        const int64_t file = shard + (set == 0 ? 0 : 2);
        EXPECT_TRUE(IsSelected(set, file * kInEachFile + record)) << "data set " << set << ", record " << record;
      }
    }
  }
}

TEST_F(BlendTest, ADataSetWithASelectionHasTheRowsOfAJobOfItAlone) {
  SelectInEach();
  ExpectTheRowsOfJobsAlone(5);  // drops no row of 20, 10, or 45
}

TEST_F(BlendTest, ASelectionThatKeepsNothingIsNamed) {
  support::InProcessCluster cluster({}, dataset_.roots);
  job().mutable_dataset(1)->add_select()->set_filter("id > 1000000");
  const std::string nothing = "dataset[1].select: keeps none of the 30 records";
  EXPECT_THAT(cluster.control().Submit(job()).ToString(), HasSubstr(nothing));
  EXPECT_THAT(support::OpenJob(job(), dataset_.roots).status().ToString(), HasSubstr(nothing));
  job().mutable_dataset(1)->mutable_select(0)->set_filter("idd > 1");
  EXPECT_THAT(cluster.control().Submit(job()).ToString(),
              HasSubstr("dataset[1].select[0].filter: there is no feature 'idd' (did you mean 'id'?)"));
}

TEST_F(BlendTest, AResumeContinuesInTheMiddleOfAPass) {
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const auto whole = BySet(support::ReadThrough(cluster.address(), Plan()));
  for (const uint64_t steps : {1, 9, 27, 33}) {
    support::ReadPlan plan = Plan();
    plan.max_steps = steps;
    const support::ReadResult first = support::ReadThrough(cluster.address(), plan);
    support::ReadPlan rest = Plan(steps < 28 ? 2 : 1);
    rest.options.state = first.state;
    const support::ReadResult second = support::ReadThrough(cluster.address(), rest);
    ASSERT_TRUE(second.status.ok()) << second.status;
    auto rows = BySet(first);
    for (const auto& [set, ids] : BySet(second)) rows[set].insert(rows[set].end(), ids.begin(), ids.end());
    EXPECT_EQ(rows, whole) << "after " << steps << " steps";
  }
}

TEST_F(BlendTest, AStateOfAnotherBlendIsRejected) {
  support::ClusterOptions options;
  options.workers = 1;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  support::ReadPlan plan = Plan();
  plan.max_steps = 2;
  support::ReadPlan next = Plan();
  next.options.state = support::ReadThrough(cluster.address(), plan).state;
  const v1::JobSpec before = job();
  const auto rejects = [&](const char* what) {
    ASSERT_TRUE(cluster.control().Submit(job(), true).ok()) << what;
    EXPECT_THAT(support::ReadThrough(cluster.address(), next).status.ToString(), HasSubstr("order fingerprint"))
        << what;
    job() = before;
  };
  job().mutable_dataset(1)->set_weight(3);
  rejects("weight");
  job().mutable_dataset(2)->set_name("novels");
  rejects("name");
  job().mutable_blend()->set_epoch_rows(240);
  rejects("epoch_rows");
  job().mutable_dataset()->SwapElements(0, 1);
  rejects("the order of the data sets");
  job().mutable_blend()->set_batches(v1::Blend::EXACT);
  rejects("batches");
  job().mutable_blend()->set_batches(v1::Blend::SINGLE);
  rejects("batches of one data set");
  v1::WeightChange* const change = job().mutable_blend()->add_change();
  change->set_at_rows(128);
  v1::SetWeight* const weight = change->add_weights();
  weight->set_key("web");
  weight->set_value(1);
  rejects("a change of the weights");
  for (v1::Dataset& dataset : *job().mutable_dataset()) {
    dataset.clear_weight();
    dataset.set_repeats(1);
  }
  job().mutable_blend()->clear_epoch_rows();
  rejects("repeats");
  job().mutable_dataset(2)->add_select()->set_skip(1);
  rejects("a step that counts");
  job().mutable_dataset(0)->add_select()->set_filter("id != 7");
  rejects("a filter");
}

TEST_F(BlendTest, ExactBatchesHaveTheSharesInEachRank) {
  job().mutable_dataset(0)->set_weight(4);
  job().mutable_dataset(2)->set_weight(2);
  job().mutable_batch()->set_size(16);
  job().mutable_blend()->set_batches(v1::Blend::EXACT);
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  for (const uint32_t rank : {0u, 1u}) {
    support::ReadPlan plan = Plan(1);
    plan.options.rank = rank;
    plan.options.world_size = 2;
    const support::ReadResult read = support::ReadThrough(cluster.address(), plan);
    ASSERT_TRUE(read.status.ok()) << read.status;
    ASSERT_EQ(read.steps.size(), 14u);
    for (const support::ReadStep& step : read.steps) {
      std::vector<int> rows(3, 0);
      for (const int32_t set : step.datasets) ++rows.at(static_cast<size_t>(set));
      EXPECT_EQ(rows, (std::vector<int>{4, 2, 2}));
    }
  }
  support::ReadPlan other = Plan(1);
  other.options.batch_size = 24;
  EXPECT_THAT(support::ReadThrough(cluster.address(), other).status.ToString(),
              HasSubstr("with blend.batches: EXACT it must be a multiple of the job's batch.size, 16"));
}

TEST_F(BlendTest, SingleBatchesHaveRowsOfOneDataSetInEachRank) {
  job().mutable_batch()->set_size(16);
  job().mutable_blend()->set_batches(v1::Blend::SINGLE);
  job().mutable_blend()->set_epoch_rows(16 * 64);
  const std::string expected = support::PlainDigest(dataset_, job(), 2);
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const support::ReadResult whole = support::ReadThrough(cluster.address(), Plan(2));
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  EXPECT_EQ(whole.digest, expected);
  std::vector<double> batches(3, 0);
  for (const support::ReadStep& step : whole.steps) {
    EXPECT_EQ(std::count(step.datasets.begin(), step.datasets.end(), step.datasets[0]), 16);
    ++batches.at(static_cast<size_t>(step.datasets[0]));
  }
  EXPECT_NEAR(batches[0], 128 * 5 / 8.0, 2);
  EXPECT_NEAR(batches[2], 128 / 8.0, 2);
  support::ReadPlan half = Plan(2);
  half.options.batch_size = 8;
  half.options.rank = 1;
  half.options.world_size = 2;
  const support::ReadResult rank = support::ReadThrough(cluster.address(), half);
  ASSERT_TRUE(rank.status.ok()) << rank.status;
  ASSERT_EQ(rank.steps.size(), 2 * whole.steps.size());
  for (size_t i = 0; i < rank.steps.size(); ++i) {
    const std::vector<int32_t> same(4, whole.steps[i / 2].datasets[0]);
    EXPECT_EQ(rank.steps[i].datasets, same) << i;
  }
  support::ReadPlan part = Plan(2);
  part.options.batch_size = 8;
  part.max_steps = 3;
  support::ReadPlan rest = Plan(2);
  rest.options.state = support::ReadThrough(cluster.address(), part).state;
  EXPECT_THAT(
      support::ReadThrough(cluster.address(), rest).status.ToString(),
      HasSubstr("the state's position 24 is row 8 of a batch of 16 rows that belong together (blend.batches: "
                "SINGLE, or `bucket`), so batches of 16 rows from there on would have rows of two; choose a batch size "
                "that divides 8"));
  rest.options.batch_size = 4;
  EXPECT_TRUE(support::ReadThrough(cluster.address(), rest).status.ok());
  half.options.batch_size = 24;
  EXPECT_THAT(support::ReadThrough(cluster.address(), half).status.ToString(),
              HasSubstr("with blend.batches: SINGLE it must divide the job's batch.size, 16"));
}

TEST_F(BlendTest, ADataSetOfWeight0WaitsForItsChange) {
  job().mutable_dataset(2)->set_weight(0);
  v1::WeightChange* const change = job().mutable_blend()->add_change();
  change->set_at_rows(256);
  v1::SetWeight* const weight = change->add_weights();
  weight->set_key("books");
  weight->set_value(7);
  const std::string expected = support::PlainDigest(dataset_, job(), 2);
  const support::ReadResult result = ReadOn(3);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, expected);
  int books[] = {0, 0};  // rows before and after
  for (size_t step = 0; step < result.steps.size(); ++step) {
    for (const int32_t set : result.steps[step].datasets) books[step < 32 ? 0 : 1] += set == 2 ? 1 : 0;
  }
  EXPECT_EQ(books[0], 0);
  EXPECT_NEAR(books[1], 192 / 2.0, 2);
}

TEST_F(BlendTest, WeightsChangeDuringTheRun) {
  v1::WeightChange* const change = job().mutable_blend()->add_change();
  change->set_at_rows(256);  // in epoch 1
  v1::SetWeight* const weight = change->add_weights();
  weight->set_key("web");
  weight->set_value(1);
  const std::string expected = support::PlainDigest(dataset_, job(), 3);
  const support::ReadResult result = ReadOn(2, 3);
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.digest, expected);
  double web[] = {0, 0};  // rows before and after
  for (size_t step = 0; step < result.steps.size(); ++step) {
    for (const int32_t set : result.steps[step].datasets) web[step < 32 ? 0 : 1] += set == 0 ? 1 : 0;
  }
  EXPECT_NEAR(web[0], 256 * 5 / 8.0, 2);
  EXPECT_NEAR(web[1], 416 / 4.0, 2);
}

TEST_F(BlendTest, ADataSetWithoutFilesIsNamed) {
  support::ClusterOptions options;
  support::InProcessCluster cluster(options, dataset_.roots);
  job().mutable_dataset(1)->set_files(0, "nothing-*");
  EXPECT_THAT(cluster.control().Submit(job()).ToString(), HasSubstr("nothing-*"));
}

// One of the data sets has JSON lines with other keys.
TEST_F(BlendTest, ADataSetOfOtherFilesHasItsOwnFeaturesAndOps) {
  AddLines();
  ReadOnFleets();
  // The bytes of each data set are those of a job of it alone.
  const auto blended = ColumnsBySet(job(), 2);
  ASSERT_EQ(blended.size(), 4u);
  for (int set = 0; set < job().dataset_size(); ++set) {
    v1::JobSpec alone = plan::JobOfSet(job(), set);
    alone.clear_blend();
    alone.mutable_dataset(0)->clear_weight();
    alone.mutable_batch()->set_size(10);  // drops no row of 60, 30, 90 or 20
    const auto rows = ColumnsBySet(alone, 20).at(0);
    const auto& of_set = blended.at(static_cast<uint32_t>(set));
    ASSERT_GE(rows.size(), of_set.size());
    EXPECT_TRUE(std::equal(of_set.begin(), of_set.end(), rows.begin())) << job().dataset(set).name();
  }
}

TEST_F(BlendTest, AStateOfOtherOpsOfADataSetIsRejected) {
  AddLines();
  support::InProcessCluster cluster({}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  support::ReadPlan plan = Plan();
  plan.max_steps = 2;
  support::ReadPlan next = Plan();
  next.options.state = support::ReadThrough(cluster.address(), plan).state;
  job().mutable_dataset(3)->mutable_ops(0)->mutable_scale()->set_factor(4);
  ASSERT_TRUE(cluster.control().Submit(job(), true).ok());
  EXPECT_THAT(support::ReadThrough(cluster.address(), next).status.ToString(), HasSubstr("pipeline fingerprint"));
}

TEST_F(BlendTest, ADataSetWithOtherColumnsIsNamed) {
  AddLines();
  support::InProcessCluster cluster({}, dataset_.roots);
  job().mutable_dataset(3)->mutable_features()->RemoveLast();
  job().mutable_dataset(3)->clear_ops();
  EXPECT_THAT(cluster.control().Submit(job()).ToString(), HasSubstr("dataset[3] (lines): it has no column 'weight'"));
}

// A key that no line has is named with the data set.
TEST_F(BlendTest, AWrongKeyOfADataSetIsNamed) {
  AddLines();
  support::InProcessCluster cluster({}, dataset_.roots);
  job().mutable_dataset(3)->mutable_features(0)->set_key("nn");
  EXPECT_THAT(cluster.control().Submit(job()).ToString(),
              AllOf(HasSubstr("data set lines"), HasSubstr("has a key \"nn\" (did you mean 'n'?)")));
}

// The first record of each data set is tried when the job is submitted.
TEST_F(BlendTest, ADataSetWithoutAFeatureOfTheJobIsNamed) {
  std::filesystem::create_directory(folder_.path() + "/images");
  const support::TestDataset images =
      support::MakeImageDataset({.shards = 1, .records_per_shard = 4}, folder_.path() + "/images");
  job().mutable_dataset(2)->clear_files();
  job().mutable_dataset(2)->add_files("images/data-*");
  support::InProcessCluster cluster({}, dataset_.roots);
  EXPECT_THAT(cluster.control().Submit(job()).ToString(), HasSubstr("images/data-00000, record 0 at offset 0: "));
}

}  // namespace
}  // namespace penstock::integration
