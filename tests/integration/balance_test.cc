// Jobs that balance the groups of their records, served and in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/order_laws.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/plain_rows.h"

namespace penstock::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kInEachShard = 25;

class BalanceTest : public ::testing::Test {
 protected:
  BalanceTest()
      : dataset_(support::MakeNumberDataset({.shards = 4, .records_per_shard = kInEachShard}, folder_.path())) {
    balance().set_by("id % 25 > 6");
    job().mutable_order()->clear_repeats();
    job().mutable_batch()->set_size(10);
  }

  v1::JobSpec& job() { return dataset_.job; }
  v1::Balance& balance() {
    v1::Dataset* const dataset = job().mutable_dataset(0);
    v1::Select* const step =
        dataset->select().empty() ? dataset->add_select() : dataset->mutable_select(dataset->select_size() - 1);
    return *step->mutable_balance();
  }
  support::ReadPlan Plan(uint64_t epochs) const { return support::EpochsOf(dataset_.job, epochs); }
  static int64_t IdOf(const std::pair<int64_t, int64_t>& row) { return row.first * kInEachShard + row.second; }

  support::TempFolder folder_;
  support::TestDataset dataset_;
};

TEST_F(BalanceTest, AnyNumberOfWorkersGivesTheRowsOfALocalJob) {
  balance().set_by("id % 25 // 7");  // groups of 28, 28, 28 and 16 records
  const std::string expected = support::PlainDigest(dataset_, job(), 3);
  for (const int workers : {1, 2, 5}) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    support::ClusterOptions options;
    options.workers = workers;
    support::InProcessCluster cluster(options, dataset_.roots);
    const absl::Status submitted = cluster.control().Submit(job());
    ASSERT_TRUE(submitted.ok()) << submitted;
    ASSERT_TRUE(cluster.control().WaitForOwners(job().name(), workers));
    const support::ReadResult result = support::ReadThrough(cluster.address(), Plan(3));
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.digest, expected);
    EXPECT_TRUE(result.stats.datasets.empty());
    std::map<int64_t, std::vector<int64_t>> ids;  // by group, in order
    for (const support::ReadStep& step : result.steps) {
      for (const auto& row : step.ids) ids[IdOf(row) % 25 / 7].push_back(IdOf(row));
    }
    ASSERT_EQ(ids.size(), 4u);
    for (const auto& [group, of_group] : ids) {
      EXPECT_NEAR(static_cast<double>(of_group.size()), 300 / 4.0, 2);
      const size_t records = group == 3 ? 16 : 28;
      for (size_t pass = 0; (pass + 1) * records <= of_group.size(); ++pass) {
        const auto first = of_group.begin() + static_cast<ptrdiff_t>(pass * records);
        EXPECT_EQ(std::set<int64_t>(first, first + static_cast<ptrdiff_t>(records)).size(), records)
            << "group " << group << ", pass " << pass;
      }
    }
  }
}

TEST_F(BalanceTest, AStateOfOtherGroupsOrSharesIsRejected) {
  support::InProcessCluster cluster({}, dataset_.roots);
  ASSERT_TRUE(cluster.control().Submit(job()).ok());
  const support::ReadPlan next = PlanAfterTwoSteps(cluster, job(), 1);
  const v1::JobSpec before = job();
  const auto rejects = [&](const char* what) {
    ASSERT_TRUE(cluster.control().Submit(job(), true).ok()) << what;
    EXPECT_THAT(support::ReadThrough(cluster.address(), next).status.ToString(), HasSubstr("order fingerprint"))
        << what;
    job() = before;
  };
  balance().set_power(1);
  rejects("power");
  balance().set_by("id % 2");
  rejects("by");
  job().mutable_dataset(0)->clear_select();
  rejects("no balance");
}

TEST_F(BalanceTest, AValueOfEachRecordIsNoGroup) {
  support::InProcessCluster cluster({}, dataset_.roots);
  balance().set_by("idd");
  EXPECT_THAT(cluster.control().Submit(job()).ToString(),
              HasSubstr("dataset[0].select[0].balance.by: there is no feature 'idd' (did you mean 'id'?)"));
  balance().set_by("id // (id - 7)");
  const std::string bad = support::OpenJob(job(), dataset_.roots).status().ToString();
  EXPECT_THAT(bad, AllOf(HasSubstr("record 7"), HasSubstr("divi")));
  EXPECT_THAT(cluster.control().Submit(job()).ToString(), HasSubstr("record 7"));
}

}  // namespace
}  // namespace penstock::integration
