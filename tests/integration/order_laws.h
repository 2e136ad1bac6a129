// Laws that each order of rows keeps, whatever selects, groups, blends or packs the records. A test calls them for a
// job.
#ifndef PENSTOCK_TESTS_INTEGRATION_ORDER_LAWS_H_
#define PENSTOCK_TESTS_INTEGRATION_ORDER_LAWS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/support/cluster/in_process_cluster.h"
#include "tests/support/cluster/reading.h"
#include "tests/support/plain_rows.h"

namespace penstock::integration {

// Expects the rows of a local job from 1, 2 and 5 workers, in `epochs` epochs. `check` gets each result.
template <typename Check>
void ExpectRowsOfAnyWorkers(const support::TestDataset& dataset, uint64_t epochs, const Check& check) {
  const std::string expected = support::PlainDigest(dataset, dataset.job, epochs);
  for (const int workers : {1, 2, 5}) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    support::ClusterOptions options;
    options.workers = workers;
    support::InProcessCluster cluster(options, dataset.roots);
    ASSERT_TRUE(cluster.control().Submit(dataset.job).ok());
    ASSERT_TRUE(cluster.control().WaitForOwners(dataset.job.name(), workers));
    const support::ReadResult result = support::ReadThrough(cluster.address(), support::EpochsOf(dataset.job, epochs));
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.digest, expected);
    check(result);
  }
}

// Expects that 2 and 4 ranks, which read at once, share the rows of each step. 4 must divide each step.
inline void ExpectRanksShareSteps(const support::TestDataset& dataset, uint64_t epochs) {
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset.job).ok());
  const support::ReadPlan plan = support::EpochsOf(dataset.job, epochs);
  const support::ReadResult whole = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  for (const uint32_t world : {2u, 4u}) {
    std::vector<support::ReadResult> ranks(world);
    std::vector<std::thread> trainers;
    for (uint32_t rank = 0; rank < world; ++rank) {
      trainers.emplace_back([&, rank] {
        support::ReadPlan of_rank = plan;
        of_rank.options.rank = rank;
        of_rank.options.world_size = world;
        of_rank.options.group = absl::StrCat("of ", world);
        ranks[rank] = support::ReadThrough(cluster.address(), of_rank);
      });
    }
    for (std::thread& trainer : trainers) trainer.join();
    for (size_t step = 0; step < whole.steps.size(); ++step) {
      std::vector<std::pair<int64_t, int64_t>> ids;
      for (const support::ReadResult& rank : ranks) {
        ASSERT_TRUE(rank.status.ok()) << rank.status;
        ASSERT_EQ(rank.steps.size(), whole.steps.size());
        ids.insert(ids.end(), rank.steps[step].ids.begin(), rank.steps[step].ids.end());
      }
      EXPECT_EQ(ids, whole.steps[step].ids) << world << " ranks, step " << step;
    }
  }
}

// Reads two steps of a job that the cluster has, and returns the plan that continues after them. Expects that it works.
inline support::ReadPlan PlanAfterTwoSteps(const support::InProcessCluster& cluster, const v1::JobSpec& job,
                                           uint64_t epochs) {
  support::ReadPlan first = support::EpochsOf(job, epochs), next = first;
  first.max_steps = 2;
  const support::ReadResult read = support::ReadThrough(cluster.address(), first);
  EXPECT_TRUE(read.status.ok()) << read.status;
  next.options.state = read.state;
  const absl::Status continues = support::ReadThrough(cluster.address(), next).status;
  EXPECT_TRUE(continues.ok()) << continues;
  return next;
}

// Expects that a state continues after step 1, 1 + `stride` and so on of `epochs` epochs.
inline void ExpectStatesContinue(const support::TestDataset& dataset, uint64_t epochs, uint64_t stride) {
  support::ClusterOptions options;
  options.workers = 2;
  support::InProcessCluster cluster(options, dataset.roots);
  ASSERT_TRUE(cluster.control().Submit(dataset.job).ok());
  const support::ReadPlan plan = support::EpochsOf(dataset.job, epochs);
  const support::ReadResult whole = support::ReadThrough(cluster.address(), plan);
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  for (uint64_t stop = 1; stop < whole.steps.size(); stop += stride) {
    support::ReadPlan first = plan, second = plan;
    first.max_steps = stop;
    const support::ReadResult before = support::ReadThrough(cluster.address(), first);
    ASSERT_TRUE(before.status.ok()) << before.status;
    second.options.state = before.state;
    second.max_steps = whole.steps.size() - stop;
    const support::ReadResult rest = support::ReadThrough(cluster.address(), second);
    ASSERT_TRUE(rest.status.ok()) << rest.status;
    ASSERT_EQ(rest.steps.size(), whole.steps.size() - stop);
    for (size_t i = 0; i < rest.steps.size(); ++i) {
      ASSERT_EQ(rest.steps[i].digest, whole.steps[stop + i].digest) << "after " << stop << " steps";
    }
  }
}

}  // namespace penstock::integration

#endif  // PENSTOCK_TESTS_INTEGRATION_ORDER_LAWS_H_
