// The number of workers that would feed all trainers.
#include "server/coordinator/metrics/workers_wanted.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace penstock::coordinator {
namespace {

using Limit = v1::Explanation;

struct Workers {
  CoordinatorSnapshot snapshot;

  explicit Workers(int live, double capacity = 100) {
    for (int i = 0; i < live; ++i) {
      v1::WorkerStatus* const worker = snapshot.status.add_workers();
      worker->set_state(v1::WorkerStatus::LIVE);
      worker->mutable_load()->set_capacity(capacity);
    }
  }
  Workers& Job(v1::Explanation::Limit limit, double rows_per_second, double waited) {
    v1::Explanation& job = snapshot.explanations.emplace_back();
    job.set_limit(limit);
    job.set_rows_per_second(rows_per_second);
    job.set_waited(waited);
    return *this;
  }
  uint32_t Wanted() const { return WorkersWanted(snapshot); }
};

TEST(WorkersWanted, IsOneWithoutTrainersOrWorkers) {
  EXPECT_EQ(Workers(0).Wanted(), 1u);
  EXPECT_EQ(Workers(10).Wanted(), 1u);
  EXPECT_EQ(Workers(0).Job(Limit::NO_WORKER, 0, 0).Wanted(), 1u);
}

TEST(WorkersWanted, KeepsTheLiveOnesIfAJobIsNotExplainedOrANumberIsNone) {
  Workers many(10);
  many.Job(Limit::TRAINER, 100, 0.01);
  EXPECT_EQ(many.Wanted(), 1u);
  many.snapshot.unexplained_jobs = 1;
  EXPECT_EQ(many.Wanted(), 10u);
  EXPECT_EQ(Workers(10, std::nan("")).Job(Limit::TRAINER, 100, 0.01).Wanted(), 10u);
  EXPECT_EQ(Workers(10, HUGE_VAL).Job(Limit::TRAINER, 100, 0.01).Wanted(), 10u);
  EXPECT_EQ(Workers(10).Job(Limit::TRAINER, std::nan(""), 0.01).Wanted(), 10u);
}

TEST(WorkersWanted, FewerThanLiveIfTrainersLimitTheJobs) {
  EXPECT_EQ(Workers(10).Job(Limit::TRAINER, 250, 0.01).Wanted(), 3u);
  EXPECT_EQ(Workers(10).Job(Limit::TRAINER, 250, 0).Job(Limit::TRAINER, 110, 0).Wanted(), 4u)
      << "their sum, rounded once";
  EXPECT_EQ(Workers(10).Job(Limit::NETWORK, 300, 0.5).Wanted(), 3u) << "more workers would not help";
}

TEST(WorkersWanted, WhatAWaitingTrainerWouldTake) {
  EXPECT_EQ(Workers(4).Job(Limit::CPU, 400, 0.5).Wanted(), 8u);
  EXPECT_EQ(Workers(4).Job(Limit::CPU, 200, 0.5).Job(Limit::TRAINER, 190, 0).Wanted(), 6u);
  EXPECT_EQ(Workers(10).Job(Limit::STORAGE, 100, 0.5).Wanted(), 10u) << "a job that waits loses no worker";
}

TEST(WorkersWanted, NeverBelowLiveWhileAnAnswerIsUnknown) {
  EXPECT_EQ(Workers(7).Job(Limit::LIMIT_UNKNOWN, 0, 0).Wanted(), 7u);
  EXPECT_EQ(Workers(7).Job(Limit::TRAINER, 100, 0).Job(Limit::LIMIT_UNKNOWN, 0, 0).Wanted(), 7u);
  EXPECT_EQ(Workers(7).Job(Limit::FILES, 0, 1).Wanted(), 7u);
  EXPECT_EQ(Workers(7).Job(Limit::CPU, 700, 0.99).Wanted(), 7u) << "a reader that takes rows at any rate";
  EXPECT_EQ(Workers(7, 0).Job(Limit::TRAINER, 100, 0).Wanted(), 7u) << "no capacity is known";
  Workers preparing(7);
  preparing.snapshot.status.add_jobs()->set_state(v1::PREPARING);
  EXPECT_EQ(preparing.Wanted(), 7u);
}

TEST(WorkersWanted, CountsOnlyLiveWorkers) {
  Workers fleet(2);
  fleet.snapshot.status.add_workers()->set_state(v1::WorkerStatus::DEAD);
  fleet.snapshot.status.add_workers()->set_state(v1::WorkerStatus::DRAINING);
  EXPECT_EQ(fleet.Job(Limit::LIMIT_UNKNOWN, 0, 0).Wanted(), 2u);
}

}  // namespace
}  // namespace penstock::coordinator
