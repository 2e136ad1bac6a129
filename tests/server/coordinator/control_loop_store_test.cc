// The control loop and a failing store: what the loop confirms, and when it stores it.
#include <string>
#include <variant>
#include <vector>

#include "tests/server/coordinator/control_loop_harness.h"

namespace penstock {
namespace {

using ::testing::HasSubstr;
using ControlLoopStoreTest = ControlLoopTest;

TEST_F(ControlLoopStoreTest, WhatCannotBeStoredIsNotConfirmedAndIsStoredLater) {
  Start();
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  const absl::Status refused = Apply(WorkerCalled("a"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("disk full"));
  // A heartbeat stores nothing, so heartbeats continue.
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

TEST_F(ControlLoopStoreTest, AStoreThatFailsWithTheVeryRequestIsSaidAsSuch) {
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

TEST_F(ControlLoopStoreTest, ADecisionAboutARecordIsNotToldBeforeItIsStored) {
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
    ASSERT_EQ(tasks.size(), 1u);
    v1::ReportTaskRequest report;
    report.set_worker_id("a");
    report.set_task_id(tasks[0].id());
    report.add_checks()->set_record(17);
    report.mutable_checks(0)->set_copy(v1::RecordCheck::DAMAGED);
    ASSERT_TRUE(Apply(report).ok());
  };
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  check();
  ASSERT_TRUE(Apply(judge).ok());
  EXPECT_TRUE(std::get<v1::JudgeRecordsReply>(reply_).bad().empty());
  judge.add_decided()->set_record(18);
  EXPECT_FALSE(Apply(judge).ok()) << "a reader's own decision is not stored";
  judge.clear_decided();
  store_.FailWith(absl::OkStatus());
  // The reader asks again, and the workers check the copies again.
  ASSERT_TRUE(Apply(judge).ok());
  check();
  ASSERT_TRUE(Apply(judge).ok());
  EXPECT_THAT(std::get<v1::JudgeRecordsReply>(reply_).bad(), ::testing::ElementsAre(17));
  EXPECT_EQ(store_.Load()->decisions_size(), 1);
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
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("there"))).ok());
  EXPECT_TRUE(Apply(WorkerCalled("a")).ok());
  const std::string before = Job("there");
  const uint64_t revision = Revision();
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  for (const Request& request :
       {Request(SubmitOf(SimpleSpec("new"))), Request(SubmitOf(other, true)), Request(cancel), Request(remove)}) {
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

TEST_F(ControlLoopStoreTest, AJobIsReadyOnceThatIsStored) {
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

TEST_F(ControlLoopStoreTest, WhatCouldNotBeStoredIsTriedOnceMoreAtTheEnd) {
  Start();
  store_.FailWith(absl::ResourceExhaustedError("coordinator.db: disk full"));
  EXPECT_FALSE(Apply(WorkerCalled("a")).ok());
  store_.FailWith(absl::OkStatus());
  loop_.reset();
  EXPECT_EQ(store_.Load()->workers_size(), 1);
}

TEST_F(ControlLoopStoreTest, AConfirmedRequestIsStored) {
  Start();
  EXPECT_TRUE(Apply(SubmitOf(SimpleSpec("train"))).ok());
  EXPECT_EQ(store_.Load()->jobs_size(), 1);
}

}  // namespace
}  // namespace penstock
