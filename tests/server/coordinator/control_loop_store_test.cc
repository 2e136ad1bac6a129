// The control loop and the outcomes of its commits: what it confirms and publishes, and when.
#include <string>
#include <variant>
#include <vector>

#include "tests/server/coordinator/control_loop_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;
using ControlLoopStoreTest = ControlLoopTest;

TEST_F(ControlLoopStoreTest, WorkersDoNotWaitForTheStoreAndAreStoredLater) {
  Start();
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());
  const auto beat = Begin(BeatOf("a"));
  sim_.RunFor(ControlLoop::Options().tick);
  ASSERT_TRUE(beat->has_value());
  EXPECT_TRUE((*beat)->ok());
  // The loop starts no job that it would forget. The error names the disk; it does not look like a missing coordinator.
  const absl::Status no_job = Apply(SubmitOf(SimpleSpec("train")));
  EXPECT_EQ(no_job.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(no_job.message()), HasSubstr("disk full. Nothing has changed"));
  store_.FailWith(absl::OkStatus());
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  EXPECT_EQ(store_.Load()->workers_size(), 1);
  EXPECT_EQ(store_.Load()->jobs_size(), 1);
}

TEST_F(ControlLoopStoreTest, AStoreErrorOfTheRequestIsReportedAsAStoreError) {
  Start();
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  const absl::Status full = Apply(SubmitOf(SimpleSpec("train")));
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("the coordinator cannot store this: coordinator.db: disk full"));
  EXPECT_THAT(std::string(full.message()), HasSubstr("Nothing has changed"));
  // UNAVAILABLE from a busy store would look like a missing coordinator.
  store_.FailWith(absl::UnavailableError("coordinator.db: another process uses it"));
  EXPECT_EQ(Apply(SubmitOf(SimpleSpec("other"))).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ControlLoopStoreTest, ADecisionAboutARecordIsNotPublishedBeforeItIsStored) {
  Start();
  ASSERT_TRUE(Apply(WorkerCalled("a")).ok());
  ASSERT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  const auto beat = [this] {
    Begin(BeatOf("a"));
    sim_.RunFor(ControlLoop::Options().tick);
    return TasksIn(std::get<v1::HeartbeatReply>(reply_));
  };
  for (std::vector<v1::Task> tasks = beat(); !tasks.empty();) {
    ASSERT_TRUE(Apply(DoneBy("a", tasks[0], 2, 100)).ok());
    tasks = TasksIn(std::get<v1::ReportTaskReply>(reply_));
  }
  ASSERT_TRUE(Apply(SessionOn("train")).ok());
  const auto opened = std::get<v1::OpenSessionReply>(reply_);
  v1::JudgeRecordsRequest judge;
  judge.set_session_id(opened.session_id());
  judge.set_job_uid(opened.job().record().uid());
  judge.add_records(17);
  ASSERT_TRUE(Apply(judge).ok());
  const auto check = [&] {
    const std::vector<v1::Task> tasks = beat();
    EXPECT_EQ(tasks.size(), 1u);
    v1::ReportTaskRequest report;
    report.set_worker_id("a");
    report.set_task_id(tasks[0].id());
    report.add_checks()->set_record(17);
    report.mutable_checks(0)->set_copy(v1::RecordCheck::DAMAGED);
    return Apply(report);
  };
  const auto judged = [&] {
    EXPECT_TRUE(Apply(judge).ok());
    return std::get<v1::JudgeRecordsReply>(reply_);
  };
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  EXPECT_EQ(check().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(judged().bad(), ::testing::IsEmpty());
  v1::JudgeRecordsRequest own = judge;
  own.add_decided()->set_record(18);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Apply(own).code(), absl::StatusCode::kUnavailable) << "a reader's own decision is not stored";
  }
  EXPECT_EQ(BadRecords(), 0u);
  // The decisions are stored with a later commit, each once.
  store_.FailWith(absl::OkStatus());
  sim_.RunFor(ControlLoop::Options().tick);
  EXPECT_THAT(judged().bad(), ::testing::ElementsAre(17));
  EXPECT_TRUE(Apply(own).ok());
  EXPECT_EQ(BadRecords(), 1u);
  ASSERT_EQ(store_.Load()->decisions_size(), 1);
  ASSERT_EQ(store_.Load()->decisions(0).records_size(), 2);
  EXPECT_EQ(store_.Load()->decisions(0).records(0).record(), 17u);
  EXPECT_EQ(store_.Load()->decisions(0).records(1).record(), 18u);
}

TEST_F(ControlLoopStoreTest, JobsChangeWithTheirCommitOrNotAtAll) {
  Start();
  v1::JobSpec other = SimpleSpec("there");
  other.mutable_batch()->set_size(20);
  v1::CancelRequest cancel;
  cancel.set_job("there");
  v1::DeleteRequest remove;
  remove.set_job("there");
  remove.set_running(true);
  v1::PurgeRequest purge;
  purge.set_job("there");
  purge.set_running(true);
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("there"))).ok());
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());
  const std::string before = Job("there");
  const uint64_t revision = Revision();
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  for (const Request& request : {Request(SubmitOf(SimpleSpec("new"))), Request(SubmitOf(other, true)), Request(cancel),
                                 Request(remove), Request(purge)}) {
    EXPECT_EQ(Apply(request).code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(Job("there"), before);
    EXPECT_EQ(Job("new"), "");
    EXPECT_EQ(Revision(), revision);
  }
  // The requests take no effect later either.
  store_.FailWith(absl::OkStatus());
  sim_.RunFor(kSecond);
  EXPECT_EQ(store_.Load()->jobs_size(), 1);
  EXPECT_EQ(store_.Load()->jobs(0).job().spec().batch().size(), SimpleSpec("there").batch().size());
  EXPECT_TRUE(Apply(SubmitOf(other, true)).ok());
  EXPECT_EQ(store_.Load()->jobs(0).job().spec().batch().size(), 20u);
  EXPECT_TRUE(Apply(cancel).ok());
  EXPECT_EQ(store_.Load()->jobs(0).job().state(), v1::CANCELLED);
  EXPECT_TRUE(Apply(remove).ok());
  EXPECT_EQ(store_.Load()->jobs_size(), 0);
}

TEST_F(ControlLoopStoreTest, AJobIsReadyAfterItsStateIsStored) {
  Start();
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  const auto tasks = [&] {
    Begin(BeatOf("a"));
    sim_.RunFor(ControlLoop::Options().tick);
    return TasksIn(std::get<v1::HeartbeatReply>(reply_));
  };
  for (const v1::Task& task : tasks()) EXPECT_TRUE(Apply(DoneBy("a", task, 1, 25)).ok());  // the globs
  for (const v1::Task& task : tasks()) EXPECT_TRUE(Apply(DoneBy("a", task, 1, 25)).ok());  // the index
  const std::vector<v1::Task> probe = tasks();
  ASSERT_EQ(probe.size(), 1u);
  ASSERT_TRUE(probe[0].has_probe());
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  EXPECT_EQ(Apply(DoneBy("a", probe[0], 1, 25)).code(), absl::StatusCode::kUnavailable);
  v1::Job job;
  ASSERT_TRUE(job.ParseFromString(Job("train")));
  EXPECT_EQ(job.state(), v1::PREPARING);
  EXPECT_THAT(job.waiting(), HasSubstr("disk full"));
  // The coordinator gives the worker the task again, and the commit makes the job READY.
  ASSERT_EQ(tasks().size(), 1u);
  store_.FailWith(absl::OkStatus());
  EXPECT_TRUE(Apply(DoneBy("a", probe[0], 1, 25)).ok());
  ASSERT_TRUE(job.ParseFromString(Job("train")));
  EXPECT_EQ(job.state(), v1::READY);
  EXPECT_EQ(job.waiting(), "");
  EXPECT_EQ(store_.Load()->jobs(0).job().state(), v1::READY);
}

TEST_F(ControlLoopStoreTest, UnstoredFactsAreCommittedOnceMoreAtTheEnd) {
  Start();
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());
  bool closed = false;
  loop_->Close([&] { closed = true; });
  sim_.RunFor(0);
  EXPECT_TRUE(closed) << "the loop does not wait for a store that fails";
  store_.FailWith(absl::OkStatus());
  closed = false;
  loop_->Close([&] { closed = true; });
  EXPECT_FALSE(closed);
  sim_.RunFor(0);
  EXPECT_TRUE(closed);
  EXPECT_EQ(store_.Load()->workers_size(), 1);
}

TEST_F(ControlLoopStoreTest, AJobIsVisibleAfterItsCommit) {
  Start();
  store_.Hold(true);
  const auto submitted = Begin(SubmitOf(SimpleSpec("train")));
  const auto watch = Watch(1, Revision(), 30'000);
  sim_.RunFor(kSecond);
  EXPECT_FALSE(submitted->has_value());
  EXPECT_FALSE(watch->has_value());
  EXPECT_EQ(Job("train"), "");
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());  // does not wait
  store_.Hold(false);
  sim_.RunFor(0);
  ASSERT_TRUE(submitted->has_value());
  EXPECT_TRUE((*submitted)->ok());
  EXPECT_TRUE(watch->has_value());
  EXPECT_NE(Job("train"), "");
}

TEST_F(ControlLoopStoreTest, RequestsDuringACommitShareTheNextCommit) {
  Start();
  store_.Hold(true);
  std::vector<std::shared_ptr<std::optional<absl::Status>>> submitted;
  for (const char* name : {"a", "b", "c", "d"}) {
    submitted.push_back(Begin(SubmitOf(SimpleSpec(name))));
    sim_.RunFor(kMillisecond);
  }
  EXPECT_EQ(store_.commits(), 1u);
  store_.Hold(false);
  sim_.RunFor(0);
  EXPECT_EQ(store_.commits(), 2u);
  for (const auto& done : submitted) EXPECT_TRUE(done->has_value() && (*done)->ok());
  EXPECT_EQ(store_.Load()->jobs_size(), 4);
}

TEST_F(ControlLoopStoreTest, RequestsForAJobWaitForTheChangeBeforeThem) {
  Start();
  store_.Hold(true);
  const auto submitted = Begin(SubmitOf(SimpleSpec("train")));
  sim_.RunFor(0);
  v1::CancelRequest cancel;
  cancel.set_job("train");
  v1::DeleteRequest remove;
  remove.set_job("train");
  const auto again = Begin(SubmitOf(SimpleSpec("train")));
  const auto cancelled = Begin(cancel);
  const auto removed = Begin(remove);
  sim_.RunFor(kSecond);
  EXPECT_FALSE(again->has_value() || cancelled->has_value() || removed->has_value());
  store_.Hold(false);
  sim_.RunFor(0);
  for (const auto& done : {submitted, again, cancelled, removed}) {
    ASSERT_TRUE(done->has_value());
    EXPECT_TRUE((*done)->ok()) << **done;
  }
  EXPECT_EQ(store_.Load()->jobs_size(), 0);
}

TEST_F(ControlLoopStoreTest, RequestsThatWaitForAChangeFailWithItsCommit) {
  Start();
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  const std::string before = Job("train");
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  store_.Hold(true);
  v1::CancelRequest cancel;
  cancel.set_job("train");
  const auto first = Begin(cancel);
  sim_.RunFor(0);
  const auto second = Begin(cancel);
  sim_.RunFor(0);
  store_.Hold(false);
  sim_.RunFor(0);
  for (const auto& done : {first, second}) {
    ASSERT_TRUE(done->has_value());
    EXPECT_EQ((*done)->code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_EQ(Job("train"), before);
}

TEST_F(ControlLoopStoreTest, AJobFailsAfterItsFailureIsStored) {
  Start();
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  Begin(BeatOf("a"));
  sim_.RunFor(ControlLoop::Options().tick);
  const std::vector<v1::Task> tasks = TasksIn(std::get<v1::HeartbeatReply>(reply_));
  ASSERT_EQ(tasks.size(), 1u);
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  v1::ReportTaskRequest failed;
  failed.set_worker_id("a");
  failed.set_task_id(tasks[0].id());
  failed.set_code(static_cast<int>(absl::StatusCode::kNotFound));
  failed.set_message("no such feature");
  EXPECT_EQ(Apply(failed).code(), absl::StatusCode::kUnavailable);
  v1::Job job;
  ASSERT_TRUE(job.ParseFromString(Job("train")));
  EXPECT_EQ(job.state(), v1::PREPARING);
  store_.FailWith(absl::OkStatus());
  sim_.RunFor(ControlLoop::Options().tick);
  ASSERT_TRUE(job.ParseFromString(Job("train")));
  EXPECT_EQ(job.state(), v1::FAILED);
  EXPECT_EQ(job.error(), "no such feature");
  EXPECT_EQ(store_.Load()->jobs(0).job().state(), v1::FAILED);
}

TEST_F(ControlLoopStoreTest, AnUnknownCommitIsSettledBeforeTheAnswer) {
  for (const bool stored : {true, false}) {
    SCOPED_TRACE(stored);
    Start();
    const std::string name = stored ? "kept" : "lost";
    store_.LoseNextOutcome(stored, 3);
    const auto submitted = Begin(SubmitOf(SimpleSpec(name)));
    sim_.RunFor(0);
    EXPECT_FALSE(submitted->has_value());
    EXPECT_EQ(Job(name), "");
    sim_.RunFor(kSecond);
    ASSERT_TRUE(submitted->has_value());
    EXPECT_EQ((*submitted)->ok(), stored) << **submitted;
    EXPECT_EQ(Job(name) != "", stored);
    EXPECT_EQ(store_.Load()->jobs_size(), stored ? 1 : 0);
    EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("next"))).ok());
    v1::DeleteRequest remove;
    remove.set_running(true);
    remove.set_job("next");
    EXPECT_TRUE(Apply(remove).ok());
    remove.set_job(name);
    EXPECT_EQ(Apply(remove).ok(), stored);
  }
}

TEST_F(ControlLoopStoreTest, ASupersededLoopStoresNothingAndRejectsRequests) {
  ControlLoop::Options options;
  std::vector<absl::Status> superseded;
  options.on_superseded = [&](const absl::Status& why) { superseded.push_back(why); };
  Start(options);
  EXPECT_EQ(Serving(), "");
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("there"))).ok());
  const auto watch = Watch(1, Revision(), 30'000);
  sim_.RunFor(0);
  store_.Supersede();
  store_.Hold(true);
  const auto submitted = Begin(SubmitOf(SimpleSpec("train")));
  sim_.RunFor(0);
  v1::CancelRequest cancel;
  cancel.set_job("train");
  const auto held = Begin(cancel);
  const auto next = Begin(SubmitOf(SimpleSpec("other")));
  sim_.RunFor(0);
  EXPECT_TRUE(superseded.empty());
  store_.Hold(false);
  sim_.RunFor(0);
  ASSERT_EQ(superseded.size(), 1u);
  for (const auto& done : {submitted, held, next}) {
    ASSERT_TRUE(done->has_value());
    EXPECT_EQ((*done)->code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string((*done)->message()), HasSubstr("another coordinator has taken over"));
  }
  EXPECT_EQ(CodeOf(watch), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Job("train"), "");
  EXPECT_THAT(Serving(), HasSubstr("another coordinator has taken over"));
  // Nothing is served or stored afterwards.
  const size_t commits = store_.commits();
  const auto late = Watch(2, 0, 0);
  const auto beat = Begin(BeatOf("a"));
  EXPECT_EQ(Apply(WorkerCalled("a")).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Apply(SubmitOf(SimpleSpec("more"))).code(), absl::StatusCode::kFailedPrecondition);
  sim_.RunFor(kSecond);
  EXPECT_EQ(CodeOf(late), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(beat->has_value());
  EXPECT_EQ((*beat)->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(store_.commits(), commits);
  EXPECT_EQ(store_.Load()->jobs_size(), 1);
  EXPECT_EQ(superseded.size(), 1u);
}

TEST_F(ControlLoopStoreTest, AnUnknownCommitFollowedByAnotherWriterEndsTheLoop) {
  ControlLoop::Options options;
  int superseded = 0;
  options.on_superseded = [&](const absl::Status&) { ++superseded; };
  Start(options);
  store_.LoseNextOutcome(true, 1);
  const auto submitted = Begin(SubmitOf(SimpleSpec("train")));
  sim_.RunFor(0);
  store_.Supersede();
  sim_.RunFor(kSecond);
  EXPECT_EQ(superseded, 1);
  ASSERT_TRUE(submitted->has_value());
  EXPECT_THAT(std::string((*submitted)->message()), HasSubstr("penstock status"));
}

TEST_F(ControlLoopStoreTest, AConfirmedRequestIsStored) {
  Start();
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  EXPECT_EQ(store_.Load()->jobs_size(), 1);
}

}  // namespace
}  // namespace penstock::coordinator
