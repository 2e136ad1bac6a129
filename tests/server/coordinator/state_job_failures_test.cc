// Jobs whose preparation fails: errors of the job, workers at fault, late or dead, reports that contradict themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;
using Code = absl::StatusCode;

TEST(CoordinatorJobFailures, AnErrorOfTheJobFailsItAtOnceAndItCanBeSubmittedAgain) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  const v1::Task task = h.Beat("a").tasks(0);
  h.Report(h.Failure("a", task, "no file matches train-*", false));
  EXPECT_EQ(h.Job("train").state(), v1::FAILED);
  EXPECT_EQ(h.Job("train").error(), "no file matches train-*");
  const absl::Status open = h.StatusOf(SessionOn("train"));
  EXPECT_EQ(open.code(), Code::kFailedPrecondition);
  EXPECT_THAT(Text(open), HasSubstr("no file matches train-*"));
  // The same job, or a corrected one, starts again without --replace.
  EXPECT_FALSE(h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train"))).existed());
  h.Report(h.Failure("a", h.Beat("a").tasks(0), "", false));
  EXPECT_EQ(h.Job("train").error(), "NOT_FOUND");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train", 20)));
  h.Work({"a"});
  EXPECT_EQ(h.Job("train").state(), v1::READY);
}

TEST(CoordinatorJobFailures, ATaskGoesFromAFaultyWorkerToAnotherBeforeTheJobFails) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  const v1::Task task = h.Beat("a").tasks(0);
  h.Report(h.Failure("a", task, "Input/output error", true));
  EXPECT_EQ(h.Beat("a").tasks_size(), 0);
  ASSERT_EQ(h.Beat("b").tasks_size(), 1);
  EXPECT_EQ(h.Job("train").state(), v1::PREPARING);
  h.Report(h.Failure("b", task, "Stale file handle", true));
  EXPECT_EQ(h.Job("train").state(), v1::FAILED);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("worker b: Stale file handle"));
  EXPECT_THAT(h.Job("train").error(), HasSubstr("tried on a, b"));
}

TEST(CoordinatorJobFailures, AShortageOfMemoryIsRetriedOnAllWorkersAndNamed) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  v1::Task task = h.Beat("a").tasks(0);
  const auto fail = [&h, &task](const std::string& worker) {
    v1::ReportTaskRequest report = h.Failure(worker, task, "listing /data: Cannot allocate memory", true);
    report.set_shortage(true);
    h.Report(report);
  };
  for (int round = 0; round < 20; ++round) {
    fail("a");
    EXPECT_THAT(h.Job("train").waiting(), HasSubstr("worker a: listing /data: Cannot allocate memory"));
    ASSERT_EQ(h.Beat("b").tasks_size(), 1) << round;
    fail("b");
    EXPECT_EQ(h.Job("train").state(), v1::PREPARING) << round;
    EXPECT_THAT(h.Job("train").waiting(), HasSubstr("worker b: listing /data: Cannot allocate memory"));
    EXPECT_EQ(h.Beat("a").tasks_size(), 0) << "without a pause";
    h.Pass(3 * kSecond, {"a", "b"});
    ASSERT_EQ(h.Beat("a").tasks_size(), 1) << round;
    task = h.Beat("a").tasks(0);
  }
  h.Finish("a", task);
  EXPECT_EQ(h.Job("train").waiting(), "");
  h.Work({"a", "b"});
  EXPECT_EQ(h.Job("train").state(), v1::READY);
}

TEST(CoordinatorJobFailures, AFailureCountsOnlyFromTheWorkerThatHasTheTask) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  const v1::Task task = h.Beat("a").tasks(0);
  h.Report(h.Failure("b", task, "late", false));
  h.Report(h.Failure("nobody", task, "late", false));
  EXPECT_EQ(h.Job("train").state(), v1::PREPARING);
  // A result counts from any worker, but only once.
  h.Finish("b", task);
  h.Finish("a", task);
  EXPECT_EQ(h.Job("train").shards_total(), static_cast<uint32_t>(StateHarness::kShards));
}

TEST(CoordinatorJobFailures, TheTasksOfADeadOrRestartedWorkerGoToAnother) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  ASSERT_EQ(h.Beat("a").tasks_size(), 1);
  h.Pass(4 * kSecond, {"b"});
  ASSERT_EQ(h.Beat("b").tasks_size(), 1);
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("a"));
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("b", 2));
  EXPECT_EQ(h.Beat("a").tasks_size(), 1);
}

TEST(CoordinatorJobFailures, ATaskThatTakesTooLongIsRetriedOnAnotherWorkerAndThenFails) {
  StateOptions options;
  options.task_timeout = 5 * kSecond;
  StateHarness h(options);
  h.Register("a");
  h.Register("b");
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  ASSERT_EQ(h.Beat("a").tasks_size(), 1);
  h.Pass(6 * kSecond, {"a", "b"});
  ASSERT_EQ(h.Beat("b").tasks_size(), 1);
  h.Pass(6 * kSecond, {"a", "b"});
  EXPECT_EQ(h.Job("train").state(), v1::FAILED);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("worker b did not finish within 5 s"));
}

TEST(CoordinatorJobFailures, AJobWithoutWorkersWaitsAndReportsTheReason) {
  StateHarness h;
  const auto submitted = h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  EXPECT_THAT(submitted.job().waiting(), HasSubstr("no worker is live"));
  const auto open = h.Do<v1::OpenSessionReply>(SessionOn("train"));
  EXPECT_EQ(open.session_id(), "");
  EXPECT_THAT(open.wait(), HasSubstr("no worker is live"));
  h.Register("a");
  EXPECT_EQ(h.Job("train").waiting(), "");
  h.Work({"a"});
  EXPECT_EQ(h.Job("train").state(), v1::READY);
}

TEST(CoordinatorJobFailures, ReportsThatContradictThemselvesFailTheJobWithTheFileNamed) {
  StateHarness h;
  h.Register("a");
  auto start = [&] {
    h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train"), true));
    return h.Beat("a").tasks(0);
  };
  v1::ReportTaskRequest report = DoneBy("a", start(), 0, 0);
  h.Report(report);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("no file matches train-*"));

  report = DoneBy("a", start(), 2, 0);
  report.mutable_files()->SwapElements(0, 1);
  h.Report(report);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("out of order"));

  auto index = [&] { return h.Finish("a", start()).tasks(0); };
  report = DoneBy("a", index(), 0, 5);
  report.mutable_shard()->set_size(999);
  h.Report(report);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("changed while it was being indexed"));
  EXPECT_THAT(h.Job("train").error(), HasSubstr("data/train-100000"));

  report = DoneBy("a", index(), 0, 5);
  report.mutable_shard()->set_path("other");
  h.Report(report);
  EXPECT_THAT(h.Job("train").error(), HasSubstr("data/other"));

  const v1::Task prepare = start();
  for (const v1::Task& task : TasksIn(h.Finish("a", prepare))) h.Report(DoneBy("a", task, 0, 0));
  EXPECT_THAT(h.Job("train").error(), HasSubstr("no records"));
}

}  // namespace
}  // namespace penstock::coordinator
