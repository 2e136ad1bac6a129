// Users and trainers while a commit of the coordinator is stored, not stored, unknown or superseded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/simulation/sim_cluster.h"

namespace penstock::simulation {
namespace {

using ::testing::HasSubstr;

v1::JobSpec Named(const SimCluster& cluster, const std::string& name) {
  v1::JobSpec spec = cluster.dataset().job;
  spec.set_name(name);
  return spec;
}

// Runs until the answer has come. Returns it, or OutOfRange after 10 s.
absl::Status WaitFor(SimCluster* cluster, const SimCluster::Answer& answer) {
  for (int i = 0; i < 1000 && !answer->has_value(); ++i) cluster->sim()->RunFor(10 * kMillisecond);
  return answer->has_value() ? **answer : absl::OutOfRangeError("no answer");
}

int JobsStored(SimCluster* cluster) { return cluster->store().Load()->jobs_size(); }

// A reader of a job that is READY, and workers that serve it.
class StoreOutcomes : public ::testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    for (const char* host : {"w0", "w1", "w2"}) cluster_.StartWorker(host);
    ASSERT_TRUE(cluster_.SubmitJob(3));
    ReaderOptions options;
    options.job = cluster_.dataset().job.name();
    options.epochs = 4;
    options.prefetch_steps = 8;
    reader_ = cluster_.OpenReader("client", options, 20 * kMillisecond);
    cluster_.sim()->RunFor(kSecond);
  }
  // The reader gets all rows, whatever becomes of the store.
  void ExpectReaderEnds() {
    ASSERT_TRUE(cluster_.RunReaders(300 * kSecond));
    EXPECT_EQ(reader_->end.code(), absl::StatusCode::kOutOfRange) << reader_->end;
    EXPECT_EQ(reader_->wrong, "");
    EXPECT_LT(reader_->longest_wait, 2 * kSecond);
  }

  SimCluster cluster_{GetParam()};
  SimReader* reader_ = nullptr;
};

TEST_P(StoreOutcomes, AStoredJobIsConfirmedAndVisible) {
  EXPECT_TRUE(WaitFor(&cluster_, cluster_.BeginSubmit(Named(cluster_, "second"))).ok());
  EXPECT_TRUE(cluster_.HasJob("second"));
  EXPECT_EQ(JobsStored(&cluster_), 2);
  ExpectReaderEnds();
}

TEST_P(StoreOutcomes, AJobThatIsNotStoredIsRejectedAndNotVisible) {
  cluster_.store().FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  const absl::Status rejected = WaitFor(&cluster_, cluster_.BeginSubmit(Named(cluster_, "second")));
  EXPECT_EQ(rejected.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(rejected.message()), HasSubstr("disk full. Nothing has changed"));
  cluster_.KillWorker("w1");  // views and worker states do not wait for the disk
  cluster_.sim()->RunFor(6 * kSecond);
  EXPECT_FALSE(cluster_.HasJob("second"));
  cluster_.store().FailWith(absl::OkStatus());
  EXPECT_TRUE(WaitFor(&cluster_, cluster_.BeginSubmit(Named(cluster_, "second"))).ok());
  EXPECT_EQ(JobsStored(&cluster_), 2);
  ExpectReaderEnds();
}

TEST_P(StoreOutcomes, AJobWithAnUnknownCommitIsAnsweredAfterTheCommitIsSettled) {
  for (const bool stored : {true, false}) {
    SCOPED_TRACE(stored);
    const std::string name = stored ? "kept" : "lost";
    cluster_.store().LoseNextOutcome(stored, 3);
    const auto answer = cluster_.BeginSubmit(Named(cluster_, name));
    cluster_.sim()->RunFor(100 * kMillisecond);
    EXPECT_FALSE(answer->has_value());
    EXPECT_FALSE(cluster_.HasJob(name));
    EXPECT_EQ(WaitFor(&cluster_, answer).ok(), stored);
    EXPECT_EQ(cluster_.HasJob(name), stored);
  }
  EXPECT_EQ(JobsStored(&cluster_), 2);
  ExpectReaderEnds();
}

TEST_P(StoreOutcomes, ACoordinatorThatDiesBeforeItSettlesLeavesTheStoredJob) {
  for (const bool stored : {true, false}) {
    SCOPED_TRACE(stored);
    const std::string name = stored ? "kept" : "lost";
    cluster_.store().LoseNextOutcome(stored, 1000);
    const auto answer = cluster_.BeginSubmit(Named(cluster_, name));
    cluster_.sim()->RunFor(kSecond);
    EXPECT_FALSE(answer->has_value());
    cluster_.KillCoordinator();
    cluster_.StartCoordinator();
    EXPECT_EQ(cluster_.HasJob(name), stored);
    // The user submits again, which is the same in both cases.
    EXPECT_TRUE(WaitFor(&cluster_, cluster_.BeginSubmit(Named(cluster_, name))).ok());
    EXPECT_TRUE(cluster_.HasJob(name));
  }
  EXPECT_EQ(JobsStored(&cluster_), 3);
  ExpectReaderEnds();
}

TEST_P(StoreOutcomes, ASupersededCoordinatorEndsAndTheNextOneServes) {
  cluster_.store().Supersede();
  const absl::Status rejected = WaitFor(&cluster_, cluster_.BeginSubmit(Named(cluster_, "second")));
  EXPECT_EQ(rejected.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(rejected.message()), HasSubstr("another coordinator has taken over"));
  cluster_.sim()->RunFor(kSecond);
  EXPECT_FALSE(cluster_.CoordinatorRuns());
  EXPECT_EQ(cluster_.coordinator_exits().size(), 1u);
  EXPECT_EQ(JobsStored(&cluster_), 1);
  cluster_.StartCoordinator();
  cluster_.sim()->RunFor(kSecond);
  EXPECT_FALSE(cluster_.HasJob("second"));
  EXPECT_TRUE(WaitFor(&cluster_, cluster_.BeginSubmit(Named(cluster_, "second"))).ok());
  EXPECT_TRUE(cluster_.HasJob("second"));
  ExpectReaderEnds();
}

INSTANTIATE_TEST_SUITE_P(Seeds, StoreOutcomes, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace penstock::simulation
