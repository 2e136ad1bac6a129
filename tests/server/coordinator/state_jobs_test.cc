// Jobs: submitting, preparing, cancelling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "server/coordinator/snapshot_pieces.h"
#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

TEST(CoordinatorJobs, APreparationPassesEveryStageToReady) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  const auto submitted = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  EXPECT_FALSE(submitted.existed());
  EXPECT_EQ(submitted.job().state(), v1::PREPARING);
  const v1::HeartbeatReply first = h.Beat("a");
  ASSERT_EQ(first.tasks_size(), 1);
  EXPECT_TRUE(first.tasks(0).has_prepare());
  EXPECT_EQ(h.Beat("b").tasks_size(), 0);
  // The reply to the report has the next tasks.
  const auto next = h.Finish("a", first.tasks(0));
  ASSERT_EQ(next.tasks_size(), StateHarness::kShards);
  EXPECT_EQ(h.Job("train").shards_total(), static_cast<uint32_t>(StateHarness::kShards));
  for (int i = 0; i < next.tasks_size(); ++i) {
    EXPECT_TRUE(next.tasks(i).has_index());
    const auto reply = h.Finish("a", next.tasks(i));
    if (i + 1 == next.tasks_size()) {
      ASSERT_EQ(reply.tasks_size(), 1);
      ASSERT_TRUE(reply.tasks(0).has_probe());
      EXPECT_EQ(reply.tasks(0).probe().job().snapshot().shards_size(), StateHarness::kShards);
      h.Finish("a", reply.tasks(0));
    }
  }
  const v1::Job job = h.Job("train");
  EXPECT_EQ(job.state(), v1::READY);
  EXPECT_EQ(job.view().key_space(), StateHarness::kShards * StateHarness::kRecords);
  EXPECT_EQ(h.OwnersOf("train"), (std::set<std::string>{"a", "b"}));
  EXPECT_NE(job.snapshot().fingerprint(), 0u);
}

TEST(CoordinatorJobs, IndexTasksAreSpreadOverAllWorkers) {
  StateHarness h;
  for (const char* id : {"a", "b"}) {
    v1::RegisterWorkerRequest worker = WorkerCalled(id);
    worker.set_threads(1);
    h.Do<v1::RegisterWorkerReply>(worker);
  }
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  const auto next = h.Finish("a", h.Beat("a").tasks(0));
  EXPECT_EQ(next.tasks_size(), 4);
  EXPECT_EQ(h.Beat("b").tasks_size(), 4);
}

TEST(CoordinatorJobs, ATaskIsRepeatedUntilItIsReported) {
  StateHarness h;
  h.Register("a");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  const uint64_t id = h.Beat("a").tasks(0).id();
  EXPECT_EQ(h.Beat("a").tasks(0).id(), id);
}

TEST(CoordinatorJobs, NewTasksAndIndexedShardsWakeWatchers) {
  StateHarness h;
  h.Register("a");
  v1::WatchRequest workers;
  workers.set_known_revision(h.state->revision());
  EXPECT_FALSE(h.state->Watch(workers)->has_value());
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  ASSERT_TRUE(h.state->Watch(workers)->has_value());
  const auto next = h.Finish("a", h.Beat("a").tasks(0));
  v1::WatchRequest job;
  job.set_job("train");
  job.set_known_revision(h.state->revision());
  h.Finish("a", next.tasks(0));
  EXPECT_FALSE(h.state->Watch(job)->has_value());
  h.Apply(Tick());
  ASSERT_TRUE(h.state->Watch(job)->has_value());
  EXPECT_EQ((*h.state->Watch(job))->jobs(0).record().shards_indexed(), 1u);
  auto shards = h.state->ListShards([] {
    v1::ListShardsRequest request;
    request.set_job("train");
    return request;
  }());
  ASSERT_TRUE(shards.ok());
  EXPECT_TRUE(shards->shards(0).indexed());
  EXPECT_FALSE(shards->shards(1).indexed());
}

TEST(CoordinatorJobs, SubmittingTheSameJobAgainChangesNothing) {
  StateHarness h;
  h.Register("a");
  const v1::Job job = h.Prepare("train", {"a"});
  const auto again = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  EXPECT_TRUE(again.existed());
  EXPECT_EQ(again.job().uid(), job.uid());
  EXPECT_EQ(again.job().state(), v1::READY);
}

// The only task of a READY job while a worker checks its files.
v1::Task LookOf(StateHarness& h, const std::string& worker) {
  const auto tasks = TasksIn(h.Beat(worker));
  EXPECT_EQ(tasks.size(), 1u);
  return tasks.empty() ? v1::Task() : tasks[0];
}

TEST(CoordinatorJobs, SubmittingTheSameJobAgainComparesTheFiles) {
  StateHarness h;
  h.Register("a");
  const v1::Job job = h.Prepare("train", {"a"});
  const auto again = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  EXPECT_NE(again.files_look(), 0u);
  EXPECT_EQ(h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train"))).files_look(), again.files_look()) << "one at a time";
  v1::Task task = LookOf(h, "a");
  ASSERT_TRUE(task.has_list());
  v1::ReportTaskRequest report;
  report.set_worker_id("a");
  report.set_task_id(task.id());
  for (const v1::Shard& shard : job.snapshot().shards()) *report.add_files() = shard;
  h.Report(report);
  EXPECT_EQ(h.Job("train").files_look().number(), again.files_look());
  EXPECT_EQ(h.Job("train").files_look().changed(), "");

  const auto third = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  EXPECT_GT(third.files_look(), again.files_look());
  task = LookOf(h, "a");
  report.set_task_id(task.id());
  report.mutable_files(1)->set_size(2000);
  report.mutable_files()->DeleteSubrange(0, 1);
  v1::Shard* added = report.add_files();
  added->set_root("data");
  added->set_path("train-900000");
  h.Report(report);
  EXPECT_EQ(h.Job("train").files_look().number(), third.files_look());
  EXPECT_EQ(
      h.Job("train").files_look().changed(),
      "1 new (data/train-900000), 1 gone (data/train-100000), 1 of another size (data/train-100001: 1000 bytes, 2000 "
      "now)");
  EXPECT_EQ(h.Job("train").state(), v1::READY);
  EXPECT_EQ(h.Job("train").uid(), job.uid());
  EXPECT_EQ(h.Job("train").snapshot().shards_size(), job.snapshot().shards_size());
}

TEST(CoordinatorJobs, AFailedCheckOfTheFilesLeavesTheJobReady) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Prepare("train", {"a", "b"});
  auto again = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  h.Report(h.Failure("a", LookOf(h, "a"), "no", false));
  EXPECT_EQ(h.Job("train").files_look().number(), again.files_look());
  EXPECT_EQ(h.Job("train").files_look().failed(), "no");
  again = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  h.Report(h.Failure("a", LookOf(h, "a"), "stale handle", true));
  h.Report(h.Failure("b", LookOf(h, "b"), "stale handle", true));
  EXPECT_EQ(h.Job("train").files_look().number(), again.files_look());
  EXPECT_THAT(h.Job("train").files_look().failed(), HasSubstr("stale handle"));
  EXPECT_EQ(h.Job("train").state(), v1::READY);
}

// A batch larger than an epoch never has a step.
TEST(CoordinatorJobs, AJobWithoutAStepIsRejectedWithTheNumbersAndASizeThatFits) {
  StateHarness h;
  h.Register("a");
  const uint64_t records = StateHarness::kShards * StateHarness::kRecords;
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train", records + 1)));
  h.Work({"a"});
  EXPECT_EQ(h.Job("train").state(), v1::FAILED);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("an epoch has 200 rows, fewer than one global batch of 201"));
  EXPECT_THAT(h.Job("train").error(), HasSubstr("batch { size: 64 }"));
  v1::JobSpec repeated = SimpleSpec("repeated", records + 1);
  repeated.mutable_order()->set_repeats(2);
  v1::JobSpec padded = SimpleSpec("padded", records + 1);
  padded.mutable_batch()->set_last(v1::PAD);
  for (const v1::JobSpec& spec : {repeated, padded, SimpleSpec("exact", records)}) {
    h.Do<v1::SubmitReply>(SubmitOf(spec));
    h.Work({"a"});
    EXPECT_EQ(h.Job(spec.name()).state(), v1::READY) << spec.name();
  }
}

TEST(CoordinatorJobs, ADifferentSpecOfTheSameNameIsRejectedUnlessItReplaces) {
  StateHarness h;
  h.Register("a");
  const v1::Job job = h.Prepare("train", {"a"});
  const auto session = h.Do<v1::OpenSessionReply>(SessionOn("train"));
  const absl::Status refused = h.StatusOf(SubmitOf(SimpleSpec("train", 20)));
  EXPECT_EQ(refused.code(), Code::kAlreadyExists);
  EXPECT_THAT(Text(refused), HasSubstr("batch.size"));
  const auto replaced = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train", 20), true));
  EXPECT_TRUE(replaced.replaces());
  EXPECT_NE(replaced.job().uid(), job.uid());
  EXPECT_EQ(replaced.job().state(), v1::PREPARING);
  h.Work({"a"});
  v1::ReportSessionRequest report;
  report.set_session_id(session.session_id());
  EXPECT_TRUE(h.Do<v1::ReportSessionReply>(report).unknown_session());
  EXPECT_EQ(h.Job("train").uid(), replaced.job().uid());
  EXPECT_GT(h.Job("train").view().number(), job.view().number());
  EXPECT_EQ(h.Job("train").spec().batch().size(), 20u);
  EXPECT_EQ(h.store.Load()->views(0).view().number(), h.Job("train").view().number());
}

// A mistake in a replacement ends no training.
class CoordinatorReplacing : public ::testing::Test {
 protected:
  CoordinatorReplacing() {
    h.Register("a");
    good = h.Prepare("train", {"a"});
    session = h.Do<v1::OpenSessionReply>(SessionOn("train")).session_id();
    next = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train", 20), true)).job();
  }
  // Whether trainers get the first submission, and its readers continue.
  bool GoodGoesOn() {
    v1::ReportSessionRequest report;
    report.set_session_id(session);
    const auto opened = h.Do<v1::OpenSessionReply>(SessionOn("train"));
    return h.Job("train").uid() == good.uid() && h.Job("train").state() == v1::READY &&
           !h.Do<v1::ReportSessionReply>(report).unknown_session() && opened.job().record().uid() == good.uid();
  }
  v1::JobRecord Next() { return h.JobStatus("train").next(); }
  void Fail() { h.Report(h.Failure("a", TasksIn(h.Beat("a"))[0], "no file matches trian-*", false)); }

  StateHarness h;
  v1::Job good, next;
  std::string session;
};

TEST_F(CoordinatorReplacing, TheJobContinuesUntilItsReplacementIsReady) {
  v1::WatchRequest watch;
  watch.set_job("train");
  watch.set_known_revision(h.state->revision());
  const auto tasks = h.Finish("a", TasksIn(h.Beat("a"))[0]);
  ASSERT_EQ(tasks.tasks_size(), StateHarness::kShards);
  h.Finish("a", tasks.tasks(0));
  h.Apply(Tick());
  EXPECT_TRUE(GoodGoesOn());
  EXPECT_EQ(Next().state(), v1::PREPARING);
  EXPECT_EQ(Next().shards_indexed(), 1u);
  const auto news = h.state->Watch(watch);
  ASSERT_TRUE(news.ok() && news->has_value());
  EXPECT_EQ((*news)->jobs(0).record().uid(), good.uid());
  EXPECT_EQ((*news)->jobs(0).record().next().uid(), next.uid());
  h.Work({"a"});
  EXPECT_EQ(h.Job("train").uid(), next.uid());
  EXPECT_FALSE(h.JobStatus("train").has_next());
}

TEST_F(CoordinatorReplacing, TheJobContinuesAndReportsItsFailedReplacement) {
  Fail();
  EXPECT_TRUE(GoodGoesOn());
  EXPECT_EQ(Next().state(), v1::FAILED);
  EXPECT_EQ(Next().uid(), next.uid());
  EXPECT_EQ(Next().error(), "no file matches trian-*");
  h.Restart();
  h.Register("a");
  EXPECT_EQ(Next().error(), "no file matches trian-*");
  EXPECT_EQ(h.Job("train").state(), v1::READY);
  // A repeated submission of the current job cancels the replacement.
  EXPECT_TRUE(h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train"))).existed());
  EXPECT_FALSE(h.JobStatus("train").has_next());
  EXPECT_FALSE(h.store.Load()->jobs(0).has_next());
}

TEST_F(CoordinatorReplacing, APreparationBesidesAJobStartsAgainAfterARestart) {
  h.Finish("a", TasksIn(h.Beat("a"))[0]);
  h.Restart();
  h.Register("a");
  EXPECT_EQ(h.Job("train").uid(), good.uid());
  h.Work({"a"});
  EXPECT_EQ(h.Job("train").uid(), next.uid());
  EXPECT_EQ(h.Job("train").state(), v1::READY);
}

TEST_F(CoordinatorReplacing, TheLastOfSeveralReplacementsWins) {
  const auto same = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train", 20)));
  EXPECT_TRUE(same.existed());
  EXPECT_EQ(same.job().uid(), next.uid());
  const auto tasks = TasksIn(h.Beat("a"));
  const auto third = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train", 40), true));
  h.Finish("a", tasks[0]);  // a task of the preceding replacement: it no longer counts
  EXPECT_EQ(Next().uid(), third.job().uid());
  h.Work({"a"});
  EXPECT_EQ(h.Job("train").spec().batch().size(), 40u);
}

TEST_F(CoordinatorReplacing, CancelAndDeleteEndTheJobAndItsReplacement) {
  v1::CancelRequest cancel;
  cancel.set_job("train");
  h.Do<v1::CancelReply>(cancel);
  h.Work({"a"});
  EXPECT_EQ(h.Job("train").state(), v1::CANCELLED);
  EXPECT_FALSE(h.JobStatus("train").has_next());
  h.Prepare("train", {"a"});
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train", 20), true));
  v1::DeleteRequest request;
  request.set_job("train");
  request.set_running(true);
  h.Do<v1::DeleteReply>(request);
  h.Work({"a"});
  EXPECT_FALSE(h.state->FindJob("train").has_value());
}

TEST(CoordinatorJobs, InvalidJobsAreRejected) {
  StateHarness h;
  v1::JobSpec spec = SimpleSpec("train");
  spec.clear_dataset();
  EXPECT_EQ(h.StatusOf(SubmitOf(spec)).code(), Code::kInvalidArgument);
  spec = SimpleSpec("no/slashes");
  EXPECT_EQ(h.StatusOf(SubmitOf(spec)).code(), Code::kInvalidArgument);
  spec = SimpleSpec("train");
  spec.mutable_order()->set_repeats(70000);
  EXPECT_EQ(h.StatusOf(SubmitOf(spec)).code(), Code::kInvalidArgument);
  spec = SimpleSpec("train");
  spec.mutable_features(0)->set_key(std::string(2 << 20, 'k'));
  EXPECT_EQ(h.StatusOf(SubmitOf(spec)).code(), Code::kInvalidArgument);
}

TEST(CoordinatorJobs, ASnapshotTooLargeForAMessageIsRejected) {
  StateOptions options;
  options.max_snapshot_bytes = 300;
  StateHarness h(options);
  h.Register("a");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  h.Finish("a", h.Beat("a").tasks(0));
  EXPECT_THAT(h.Job("train").error(), HasSubstr("at most 300"));
  EXPECT_THAT(h.Job("train").error(), HasSubstr("fewer, larger shards"));
}

TEST(CoordinatorJobs, AnEndedJobIsDeletedAndARunningJobOnlyIfRequested) {
  StateHarness h;
  h.Register("a");
  h.Prepare("train", {"a"});
  h.Do<v1::OpenSessionReply>(SessionOn("train"));
  v1::DeleteRequest request;
  request.set_job("train");
  const absl::Status refused = h.StatusOf(request);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(Text(refused), HasSubstr("job train is ready, with 1 reader; "));
  EXPECT_THAT(Text(refused), HasSubstr("penstock cancel train"));
  v1::CancelRequest cancel;
  cancel.set_job("train");
  h.Do<v1::CancelReply>(cancel);
  const uint64_t known = h.state->revision();
  h.Do<v1::DeleteReply>(request);
  EXPECT_FALSE(h.state->FindJob("train").has_value());
  EXPECT_EQ(h.state->Status(h.now).jobs_size(), 0);
  EXPECT_EQ(h.store.Load()->jobs_size(), 0);
  v1::WatchRequest watch;
  watch.set_known_revision(known);
  EXPECT_THAT((*h.state->Watch(watch))->removed(), ::testing::ElementsAre("train"));
  EXPECT_EQ(h.StatusOf(request).code(), Code::kNotFound);

  h.Prepare("more", {"a"});
  request.set_job("more");
  request.set_running(true);
  h.Do<v1::DeleteReply>(request);
  EXPECT_FALSE(h.state->FindJob("more").has_value());
}

TEST(CoordinatorJobs, ACancelledJobIsUnknownToTrainersAndCanBeSubmittedAgain) {
  StateHarness h;
  h.Register("a");
  h.Prepare("train", {"a"});
  h.Prepare("eval", {"a"});
  v1::CancelRequest cancel;
  cancel.set_job("train");
  h.Do<v1::CancelReply>(cancel);
  h.Do<v1::CancelReply>(cancel);
  EXPECT_EQ(h.Job("train").state(), v1::CANCELLED);
  const absl::Status open = h.StatusOf(SessionOn("train"));
  EXPECT_EQ(open.code(), Code::kNotFound);
  EXPECT_THAT(Text(open), HasSubstr("there are: eval"));
  cancel.set_job("other");
  EXPECT_EQ(h.StatusOf(cancel).code(), Code::kNotFound);
  EXPECT_FALSE(h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train", 30))).existed());
}

TEST(CoordinatorJobs, ACallerThatMayReadSomeJobsLearnsNoNameOfAnother) {
  StateHarness h;
  h.Register("a");
  h.Prepare("team-train", {"a"});
  h.Prepare("secret", {"a"});
  h.caller.name = "trainer";
  h.caller.jobs = {"team-*"};
  v1::CancelRequest cancel;
  cancel.set_job("team-x");
  v1::ExplainRequest explain;
  explain.set_job("team-x");
  for (const absl::Status& missing :
       {h.StatusOf(SessionOn("team-x")), h.StatusOf(cancel), h.state->StatusOf("team-x", h.now, h.caller).status(),
        h.state->Explain(explain, h.now, h.caller).status()}) {
    EXPECT_EQ(missing.code(), Code::kNotFound);
    EXPECT_THAT(Text(missing), AllOf(HasSubstr("there are: team-train"), Not(HasSubstr("secret"))));
  }
  h.caller.jobs = {"other-*"};
  EXPECT_EQ(Text(h.StatusOf(SessionOn("other-x"))), "no job \"other-x\"");
}

TEST(CoordinatorJobs, ARestartKeepsReadyJobsAndStartsPreparationsAgain) {
  StateHarness h;
  h.Register("a");
  const v1::Job ready = h.Prepare("train", {"a"});
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("eval")));
  h.Restart();
  const v1::Job after = h.Job("train");
  EXPECT_EQ(after.uid(), ready.uid());
  EXPECT_EQ(after.view().SerializeAsString(), ready.view().SerializeAsString());
  EXPECT_EQ(after.order_fingerprint(), ready.order_fingerprint());
  EXPECT_GT(after.revision(), ready.revision());
  EXPECT_EQ(h.Job("eval").state(), v1::PREPARING);
  h.Work({"a"});
  EXPECT_EQ(h.Job("eval").state(), v1::READY);
}

TEST(CoordinatorJobs, AContradictoryStoreIsRejected) {
  v1::StoredState stored;
  v1::StoredView* view = stored.add_views();
  view->set_job("gone");
  EXPECT_EQ(CoordinatorState::Restore({}, 0, 1, stored).status().code(), Code::kDataLoss);
  v1::StoredJob* job = stored.add_jobs();
  job->mutable_job()->set_name("gone");
  job->mutable_job()->set_state(v1::READY);
  view->mutable_view()->set_key_space(7);
  view->mutable_view()->add_ranges()->set_end(3);
  EXPECT_EQ(CoordinatorState::Restore({}, 0, 1, stored).status().code(), Code::kDataLoss);
  view->mutable_view()->clear_ranges();
  EXPECT_EQ(CoordinatorState::Restore({}, 0, 1, stored).status().code(), Code::kDataLoss);
  stored.clear_views();
  v1::Snapshot shards;
  shards.add_shards()->set_path("b");
  shards.add_shards()->set_path("a");
  const SnapshotPiece piece = CutIntoPieces(shards.SerializeAsString()).at(0);
  job->add_pieces(piece.name);
  EXPECT_THAT(Text(CoordinatorState::Restore({}, 0, 1, stored).status()),
              HasSubstr(absl::StrCat("job gone: the snapshot's piece ", piece.name, " is missing")));
  stored.add_pieces()->set_name(piece.name);
  stored.mutable_pieces(0)->set_data(piece.data);
  EXPECT_EQ(CoordinatorState::Restore({}, 0, 1, stored).status().code(), Code::kDataLoss);
}

TEST(CoordinatorJobs, ThePolicyByRankDividesTheStepAndNotTheData) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  v1::JobSpec spec = SimpleSpec("train");
  spec.mutable_assignment()->set_policy(v1::BY_RANK);
  h.Do<v1::SubmitReply>(SubmitOf(spec));
  h.Work({"a", "b"});
  EXPECT_EQ(h.Job("train").view().key_space(), plan::kRankKeySpace);
  EXPECT_EQ(h.Job("train").view().policy(), v1::BY_RANK);
  EXPECT_NEAR(h.Worker("a").owned_records(), StateHarness::kShards * StateHarness::kRecords / 2, 20);
}

TEST(CoordinatorJobs, TheWorkerWithTheMostRootsExpandsGlobs) {
  StateHarness h;
  h.Register("a");
  v1::RegisterWorkerRequest b = WorkerCalled("b");
  b.add_roots("more");
  h.Do<v1::RegisterWorkerReply>(b);
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  EXPECT_EQ(h.Beat("a").tasks_size(), 0);
  EXPECT_EQ(h.Beat("b").tasks_size(), 1);
}

// The job keeps the flag with any worker, and after a restart of the coordinator.
TEST(CoordinatorJobs, TheJobKeepsItsPermissionForMissingKeys) {
  StateHarness h;
  h.Register("w1");
  v1::SubmitRequest request = SubmitOf(SimpleSpec("train"));
  request.set_allow_missing(true);
  h.Do<v1::SubmitReply>(request);
  h.Restart();
  h.Register("w1");
  bool probed = false;
  for (int round = 0; round < 20 && !probed; ++round) {
    for (const v1::Task& task : TasksIn(h.Beat("w1"))) {
      if (task.has_probe()) {
        probed = true;
        EXPECT_TRUE(task.probe().job().allow_missing());
      }
      h.Finish("w1", task);
    }
  }
  EXPECT_TRUE(probed);
}

}  // namespace
}  // namespace penstock::coordinator
