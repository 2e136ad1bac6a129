// The coordinator's metrics: their series, their number for a large fleet, and their end with what they describe.
#include "server/coordinator/metrics/coordinator_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/coordinator/service/collect_metrics.h"
#include "tests/server/coordinator/control_loop_harness.h"
#include "tests/server/coordinator/state_harness.h"
#include "tests/server/metrics/metrics_text.h"
#include "tests/server/metrics/rejected_caller.h"

namespace penstock::coordinator {
namespace {

using server::MetricOwner;
using server::MetricsText;

CoordinatorSnapshot SnapshotOf(const CoordinatorState& state, Nanos now) {
  CoordinatorSnapshot snapshot;
  snapshot.status = state.Status(now);
  snapshot.trainers = state.Trainers(now);
  snapshot.trainer_totals = state.trainer_totals().ranks();
  snapshot.job_totals = state.job_totals().jobs();
  for (const std::string& job : state.ReadJobs(now)) {
    v1::ExplainRequest request;
    request.set_job(job);
    snapshot.explanations.push_back(state.Explain(request, now)->jobs(0));
  }
  return snapshot;
}

MetricsText MetricsOf(const StateHarness& h) {
  return MetricsText(CoordinatorMetricsText(SnapshotOf(*h.state, h.now)));
}

// A fleet that reports every second.
struct ReportingFleet {
  StateHarness h;
  std::vector<std::string> workers;
  struct Session {
    std::string id;
    uint32_t rank = 0;
    uint64_t steps = 0;
  };
  std::vector<Session> sessions;
  std::vector<std::string> jobs;
  uint64_t seconds = 0;

  void AddWorker() {
    workers.push_back(absl::StrCat("worker", workers.size()));
    h.Register(workers.back());
  }
  void AddJob(const std::string& name, uint32_t ranks) {
    jobs.push_back(name);
    h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec(name, ranks)));
    h.Work({workers.front()});
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const auto opened = h.Do<v1::OpenSessionReply>(SessionOn(name, rank, ranks));
      sessions.push_back({opened.session_id(), rank, 0});
    }
  }
  v1::WorkerLoad Load() const {
    v1::WorkerLoad load;
    load.set_capacity(500);
    for (const std::string& job : jobs) {
      if (load.jobs_size() == 16) break;
      v1::JobLoad* const of = load.add_jobs();
      of->set_job(job);
      of->set_rows(100 * seconds);
      of->set_timed_rows(10 * seconds);
      of->set_making_seconds(2.0 * static_cast<double>(seconds));
      of->set_streams(1);
      for (const char* name : {"read", "parse", "decode", "resize", "flip", "cast", "store", "deliver", "other"}) {
        v1::StageSeconds* const stage = of->add_stages();
        stage->set_name(name);
        stage->set_seconds(0.01 * static_cast<double>(seconds));
      }
    }
    return load;
  }
  // A second passes: all workers and sessions report. The sessions whose rank is `slow` take no step.
  void Pass(uint32_t slow = UINT32_MAX) {
    h.now += kSecond;
    ++seconds;
    for (const std::string& id : workers) {
      v1::HeartbeatRequest beat = BeatOf(id);
      *beat.mutable_load() = Load();
      h.Do<v1::HeartbeatReply>(beat);
    }
    for (Session& session : sessions) {
      if (session.rank != slow) ++session.steps;
      v1::ReportSessionRequest report;
      report.set_session_id(session.id);
      report.set_position(session.steps);
      report.set_rows(session.steps);
      report.mutable_times()->set_seconds(static_cast<double>(seconds));
      report.mutable_times()->set_steps(session.steps);
      report.mutable_times()->set_waited_seconds(0.3 * static_cast<double>(seconds));
      h.Do<v1::ReportSessionReply>(report);
    }
    h.Apply(Tick());
  }
};

TEST(CoordinatorMetrics, HaveEachMetricOfTheTable) {
  ReportingFleet fleet;
  fleet.AddWorker();
  fleet.AddJob("train", 2);
  for (int i = 0; i < 12; ++i) fleet.Pass();
  v1::BadRecord bad;
  bad.set_record(3);
  bad.set_reason("truncated image");
  fleet.h.ReportBad("worker0", "train", {bad});
  CoordinatorSnapshot snapshot = SnapshotOf(*fleet.h.state, fleet.h.now);
  snapshot.service.disk_bytes = 1000;
  *snapshot.service.callers.Add() = server::Caller("10.0.0.9", "", "limit", 7);
  ASSERT_EQ(snapshot.explanations.size(), 1u);
  snapshot.explanations[0].set_workers_needed(3);
  snapshot.status.mutable_jobs(0)->set_paused_by("eve");
  v1::StatusReply::DatasetStatus* const dataset = snapshot.status.mutable_jobs(0)->add_datasets();
  dataset->set_name("web");
  dataset->set_records(50);
  dataset->set_wanted_share(0.875);
  dataset->set_rows(120);
  dataset->set_passes(2.4);
  const MetricsText text(CoordinatorMetricsText(snapshot));
  EXPECT_EQ(text.Value("penstock_coordinator_caller_rejections{host=\"10.0.0.9\",name=\"\",reason=\"limit\"}"), 7);
  ExpectAllOf(MetricOwner::kCoordinator, text);
  EXPECT_EQ(text.Value("penstock_job_dataset_records{job=\"train\",dataset=\"web\"}"), 50);
  EXPECT_EQ(text.Value("penstock_job_dataset_wanted_ratio{job=\"train\",dataset=\"web\"}"), 0.875);
  EXPECT_EQ(text.Value("penstock_job_dataset_rows{job=\"train\",dataset=\"web\"}"), 120);
  EXPECT_EQ(text.Value("penstock_job_dataset_passes{job=\"train\",dataset=\"web\"}"), 2.4);
  snapshot.status.mutable_jobs(0)->clear_sessions();
  const MetricsText unread(CoordinatorMetricsText(snapshot));
  EXPECT_TRUE(unread.Has("penstock_job_dataset_records{job=\"train\",dataset=\"web\"}"));
  EXPECT_FALSE(unread.Has("penstock_job_dataset_rows{job=\"train\",dataset=\"web\"}"));
  EXPECT_EQ(text.Value("penstock_workers{state=\"live\"}"), 1);
  EXPECT_EQ(text.Value("penstock_workers{state=\"dead\"}"), 0);
  EXPECT_EQ(text.Value("penstock_fleet_worker_state{worker=\"worker0\",state=\"live\"}"), 1);
  EXPECT_EQ(text.Value("penstock_jobs{state=\"ready\"}"), 1);
  EXPECT_EQ(text.Value("penstock_job_state{job=\"train\",state=\"ready\"}"), 1);
  EXPECT_EQ(text.Value("penstock_job_shards{job=\"train\",state=\"indexed\"}"), StateHarness::kShards);
  EXPECT_EQ(text.Value("penstock_job_readers{job=\"train\"}"), 2);
  EXPECT_EQ(text.Value("penstock_job_bad_records_total{job=\"train\",reason=\"truncated image\"}"), 1);
  EXPECT_EQ(text.Value("penstock_job_rows_total{job=\"train\"}"), 1200);
  EXPECT_DOUBLE_EQ(text.Value("penstock_job_thread_seconds_total{job=\"train\",activity=\"making\"}"), 24);
  EXPECT_NEAR(text.Value("penstock_trainer_wait_seconds_total{job=\"train\",rank=\"1\"}"), 3.6, 1e-9);
  EXPECT_EQ(text.Value("penstock_trainer_step_wait_seconds_count{job=\"train\",rank=\"1\"}"), 12);
  EXPECT_EQ(text.Value("penstock_trainer_step_wait_seconds_bucket{job=\"train\",rank=\"1\",le=\"0.5\"}"), 12);
  EXPECT_EQ(text.Value("penstock_trainer_step_wait_seconds_bucket{job=\"train\",rank=\"1\",le=\"0.1\"}"), 0);
}

TEST(CoordinatorMetrics, OneLimitOfAJobHolds) {
  ReportingFleet fleet;
  fleet.AddWorker();
  fleet.AddJob("train", 1);
  for (int i = 0; i < 12; ++i) fleet.Pass();
  const MetricsText text = MetricsOf(fleet.h);
  double sum = 0;
  int limits = 0;
  for (const auto& [series, value] : text.values()) {
    if (!absl::StartsWith(series, "penstock_job_limit{")) continue;
    sum += value;
    ++limits;
  }
  EXPECT_EQ(sum, 1);
  EXPECT_EQ(limits, v1::Explanation::Limit_MAX);  // CAP only while it holds
}

TEST(CoordinatorMetrics, ARankThatLagsIsSomeStepsBehind) {
  ReportingFleet fleet;
  fleet.AddWorker();
  fleet.AddJob("train", 4);
  // A step of this job has as many rows as the job has ranks.
  for (int i = 0; i < 20; ++i) fleet.Pass(2);
  const MetricsText text = MetricsOf(fleet.h);
  EXPECT_EQ(text.Value("penstock_trainer_steps_behind{job=\"train\",rank=\"2\"}"), 5);
  EXPECT_EQ(text.Value("penstock_trainer_steps_behind{job=\"train\",rank=\"3\"}"), 0);
}

TEST(CoordinatorMetrics, ALargeJobHasMinimumMedianAndMaximum) {
  CoordinatorSnapshot snapshot;
  v1::StatusReply::JobStatus* const job = snapshot.status.add_jobs();
  job->set_name("train");
  job->set_state(v1::READY);
  for (uint32_t rank = 0; rank < 257; ++rank) {
    TrainerTotals::Rank& of = snapshot.trainer_totals[{"train", rank}];
    of.sums.rows = 1000 + rank;
    of.sums.steps_by_wait[2] = 10;
    snapshot.trainers.push_back({"train", rank, 257, rank, kSecond});
  }
  const MetricsText text(CoordinatorMetricsText(snapshot));
  EXPECT_EQ(text.Value("penstock_trainer_rows_total{job=\"train\",rank=\"minimum\"}"), 1000);
  EXPECT_EQ(text.Value("penstock_trainer_rows_total{job=\"train\",rank=\"median\"}"), 1128);
  EXPECT_EQ(text.Value("penstock_trainer_rows_total{job=\"train\",rank=\"maximum\"}"), 1256);
  EXPECT_EQ(text.Value("penstock_trainer_steps_behind{job=\"train\",rank=\"maximum\"}"), 256);
  EXPECT_EQ(text.Value("penstock_trainer_step_wait_seconds_count{job=\"train\",rank=\"all\"}"), 2570);
  EXPECT_FALSE(text.Has("penstock_trainer_rows_total{job=\"train\",rank=\"0\"}"));
  snapshot.trainer_totals.erase({"train", 256});
  EXPECT_TRUE(
      MetricsText(CoordinatorMetricsText(snapshot)).Has("penstock_trainer_rows_total{job=\"train\",rank=\"255\"}"));
}

TEST(CoordinatorMetrics, SessionsOfOneRankAreOneSeries) {
  CoordinatorSnapshot snapshot;
  v1::StatusReply::JobStatus* const job = snapshot.status.add_jobs();
  job->set_name("train");
  job->set_state(v1::READY);
  snapshot.trainers = {{"train", 0, 1, 2, kSecond}, {"train", 0, 1, 7, 2 * kSecond}};  // two runs of the job
  const MetricsText text(CoordinatorMetricsText(snapshot));
  EXPECT_EQ(text.Value("penstock_trainer_steps_behind{job=\"train\",rank=\"0\"}"), 7);
}

double CpuMilliseconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// Series that name the object, such as {job="train"}.
size_t SeriesOf(const MetricsText& text, const std::string& object) {
  size_t count = 0;
  for (const auto& [series, value] : text.values())
    count += absl::StrContains(series, absl::StrCat("\"", object, "\""));
  return count;
}

TEST(CoordinatorMetrics, SeriesEndWithinFiveMinutesOfTheirObject) {
  ReportingFleet fleet;
  for (int i = 0; i < 3; ++i) fleet.AddWorker();
  fleet.AddJob("train", 2);
  fleet.AddJob("eval", 2);
  for (int i = 0; i < 5; ++i) fleet.Pass();
  EXPECT_GT(SeriesOf(MetricsOf(fleet.h), "worker2"), 0u);
  EXPECT_GT(SeriesOf(MetricsOf(fleet.h), "eval"), 20u);
  const std::string rank = "penstock_trainer_rows_total{job=\"train\",rank=\"1\"}";
  EXPECT_TRUE(MetricsOf(fleet.h).Has(rank));
  fleet.workers.pop_back();
  v1::CancelRequest cancel;
  cancel.set_job("eval");
  fleet.h.Do<v1::CancelReply>(cancel);
  fleet.sessions.resize(1);  // rank 0 of train
  fleet.Pass();
  EXPECT_EQ(SeriesOf(MetricsOf(fleet.h), "eval"), 0u) << "a job's series end with it";
  for (int i = 0; i < 299; ++i) fleet.Pass();
  const MetricsText text = MetricsOf(fleet.h);
  EXPECT_EQ(SeriesOf(text, "worker2"), 0u);
  EXPECT_EQ(text.Value("penstock_workers{state=\"dead\"}"), 1) << "the number remains";
  EXPECT_FALSE(text.Has(rank));
  EXPECT_TRUE(text.Has("penstock_trainer_rows_total{job=\"train\",rank=\"0\"}"));
  EXPECT_EQ(text.Value("penstock_jobs{state=\"cancelled\"}"), 1);
}

TEST(CoordinatorMetrics, ALostWorkerMayHaveTheNameOfItsSuccessor) {
  CoordinatorSnapshot snapshot;
  for (const auto state : {v1::WorkerStatus::DEAD, v1::WorkerStatus::LIVE}) {
    v1::WorkerStatus* const worker = snapshot.status.add_workers();
    worker->set_name("gpu7");
    worker->set_state(state);
  }
  const MetricsText text(CoordinatorMetricsText(snapshot));  // fails if a series is there twice
  EXPECT_TRUE(text.Has("penstock_fleet_worker_state{worker=\"gpu7\",state=\"live\"}"));
}

// 100 workers, 20 jobs and 1000 trainers have at most 20000 series together: those of the coordinator, those of the
// workers (worker_metrics_test.cc), and those of each process.
TEST(CoordinatorMetrics, ALargeFleetHasABoundedNumberOfSeries) {
  ReportingFleet fleet;
  for (int i = 0; i < 100; ++i) fleet.AddWorker();
  for (int i = 0; i < 20; ++i) fleet.AddJob(absl::StrCat("job", i), 50);
  for (int i = 0; i < 4; ++i) fleet.Pass();
  const double start = CpuMilliseconds();
  const CoordinatorSnapshot snapshot = SnapshotOf(*fleet.h.state, fleet.h.now);
  const double taken = CpuMilliseconds();
  const std::string written = CoordinatorMetricsText(snapshot);
  const double made = CpuMilliseconds();
  ASSERT_EQ(snapshot.explanations.size(), 20u);
  const MetricsText text(written);
  std::printf("%zu series, %zu bytes; CPU time: snapshot %.1f ms, text %.1f ms\n", text.series(), written.size(),
              taken - start, made - taken);
  constexpr size_t kOfWorker = 131, kOfProcess = 13;
  EXPECT_LE(text.series() + 100 * kOfWorker + 101 * kOfProcess, 20000u);
}

class CollectMetricsTest : public ControlLoopTest {};

TEST_F(CollectMetricsTest, TakesTheCountersOfTheLoopAndOfTheStore) {
  Start();
  ASSERT_TRUE(Apply(WorkerCalled("w1")).ok());
  ASSERT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  const auto watch = Watch(1, Revision(), 10'000);
  sim_.RunFor(0);
  std::shared_ptr<CoordinatorSnapshot> snapshot;
  CollectMetrics(loop_.get(), [&](absl::StatusOr<std::shared_ptr<CoordinatorSnapshot>> taken) {
    ASSERT_TRUE(taken.ok()) << taken.status();
    EXPECT_EQ(snapshot, nullptr) << "called twice";
    snapshot = *taken;
  });
  EXPECT_EQ(snapshot, nullptr) << "the caller does not wait";
  sim_.RunFor(0);
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(snapshot->status.workers_size(), 1);
  EXPECT_EQ(snapshot->status.jobs_size(), 1);
  EXPECT_GE(snapshot->service.handled, 2u);
  EXPECT_EQ(snapshot->service.watchers, 1u);
  EXPECT_GE(snapshot->service.stored, 1u);
  EXPECT_EQ(snapshot->service.not_stored, 0u);
  const MetricsText text(CoordinatorMetricsText(*snapshot));
  EXPECT_EQ(text.Value("penstock_coordinator_watchers"), 1);
}

TEST_F(CollectMetricsTest, IsRejectedIfTooManyRequestsWait) {
  ControlLoop::Options options;
  options.max_waiting = 2;
  Start(options);
  for (int i = 0; i < 3; ++i) Begin(WorkerCalled(absl::StrCat("w", i)));
  bool called = false;
  CollectMetrics(loop_.get(), [&](absl::StatusOr<std::shared_ptr<CoordinatorSnapshot>> taken) {
    called = true;
    EXPECT_TRUE(absl::IsResourceExhausted(taken.status()));
  });
  EXPECT_TRUE(called);
  sim_.RunFor(0);
  std::shared_ptr<CoordinatorSnapshot> snapshot;
  CollectMetrics(loop_.get(), [&](absl::StatusOr<std::shared_ptr<CoordinatorSnapshot>> taken) { snapshot = *taken; });
  sim_.RunFor(0);
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(snapshot->service.rejected, 1u);
}

}  // namespace
}  // namespace penstock::coordinator
