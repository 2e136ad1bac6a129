// Purges: a job is cancelled, the coordinator and the workers free its files, and then it is deleted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StatePurgeTest : public ::testing::Test {
 protected:
  StatePurgeTest() {
    Register("a");
    Register("b");
  }

  void Register(const std::string& id) {
    v1::RegisterWorkerRequest request = WorkerCalled(id);
    request.set_name("name of " + id);
    request.mutable_protocols()->set_oldest(1);
    request.mutable_protocols()->set_newest(2);
    h.Do<v1::RegisterWorkerReply>(request);
  }
  // Prepares a job with the first `shards` of the shards.
  void Prepare(const std::string& name, int shards, uint64_t records) {
    h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec(name)));
    for (std::vector<v1::Task> tasks = TasksIn(h.Beat("a")); !tasks.empty(); tasks = TasksIn(h.Beat("a"))) {
      for (const v1::Task& task : tasks) h.Report(DoneBy("a", task, shards, records));
    }
    ASSERT_EQ(h.Job(name).state(), v1::READY);
  }
  v1::PurgeRequest Request(uint64_t uid = 0, bool running = true) {
    v1::PurgeRequest request;
    request.set_job("train");
    request.set_running(running);
    request.set_job_uid(uid);
    return request;
  }
  PurgeAnswer Purge(uint64_t uid = 0) { return h.Do<PurgeAnswer>(Request(uid)); }
  // Returns the purge task that a heartbeat of the worker fetches; its id is 0 if there is none.
  v1::Task TaskOf(const std::string& worker) {
    for (const v1::Task& task : TasksIn(h.Beat(worker))) {
      if (task.has_purge()) return task;
    }
    return v1::Task();
  }
  void Report(const std::string& worker, const v1::Task& task, const absl::Status& status = absl::OkStatus()) {
    v1::ReportTaskRequest report;
    report.set_worker_id(worker);
    report.set_task_id(task.id());
    report.set_code(static_cast<int>(status.code()));
    report.set_message(std::string(status.message()));
    report.mutable_purged()->set_indexes(10);
    report.mutable_purged()->set_memory(200);
    report.mutable_purged()->set_disk(3000);
    h.Report(report);
  }
  static std::vector<std::string> States(const v1::PurgeReply& reply) {
    std::vector<std::string> states;
    for (const v1::PurgePart& part : reply.parts()) {
      states.push_back(part.name() + " " + v1::PurgePart::State_Name(part.state()));
    }
    return states;
  }

  StateHarness h;
  const std::string a = "worker name of a", b = "worker name of b";
};

TEST_F(StatePurgeTest, TheJobIsDeletedWhenAllHaveFreedItsFiles) {
  Prepare("train", 8, 25);
  const v1::Job job = h.Job("train");
  EXPECT_THAT(Text(h.StatusOf(Request(0, false))), HasSubstr("--running"));
  EXPECT_EQ(h.Job("train").state(), v1::READY);

  const PurgeAnswer first = Purge();
  EXPECT_EQ(h.Job("train").state(), v1::CANCELLED);
  EXPECT_EQ(first.reply.job_uid(), job.uid());
  EXPECT_EQ(first.reply.shards(), 8u);
  EXPECT_EQ(first.reply.kept_shards(), 0u);
  EXPECT_THAT(first.blobs.value(), ElementsAre(1234 + 25));
  EXPECT_THAT(States(first.reply), ElementsAre("coordinator WAITING", a + " WAITING", b + " WAITING"));

  const v1::Task task = TaskOf("a");
  EXPECT_EQ(task.job_uid(), job.uid());
  EXPECT_EQ(task.purge().shards_size(), 8);
  EXPECT_EQ(task.purge().shards(3).path(), "train-100003");
  EXPECT_EQ(task.purge().data_set(), job.snapshot().fingerprint());
  EXPECT_EQ(task.purge().spec().name(), "train");
  EXPECT_EQ(TaskOf("a").id(), task.id()) << "heartbeats repeat it";
  Report("a", task);
  Report("a", task);  // a repeated report counts once
  EXPECT_FALSE(TaskOf("a").has_purge());
  h.Apply(EndOwnPurge{job.uid(), absl::OkStatus(), 7});
  const PurgeAnswer second = Purge(job.uid());
  EXPECT_FALSE(second.blobs.has_value());
  EXPECT_THAT(States(second.reply), ElementsAre("coordinator DONE", a + " DONE", b + " WAITING"));
  EXPECT_FALSE(second.reply.deleted());

  Report("b", TaskOf("b"));
  const PurgeAnswer last = Purge(job.uid());
  EXPECT_TRUE(last.reply.deleted());
  EXPECT_EQ(last.reply.parts(0).freed().indexes(), 7u);
  EXPECT_EQ(last.reply.parts(1).freed().memory(), 200u);
  EXPECT_EQ(last.reply.parts(1).freed().disk(), 3000u);
  EXPECT_FALSE(h.state->FindJob("train").has_value());
  EXPECT_THAT(Text(h.StatusOf(Request())), HasSubstr("no job \"train\""));
  EXPECT_THAT(Text(h.StatusOf(Request(job.uid()))), HasSubstr("has ended"));
}

TEST_F(StatePurgeTest, FilesOfOtherJobsStay) {
  Prepare("half", 4, 30);
  Prepare("train", 8, 25);
  const PurgeAnswer answer = Purge();
  EXPECT_EQ(answer.reply.shards(), 8u);
  EXPECT_EQ(answer.reply.kept_shards(), 4u);
  EXPECT_FALSE(answer.reply.kept_records());
  EXPECT_THAT(answer.blobs.value(), ElementsAre(1234 + 25));
  const v1::Task task = TaskOf("b");
  ASSERT_EQ(task.purge().shards_size(), 4);
  EXPECT_EQ(task.purge().shards(0).path(), "train-100004");
  EXPECT_NE(task.purge().data_set(), 0u);
}

TEST_F(StatePurgeTest, ADataSetOfAnotherJobStays) {
  Prepare("same", 8, 25);
  v1::CancelRequest cancel;  // it may be submitted again, so it counts
  cancel.set_job("same");
  h.Do<v1::CancelReply>(cancel);
  Prepare("train", 8, 25);
  const PurgeAnswer answer = Purge();
  EXPECT_EQ(answer.reply.kept_shards(), 8u);
  EXPECT_TRUE(answer.reply.kept_records());
  EXPECT_TRUE(answer.blobs.value().empty());
  const v1::Task task = TaskOf("a");
  EXPECT_TRUE(task.has_purge());
  EXPECT_EQ(task.purge().shards_size(), 0);
  EXPECT_EQ(task.purge().data_set(), 0u);
}

TEST_F(StatePurgeTest, ALostWorkerIsNamedAndThePurgeCanBeRepeated) {
  Prepare("train", 8, 25);
  const uint64_t uid = Purge().reply.job_uid();
  h.Apply(EndOwnPurge{uid, absl::OkStatus(), 7});
  Report("a", TaskOf("a"));
  TaskOf("b");  // it dies with the task
  h.Pass(5 * kSecond, {"a"});
  const PurgeAnswer lost = Purge(uid);
  EXPECT_THAT(States(lost.reply), ElementsAre("coordinator DONE", a + " DONE", b + " FAILED"));
  EXPECT_THAT(lost.reply.parts(2).message(), HasSubstr("no heartbeat"));
  EXPECT_EQ(h.Job("train").state(), v1::CANCELLED);

  h.Pass(2 * PurgeDesk::kFollowed, {"a"});  // no command follows it
  Register("b");
  EXPECT_FALSE(TaskOf("b").has_purge());
  EXPECT_FALSE(Purge().reply.deleted());
  h.Apply(EndOwnPurge{uid, absl::OkStatus(), 0});
  Report("a", TaskOf("a"));
  Report("b", TaskOf("b"));
  EXPECT_TRUE(Purge(uid).reply.deleted());
}

TEST_F(StatePurgeTest, AWorkerThatHasDrainedTakesNoPart) {
  Prepare("train", 8, 25);
  v1::HeartbeatRequest leaving = BeatOf("b");
  leaving.set_leaving(true);
  h.Do<v1::HeartbeatReply>(leaving);
  const uint64_t uid = Purge().reply.job_uid();
  h.Apply(EndOwnPurge{uid, absl::OkStatus(), 7});
  Report("a", TaskOf("a"));
  const PurgeAnswer last = Purge(uid);
  EXPECT_TRUE(last.reply.deleted());
  EXPECT_THAT(States(last.reply), ElementsAre("coordinator DONE", a + " DONE"));
}

TEST_F(StatePurgeTest, AWorkerWithStreamsTriesAgainAndAnErrorEndsItsPart) {
  Prepare("train", 8, 25);
  const uint64_t uid = Purge().reply.job_uid();
  Report("a", TaskOf("a"), absl::UnavailableError("streams"));
  EXPECT_FALSE(TaskOf("a").has_purge()) << "a pause comes first";
  EXPECT_EQ(Purge(uid).reply.parts(1).state(), v1::PurgePart::WAITING);
  EXPECT_EQ(Purge(uid).reply.parts(1).message(), "streams");
  h.Pass(PurgeDesk::kRetryPause, {"b"});
  Report("a", TaskOf("a"), absl::PermissionDeniedError("cannot remove x"));
  EXPECT_EQ(Purge(uid).reply.parts(1).state(), v1::PurgePart::FAILED);
  EXPECT_EQ(Purge(uid).reply.parts(1).message(), "cannot remove x");
  EXPECT_FALSE(TaskOf("a").has_purge());
  Purge();  // a repeated command
  EXPECT_TRUE(TaskOf("a").has_purge());
}

TEST_F(StatePurgeTest, AnotherCoordinatorContinues) {
  Prepare("train", 8, 25);
  const uint64_t uid = Purge().reply.job_uid();
  Report("a", TaskOf("a"));
  h.Restart();
  Register("a");
  Register("b");
  const PurgeAnswer again = Purge(uid);
  EXPECT_EQ(again.reply.shards(), 8u);
  EXPECT_THAT(again.blobs.value(), ElementsAre(1234 + 25));
  h.Apply(EndOwnPurge{uid, absl::OkStatus(), 7});
  Report("a", TaskOf("a"));
  Report("b", TaskOf("b"));
  EXPECT_TRUE(Purge(uid).reply.deleted());
}

TEST_F(StatePurgeTest, ASubmissionEndsThePurge) {
  Prepare("train", 8, 25);
  const uint64_t uid = Purge().reply.job_uid();
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  EXPECT_THAT(Text(h.StatusOf(Request(uid))), HasSubstr("submitted again"));
  EXPECT_FALSE(TaskOf("a").has_purge());
}

TEST_F(StatePurgeTest, TheShardsOfAJobInPreparationAreFreed) {
  h.Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
  for (const v1::Task& task : TasksIn(h.Beat("a"))) h.Finish("a", task);
  const std::vector<v1::Task> index = TasksIn(h.Beat("a"));
  ASSERT_FALSE(index.empty());
  h.Finish("a", index[0]);
  const PurgeAnswer answer = Purge();
  EXPECT_EQ(answer.reply.shards(), 8u);
  EXPECT_FALSE(answer.reply.kept_records());
  EXPECT_THAT(answer.blobs.value(), ElementsAre(1234 + 25));
  EXPECT_EQ(TaskOf("a").purge().shards_size(), 8);
}

TEST_F(StatePurgeTest, AnOldWorkerIsNamed) {
  h.Do<v1::RegisterWorkerReply>(WorkerCalled("b", 2));  // without protocols
  Prepare("train", 8, 25);
  const PurgeAnswer answer = Purge();
  EXPECT_EQ(answer.reply.parts(2).state(), v1::PurgePart::FAILED);
  EXPECT_THAT(answer.reply.parts(2).message(), HasSubstr("cannot purge: upgrade it"));
}

// A worker needs the kinds of all data sets to find what it cached.
TEST_F(StatePurgeTest, TheTaskOfABlendHasTheKindOfEachDataSet) {
  v1::JobSpec spec = SimpleSpec("train");
  spec.mutable_dataset(0)->set_name("tar");
  spec.mutable_dataset(0)->set_weight(1);
  v1::Dataset* const lines = spec.add_dataset();
  lines->set_name("lines");
  lines->set_weight(1);
  lines->add_files("lines-*");
  spec.mutable_blend()->set_epoch_rows(64);
  h.Do<v1::SubmitReply>(SubmitOf(spec));
  std::string first_of_lines;  // path of the fourth file
  for (std::vector<v1::Task> tasks = TasksIn(h.Beat("a")); !tasks.empty(); tasks = TasksIn(h.Beat("a"))) {
    for (const v1::Task& task : tasks) {
      v1::ReportTaskRequest report = DoneBy("a", task, 8, 25);
      if (task.has_prepare()) {
        report.add_set_files(3);
        report.add_set_files(5);
        first_of_lines = report.files(3).path();
      }
      if (task.has_index()) {
        report.mutable_shard()->set_container(report.shard().path() < first_of_lines ? v1::TAR : v1::JSONL);
      }
      h.Report(report);
    }
  }
  ASSERT_EQ(h.Job("train").state(), v1::READY) << h.Job("train").error();
  Purge();
  const v1::PurgeJob purge = TaskOf("a").purge();
  EXPECT_EQ(purge.container(), v1::TAR);
  EXPECT_THAT(purge.more_containers(), ElementsAre(v1::JSONL));
}

TEST(PurgeDeskTest, ALargeJobIsPurgedInSeveralTasks) {
  PurgeDesk desk;
  PurgePlan plan;
  plan.shards.resize(2 * PurgeDesk::kShardsOfTask + 5);
  plan.all_shards = static_cast<uint32_t>(plan.shards.size());
  plan.data_set = 77;
  desk.Start(0, "train", 5, plan);
  uint64_t id = 0;
  std::vector<int> shards;
  std::vector<uint64_t> data_sets;
  const auto fetch = [&] {
    v1::HeartbeatReply reply;
    desk.AddTasks(
        0, "a", [](const std::string&, uint64_t) { return true; }, [&id] { return ++id; }, reply.mutable_tasks());
    return reply;
  };
  for (v1::HeartbeatReply reply = fetch(); reply.tasks_size() > 0; reply = fetch()) {
    shards.push_back(reply.tasks(0).purge().shards_size());
    data_sets.push_back(reply.tasks(0).purge().data_set());
    v1::ReportTaskRequest report;
    report.set_worker_id("a");
    report.set_task_id(reply.tasks(0).id());
    EXPECT_TRUE(desk.Report(0, report));
    EXPECT_FALSE(desk.Report(0, report));
  }
  EXPECT_THAT(shards, ElementsAre(PurgeDesk::kShardsOfTask, PurgeDesk::kShardsOfTask, 5));
  EXPECT_THAT(data_sets, ElementsAre(77, 0, 0));
}

TEST(PurgeDeskTest, ThereIsALimitOfPurges) {
  PurgeDesk desk;
  for (uint64_t uid = 1; uid <= PurgeDesk::kMostRunning; ++uid) {
    EXPECT_TRUE(desk.CheckRoom(0).ok());
    desk.Start(0, "train", uid, PurgePlan());
  }
  EXPECT_EQ(desk.CheckRoom(PurgeDesk::kFollowed).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(desk.CheckRoom(PurgeDesk::kFollowed + 1).ok());
}

}  // namespace
}  // namespace penstock::coordinator
