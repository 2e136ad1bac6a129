// The coordinator's log lines: one for each change of a worker, and one for the views of many jobs.
#include "server/coordinator/service/change_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/coordinator/control_loop_harness.h"
#include "tests/support/log_lines.h"

namespace penstock::coordinator {
namespace {

using support::CapturedLog;
using support::FieldOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> MessagesOf(const std::vector<nlohmann::json>& lines) {
  std::vector<std::string> messages;
  for (const nlohmann::json& line : lines) messages.push_back(FieldOf(line, "message"));
  return messages;
}

void AddView(const std::string& job, Effects* effects) {
  v1::StoredView* stored = effects->hints.emplace_back().mutable_put_view();
  stored->set_job(job);
  stored->mutable_view()->set_term(1);
  stored->mutable_view()->set_number(4);
  for (int i = 0; i < 3; ++i) stored->mutable_view()->add_ranges();
  for (int i = 0; i < 2; ++i) stored->mutable_view()->add_workers();
}

TEST(ChangeLog, ViewsWithoutAChangeOfWorkersAreOneLine) {
  CapturedLog log;
  Effects effects;
  LogMembersAndViews(effects);
  // A worker is also stored when its capacity changes, which is no line.
  effects.hints.emplace_back().mutable_put_worker()->mutable_registration()->set_id("a");
  LogMembersAndViews(effects);
  EXPECT_THAT(log.TakeLines(), ElementsAre());
  AddView("train", &effects);
  LogMembersAndViews(effects);
  const std::vector<nlohmann::json> one = log.TakeLines();
  EXPECT_THAT(MessagesOf(one), ElementsAre("job train: view 1.4 of 3 ranges on 2 workers"));
  EXPECT_EQ(FieldOf(one[0], "job"), "train");
  AddView("eval", &effects);
  LogMembersAndViews(effects);
  const std::vector<nlohmann::json> two = log.TakeLines();
  EXPECT_THAT(MessagesOf(two), ElementsAre("2 jobs have new views"));
  EXPECT_FALSE(two[0].contains("job"));
}

TEST(ChangeLog, TheLineOfTheLastWorkerStatesTheViews) {
  CapturedLog log;
  Effects effects;
  effects.members["id1"] = {"w1", "host1:7071", v1::WorkerStatus::DEAD};
  effects.members["id2"] = {"w2 (id2)", "host2:7071", v1::WorkerStatus::DEAD};
  effects.members["id3"] = {"id3", "host3:7071", v1::WorkerStatus::DEAD};
  for (const char* job : {"train", "eval"}) AddView(job, &effects);
  LogMembersAndViews(effects);
  const std::vector<nlohmann::json> lines = log.TakeLines();
  EXPECT_THAT(MessagesOf(lines),
              ElementsAre("worker w1 (id1) at host1:7071 is DEAD", "worker w2 (id2) at host2:7071 is DEAD",
                          "worker id3 at host3:7071 is DEAD; 2 jobs have new views"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(FieldOf(lines[0], "worker"), "w1");
  EXPECT_EQ(FieldOf(lines[1], "worker"), "w2 (id2)");
}

class LoggedControlLoopTest : public ControlLoopTest {
 protected:
  // Starts a loop with the worker "a" and this number of READY jobs.
  void StartWithJobs(int jobs) {
    Start();
    ASSERT_TRUE(Apply(WorkerCalled("a")).ok());
    for (int i = 0; i < jobs; ++i) ASSERT_TRUE(Apply(SubmitOf(SimpleSpec(absl::StrCat("job", i)))).ok());
    // Each reply lists all tasks that the worker has.
    for (std::vector<v1::Task> tasks = Beat("a"); !tasks.empty(); tasks = Beat("a")) {
      while (!tasks.empty()) {
        ASSERT_TRUE(Apply(DoneBy("a", tasks[0], 2, 100)).ok());
        tasks = TasksIn(std::get<v1::ReportTaskReply>(reply_));
      }
    }
  }
  std::vector<v1::Task> Beat(const std::string& id, bool leaving = false) {
    v1::HeartbeatRequest beat = BeatOf(id);
    beat.set_leaving(leaving);
    Begin(beat);
    sim_.RunFor(ControlLoop::Options().tick);
    return TasksIn(std::get<v1::HeartbeatReply>(reply_));
  }
};

TEST_F(LoggedControlLoopTest, AChangeOfAWorkerIsOneLineHoweverManyJobsItConcerns) {
  CapturedLog log;
  StartWithJobs(20);
  const std::vector<std::string> begin = MessagesOf(log.TakeLines());
  EXPECT_THAT(begin, Contains("worker a at a.example:7071 is LIVE"));
  EXPECT_THAT(begin, Contains("job job7 is READY"));
  EXPECT_THAT(begin, Contains("job job7: view 1.1 of 1 ranges on 1 workers"));

  v1::RegisterWorkerRequest named = WorkerCalled("b");
  named.set_name("second");
  ASSERT_TRUE(Apply(named).ok());
  const std::vector<nlohmann::json> joined = log.TakeLines();
  EXPECT_THAT(MessagesOf(joined), ElementsAre("worker second (b) at b.example:7071 is LIVE; 20 jobs have new views"));
  EXPECT_EQ(FieldOf(joined.at(0), "worker"), "second");

  v1::DrainRequest drain;
  drain.set_worker("b");
  ASSERT_TRUE(Apply(drain).ok());
  EXPECT_THAT(MessagesOf(log.TakeLines()),
              ElementsAre("worker second (b) at b.example:7071 is DRAINING; 20 jobs have new views"));
  Beat("b");
  EXPECT_THAT(log.TakeLines(), ElementsAre());
  Beat("b", true);
  EXPECT_THAT(MessagesOf(log.TakeLines()), ElementsAre("worker second (b) at b.example:7071 is LEFT"));
}

TEST_F(LoggedControlLoopTest, ADeletedJobIsOneLine) {
  CapturedLog log;
  StartWithJobs(2);
  log.TakeText();
  v1::CancelRequest cancel;
  cancel.set_job("job1");
  ASSERT_TRUE(Apply(cancel).ok());
  // A submission in place of an ended job is no deletion.
  ASSERT_TRUE(Apply(SubmitOf(SimpleSpec("job1"))).ok());
  EXPECT_THAT(MessagesOf(log.TakeLines()), Not(Contains(HasSubstr("deleted"))));
  v1::DeleteRequest request;
  request.set_job("job0");
  request.set_running(true);
  ASSERT_TRUE(Apply(request).ok());
  const std::vector<nlohmann::json> lines = log.TakeLines();
  EXPECT_THAT(MessagesOf(lines), ElementsAre("job job0 is deleted"));
  EXPECT_EQ(FieldOf(lines.at(0), "job"), "job0");
}

TEST_F(LoggedControlLoopTest, ALostWorkerIsOneLine) {
  CapturedLog log;
  StartWithJobs(20);
  ASSERT_TRUE(Apply(WorkerCalled("b")).ok());
  log.TakeText();
  for (int i = 0; i < 8; ++i) {
    Beat("a");
    sim_.RunFor(kSecond / 2);
  }
  EXPECT_THAT(MessagesOf(log.TakeLines()), ElementsAre("worker b at b.example:7071 is DEAD; 20 jobs have new views"));
}

TEST_F(LoggedControlLoopTest, TheLineOfAWorkerNamesTheOnlyJobAndItsView) {
  CapturedLog log;
  StartWithJobs(1);
  log.TakeText();
  ASSERT_TRUE(Apply(WorkerCalled("b")).ok());
  const std::vector<nlohmann::json> lines = log.TakeLines();
  EXPECT_THAT(MessagesOf(lines), ElementsAre("worker b at b.example:7071 is LIVE; job job0: view 1.2 of 2 ranges on 2 "
                                             "workers"));
  EXPECT_EQ(FieldOf(lines.at(0), "job"), "job0");
  EXPECT_EQ(FieldOf(lines.at(0), "worker"), "b");
}

}  // namespace
}  // namespace penstock::coordinator
