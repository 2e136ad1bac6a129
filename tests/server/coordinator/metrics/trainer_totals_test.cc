// Sums of trainers' reports and of workers' loads.
#include "server/coordinator/state/trainer_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/coordinator/state/job_totals.h"

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;

// A trainer whose session reports.
struct Trainer {
  SessionEntry session;
  TrainerTotals* totals;

  explicit Trainer(TrainerTotals* sums, uint32_t rank = 0, const std::string& id = "first") : totals(sums) {
    session.id = id;
    session.open.set_job("train");
    session.open.set_rank(rank);
    session.open.set_world_size(8);
  }
  // The trainer has waited for `waited` seconds and taken `steps` steps of 10 rows since its session began.
  void Report(Nanos now, double waited, uint64_t steps) {
    v1::ReportSessionRequest report;
    report.set_rows(10 * steps);
    report.mutable_times()->set_waited_seconds(waited);
    report.mutable_times()->set_steps(steps);
    report.mutable_times()->set_bytes_received(1000 * steps);
    report.mutable_times()->set_copy_seconds(0.25 * static_cast<double>(steps));
    totals->Add(now, session, report);
    session.last = report;
    ++session.reports;
  }
};

TEST(TrainerTotals, AddUpTheReportsOfARank) {
  TrainerTotals totals;
  Trainer trainer(&totals, 3);
  trainer.Report(kSecond, 0.5, 10);
  trainer.Report(2 * kSecond, 0.75, 30);
  ASSERT_EQ(totals.ranks().size(), 1u);
  const TrainerTotals::Rank& rank = totals.ranks().at({"train", 3});
  EXPECT_EQ(rank.world_size, 8u);
  EXPECT_EQ(rank.sums.rows, 300u);
  EXPECT_EQ(rank.sums.bytes, 30000u);
  EXPECT_DOUBLE_EQ(rank.sums.waited_seconds, 0.75);
  EXPECT_DOUBLE_EQ(rank.sums.copy_seconds, 7.5);
}

TEST(TrainerTotals, TheStepsOfAReportHaveItsMeanWait) {
  TrainerTotals totals;
  Trainer trainer(&totals);
  trainer.Report(1 * kSecond, 0, 100);    // no wait
  trainer.Report(2 * kSecond, 0.4, 110);  // 40 ms each
  trainer.Report(3 * kSecond, 0.5, 120);  // 10 ms each
  const TrainerTotals::Sums& sums = totals.ranks().begin()->second.sums;
  EXPECT_THAT(sums.steps_by_wait, ElementsAre(100, 0, 10, 10, 0, 0, 0, 0));
  EXPECT_DOUBLE_EQ(sums.steps_waited_seconds, 0.5);
}

TEST(TrainerTotals, AWaitOverSeveralReportsCountsForItsStep) {
  TrainerTotals totals;
  Trainer trainer(&totals);
  trainer.Report(1 * kSecond, 0, 1);
  for (int second = 2; second <= 16; ++second) trainer.Report(second * kSecond, second - 1, 1);
  const TrainerTotals::Rank& waits = totals.ranks().begin()->second;
  EXPECT_DOUBLE_EQ(waits.sums.waited_seconds, 15) << "the counter follows at once";
  EXPECT_DOUBLE_EQ(waits.sums.steps_waited_seconds, 0);
  trainer.Report(17 * kSecond, 15.5, 2);
  EXPECT_THAT(waits.sums.steps_by_wait, ElementsAre(1, 0, 0, 0, 0, 0, 0, 1));
  EXPECT_DOUBLE_EQ(waits.sums.steps_waited_seconds, 15.5);
}

TEST(TrainerTotals, ContinueWithTheNextSessionOfTheRank) {
  TrainerTotals totals;
  Trainer(&totals).Report(kSecond, 1, 10);
  Trainer next(&totals, 0, "next");
  next.Report(2 * kSecond, 0.5, 14);
  next.Report(3 * kSecond, 0.5, 16);
  EXPECT_EQ(totals.ranks().at({"train", 0}).sums.rows, 260u);
  EXPECT_DOUBLE_EQ(totals.ranks().at({"train", 0}).sums.waited_seconds, 1.5);
}

TEST(TrainerTotals, DoNotCountTwiceWhatASessionReportedBeforeItResumed) {
  TrainerTotals totals;
  Trainer trainer(&totals);
  trainer.Report(kSecond, 1, 10);
  // The table opens a session that resumes another one with one report.
  const StateOptions options;
  SessionTable table(options);
  v1::OpenSessionRequest again = trainer.session.open;
  again.set_resumes("first");
  again.set_process(7);
  const auto opening = table.Open(60 * kSecond, "second", again, {}, 1, 0);
  ASSERT_TRUE(opening.ok()) << opening.status();
  ASSERT_NE(opening->session, nullptr) << opening->wait;
  Trainer resumed(&totals);
  resumed.session.id = opening->session->id;
  resumed.session.open = opening->session->open;
  resumed.session.job_uid = opening->session->job_uid;
  resumed.session.last_report = opening->session->last_report;
  resumed.session.reports = opening->session->reports;
  resumed.Report(60 * kSecond, 1.5, 15);
  EXPECT_EQ(totals.ranks().at({"train", 0}).sums.rows, 150u) << "the steps while no report arrived count";
  resumed.Report(61 * kSecond, 2, 17);
  EXPECT_EQ(totals.ranks().at({"train", 0}).sums.rows, 170u);
  EXPECT_DOUBLE_EQ(totals.ranks().at({"train", 0}).sums.waited_seconds, 2);
}

TEST(TrainerTotals, CountAllOfAResumedSessionThatThisCoordinatorDoesNotKnow) {
  TrainerTotals totals;
  Trainer resumed(&totals, 0, "second");
  resumed.session.open.set_resumes("first");
  resumed.session.reports = 1;
  resumed.Report(kSecond, 1.5, 15);
  EXPECT_EQ(totals.ranks().at({"train", 0}).sums.rows, 150u);
}

TEST(TrainerTotals, ForgetRanksThatAreGoneWithinFiveMinutes) {
  TrainerTotals totals;
  Trainer gone(&totals, 0), stays(&totals, 1);
  gone.Report(kSecond, 0, 1);
  for (Nanos now = kSecond; now < 300 * kSecond; now += kSecond) {
    stays.Report(now, 0, 1);
    totals.Tick(now);
    if (now < 200 * kSecond) {
      ASSERT_EQ(totals.ranks().size(), 2u) << now / kSecond;
    }
  }
  ASSERT_EQ(totals.ranks().size(), 1u);
  EXPECT_EQ(totals.ranks().begin()->first.second, 1u);
}

v1::JobLoad LoadOf(const std::string& job, uint64_t rows, double seconds) {
  v1::JobLoad load;
  load.set_job(job);
  load.set_rows(rows);
  load.set_timed_rows(rows / 10);
  load.set_making_seconds(seconds);
  load.set_unrequested_seconds(2 * seconds);
  v1::StageSeconds* const stage = load.add_stages();
  stage->set_name("decode");
  stage->set_seconds(seconds / 20);
  return load;
}

v1::WorkerLoad With(const v1::JobLoad& job) {
  v1::WorkerLoad load;
  *load.add_jobs() = job;
  return load;
}

bool Exists(const std::string&) { return true; }

// Heartbeats of workers.
struct Beats {
  JobTotals totals;
  void Beat(const std::string& worker, uint64_t incarnation, const v1::WorkerLoad& load) {
    totals.Add(worker, incarnation, load, Exists);
  }
  const JobTotals::Sums& Train() const { return totals.jobs().at("train"); }
};

TEST(JobTotals, AddUpTheWorkersAndTheirRestarts) {
  Beats beats;
  beats.Beat("a", 1, {});
  beats.Beat("a", 1, With(LoadOf("train", 100, 1)));
  beats.Beat("a", 1, With(LoadOf("train", 150, 2)));
  beats.Beat("b", 1, {});
  beats.Beat("b", 1, With(LoadOf("train", 1000, 10)));
  beats.Beat("a", 2, With(LoadOf("train", 20, 0.5)));  // counts again from 0
  EXPECT_EQ(beats.Train().rows, 1170u);
  EXPECT_DOUBLE_EQ(beats.Train().making_seconds, 12.5);
  EXPECT_DOUBLE_EQ(beats.Train().computing_seconds, 12.5);
  EXPECT_DOUBLE_EQ(beats.Train().unrequested_seconds, 25);
  EXPECT_EQ(beats.Train().timed_rows, 117u);
  EXPECT_DOUBLE_EQ(beats.Train().stages.at("decode"), 0.625);
  beats.totals.KeepWorkers([](const std::string& worker) { return worker == "b"; });
  EXPECT_EQ(beats.Train().rows, 1170u) << "the work of a worker that has gone counts";
  beats.totals.Forget("train");
  EXPECT_TRUE(beats.totals.jobs().empty());
}

TEST(JobTotals, TheWorkBeforeThisCoordinatorDoesNotCount) {
  Beats beats;
  beats.Beat("a", 1, With(LoadOf("train", 5000, 50)));
  beats.Beat("a", 1, With(LoadOf("train", 5010, 51)));
  EXPECT_EQ(beats.Train().rows, 10u);
  EXPECT_NEAR(beats.Train().stages.at("decode"), 0.05, 1e-9);
}

// A worker counts the reads under way, which then belong to no counter until their row is done.
TEST(JobTotals, ACounterThatFallsForAMomentIsNotCountedAgain) {
  Beats beats;
  beats.Beat("a", 1, {});
  v1::WorkerLoad load = With(LoadOf("train", 100, 10));
  double before = 0;
  for (const double reading : {4.0, 3.5, 3.5, 4.5, 2.0, 5.0}) {
    load.mutable_jobs(0)->set_reading_seconds(reading);
    load.mutable_jobs(0)->set_making_seconds(10 + reading / 2);
    beats.Beat("a", 1, load);
    EXPECT_GE(beats.Train().computing_seconds, before);
    before = beats.Train().computing_seconds;
  }
  EXPECT_DOUBLE_EQ(beats.Train().reading_seconds, 5);
  EXPECT_DOUBLE_EQ(beats.Train().making_seconds, 12.5);
}

TEST(JobTotals, CountOnlyJobsThatExist) {
  JobTotals totals;
  const auto exists = [](const std::string& job) { return job == "train"; };
  totals.Add("a", 1, {}, exists);
  totals.Add("a", 1, With(LoadOf("made up", 100, 1)), exists);
  EXPECT_TRUE(totals.jobs().empty());
}

TEST(JobTotals, AJobThatAFullListLeftOutDoesNotCountTwice) {
  v1::WorkerLoad load;
  for (int i = 0; i < 16; ++i) *load.add_jobs() = LoadOf("job" + std::to_string(i), 100, 1);
  Beats beats;
  beats.Beat("a", 1, load);
  *load.mutable_jobs(3) = LoadOf("train", 5000, 50);  // busy again
  beats.Beat("a", 1, load);
  EXPECT_FALSE(beats.totals.jobs().contains("train"));
  *load.mutable_jobs(3) = LoadOf("train", 5010, 51);
  beats.Beat("a", 1, load);
  EXPECT_EQ(beats.Train().rows, 10u);
}

TEST(JobTotals, StagesAreLimited) {
  v1::JobLoad load = LoadOf("train", 100, 1);
  for (int i = 0; i < 100; ++i) {
    v1::StageSeconds* const stage = load.add_stages();
    stage->set_name("stage" + std::to_string(i));
    stage->set_seconds(1);
  }
  Beats beats;
  beats.Beat("a", 1, {});
  beats.Beat("a", 1, With(load));
  EXPECT_EQ(beats.Train().stages.size(), JobTotals::kMostStages + 1);
}

}  // namespace
}  // namespace penstock::coordinator
