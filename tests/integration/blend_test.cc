// Jobs that blend data sets, served and in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::integration {
namespace {

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
  const std::string expected = support::PlainDigest(dataset_, job(), 2);
  for (const int workers : {1, 2, 5}) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    const support::ReadResult result = ReadOn(workers);
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.digest, expected);
    const auto rows = BySet(result);
    ASSERT_EQ(rows.size(), 3u);
    EXPECT_NEAR(static_cast<double>(rows.at(0).size()), 448.0 * 5 / 8, 2);
    EXPECT_NEAR(static_cast<double>(rows.at(1).size()), 448.0 * 2 / 8, 2);
    EXPECT_NEAR(static_cast<double>(rows.at(2).size()), 448.0 * 1 / 8, 2);
  }
}

TEST_F(BlendTest, ADataSetHasTheRowsOfAJobOfItAlone) {
  const auto blended = BySet(ReadOn(2));
  const v1::JobSpec whole = job();
  for (int set = 0; set < whole.dataset_size(); ++set) {
    job() = whole;
    job().clear_blend();
    job().clear_dataset();
    *job().add_dataset() = whole.dataset(set);
    job().mutable_dataset(0)->clear_weight();
    job().mutable_batch()->set_size(10);  // drops no row of 60, 30 or 90
    const auto alone = BySet(ReadOn(2, 10)).at(0);
    const auto& rows = blended.at(set);
    ASSERT_GE(alone.size(), rows.size());
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), alone.begin())) << whole.dataset(set).name();
  }
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
}

TEST_F(BlendTest, ADataSetWithoutFilesIsNamed) {
  support::ClusterOptions options;
  support::InProcessCluster cluster(options, dataset_.roots);
  job().mutable_dataset(1)->set_files(0, "nothing-*");
  EXPECT_THAT(cluster.control().Submit(job()).ToString(), HasSubstr("nothing-*"));
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
