#include "server/worker/link/agent.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/runtime/sim_scheduler.h"
#include "base/runtime/thread_pool.h"

namespace penstock::worker {
namespace {

// A coordinator on virtual time that answers a millisecond later. A test can make it unreachable.
class FakeCoordinator : public CoordinatorLink {
 public:
  explicit FakeCoordinator(Executor* executor) : executor_(executor) {}

  void Register(const v1::RegisterWorkerRequest&, Done<v1::RegisterWorkerReply> done) override {
    v1::RegisterWorkerReply reply;
    reply.set_heartbeat_ms(50);
    if (!away) ++registrations;
    Answer(std::move(reply), std::move(done));
  }
  void Heartbeat(const v1::HeartbeatRequest& request, Done<v1::HeartbeatReply> done) override {
    v1::HeartbeatReply reply;
    if (!away) {
      ++beats;
      if (request.draining()) ++draining_beats;
      beat_after_left = beat_after_left || left;
      if (request.leaving()) left = true;
      std::swap(reply, next_reply);
      if (next_beat_ms != 0) reply.set_next_beat_ms(next_beat_ms);
      for (const v1::Task& task : open_tasks) *reply.add_tasks() = task;
    }
    Answer(std::move(reply), std::move(done));
  }
  void Watch(const v1::WatchRequest& request, Done<v1::WatchReply> done) override {
    ++watches;
    v1::WatchReply reply;
    reply.set_revision(revision);
    if (request.known_revision() < revision) reply.add_jobs()->mutable_record()->set_name("job");
    const bool waits = request.known_revision() == revision && request.wait_ms() > 1;
    Answer(std::move(reply), std::move(done), waits ? request.wait_ms() * kMillisecond : kMillisecond);
  }
  void ReportTask(const v1::ReportTaskRequest& report, Done<v1::ReportTaskReply> done) override {
    if (!away) {
      std::erase_if(open_tasks, [&](const v1::Task& task) { return task.id() == report.task_id(); });
      reports.push_back(report.task_id());
    }
    Answer(v1::ReportTaskReply(), std::move(done));
  }
  absl::Status PutIndex(uint64_t, std::string) override { return absl::OkStatus(); }
  absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest&) override {
    return absl::NotFoundError("none");
  }
  void Cancel() override { cancelled = true; }

  bool away = false, cancelled = false;
  int registrations = 0, beats = 0, draining_beats = 0, watches = 0;
  bool left = false, beat_after_left = false;
  uint64_t revision = 1;
  uint32_t next_beat_ms = 0;
  v1::HeartbeatReply next_reply;
  std::vector<v1::Task> open_tasks;
  std::vector<uint64_t> reports;

 private:
  template <typename Reply>
  void Answer(Reply reply, Done<Reply> done, Nanos after = kMillisecond) {
    executor_->PostAt(executor_->clock()->Now() + after, [this, reply = std::move(reply), done = std::move(done)] {
      if (away || cancelled) {
        done(absl::UnavailableError("coordinator: away"));
      } else {
        done(reply);
      }
    });
  }
  Executor* const executor_;
};

// Runs tasks on another executor, or holds them.
class HoldingExecutor final : public Executor {
 public:
  explicit HoldingExecutor(Executor* executor) : executor_(executor) {}
  void Post(Task task) override {
    if (holds) {
      held_.push_back(std::move(task));
    } else {
      executor_->Post(std::move(task));
    }
  }
  TimerId PostAt(Nanos when, Task task) override { return executor_->PostAt(when, std::move(task)); }
  bool Cancel(TimerId timer) override { return executor_->Cancel(timer); }
  Clock* clock() const override { return executor_->clock(); }
  void Release() {
    holds = false;
    for (Task& task : std::exchange(held_, {})) executor_->Post(std::move(task));
  }

  bool holds = false;

 private:
  Executor* const executor_;
  std::vector<Task> held_;
};

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    AgentHooks hooks;
    hooks.load = [] { return v1::WorkerLoad(); };
    hooks.jobs_changed = [this](const net::JobChanges& changes) {
      jobs_seen_ += static_cast<int>(changes.jobs.size());
    };
    hooks.run_task = [this](const v1::Task& task) {
      ran_.push_back(task.id());
      v1::ReportTaskRequest report;
      report.set_task_id(task.id());
      return report;
    };
    hooks.drain = [this] { ++drains_; };
    hooks.ready = [this] { ++ready_; };
    AgentOptions options;
    options.registration.set_id("w");
    agent_ = std::make_shared<Agent>(std::move(options), std::move(hooks), &coordinator_, &sim_, &tasks_);
    agent_->Start();
  }
  ~AgentTest() override {
    agent_->Stop();
    sim_.RunFor(60 * kSecond);
    EXPECT_EQ(sim_.waiting(), 0u) << "something goes on after the stop";
  }
  void GiveTasks(uint64_t count) {
    for (uint64_t id = 1; id <= count; ++id) coordinator_.open_tasks.emplace_back().set_id(id);
  }

  SimScheduler sim_{3};
  HoldingExecutor tasks_{&sim_};
  FakeCoordinator coordinator_{&sim_};
  int jobs_seen_ = 0, drains_ = 0, ready_ = 0;
  std::vector<uint64_t> ran_;
  std::shared_ptr<Agent> agent_;
};

TEST_F(AgentTest, RegistersWatchesJobsAndSendsHeartbeats) {
  sim_.RunFor(kSecond);
  EXPECT_EQ(ready_, 1);
  EXPECT_EQ(jobs_seen_, 1);
  EXPECT_EQ(coordinator_.registrations, 1);
  EXPECT_NEAR(coordinator_.beats, 20, 3);
  EXPECT_EQ(coordinator_.watches, 2);  // and one that waits
}

TEST_F(AgentTest, BeatsAtTheRequestedTimesAndAtLeastEveryTwoPeriods) {
  sim_.RunFor(kSecond);
  coordinator_.next_beat_ms = 20;
  sim_.RunFor(kSecond);
  int before = coordinator_.beats;
  sim_.RunFor(kSecond);
  EXPECT_NEAR(coordinator_.beats - before, 1000 / 21, 3);
  coordinator_.next_beat_ms = 4'000'000'000;
  sim_.RunFor(kSecond);
  before = coordinator_.beats;
  sim_.RunFor(kSecond);
  EXPECT_NEAR(coordinator_.beats - before, 10, 2) << "its own period is 50 ms";
}

TEST_F(AgentTest, RetriesUntilTheCoordinatorIsThereAndSurvivesItsAbsence) {
  coordinator_.away = true;
  sim_.RunFor(10 * kSecond);
  EXPECT_EQ(ready_, 0);
  coordinator_.away = false;
  sim_.RunFor(2 * kSecond);
  EXPECT_EQ(ready_, 1);
  coordinator_.away = true;
  sim_.RunFor(100 * kSecond);
  coordinator_.away = false;
  const int beats = coordinator_.beats;
  sim_.RunFor(2 * kSecond);
  EXPECT_GT(coordinator_.beats, beats + 10);
}

TEST_F(AgentTest, IsRegisteredWhileItServesAndNamesTheReasonOtherwise) {
  const auto registered = [this] {
    std::string reason = "no answer";
    agent_->CheckRegistered([&](const absl::Status& status) { reason = std::string(status.message()); });
    sim_.RunFor(0);
    return reason;
  };
  coordinator_.away = true;
  EXPECT_EQ(registered(), "not registered: the coordinator has not answered yet");
  sim_.RunFor(kSecond);
  EXPECT_EQ(registered(), "not registered: coordinator: away");
  coordinator_.away = false;
  sim_.RunFor(2 * kSecond);
  EXPECT_EQ(registered(), "");
  coordinator_.away = true;
  sim_.RunFor(10 * kSecond);
  EXPECT_EQ(registered(), "") << "the worker serves without the coordinator";
  coordinator_.away = false;
  sim_.RunFor(2 * kSecond);
  agent_->SetDraining();
  EXPECT_EQ(registered(), "the worker is draining");
  agent_->SayLeaving([] {});
  EXPECT_EQ(registered(), "the worker is draining");
}

TEST_F(AgentTest, RegistersAgainOnRequest) {
  sim_.RunFor(kSecond);
  coordinator_.next_reply.set_register_again(true);
  sim_.RunFor(kSecond);
  EXPECT_EQ(coordinator_.registrations, 2);
  EXPECT_EQ(ready_, 1);
}

TEST_F(AgentTest, RunsEveryTaskIfRepliesRepeatTasks) {
  GiveTasks(20);
  sim_.RunFor(2 * kSecond);
  EXPECT_TRUE(coordinator_.open_tasks.empty());
  EXPECT_EQ(std::set<uint64_t>(ran_.begin(), ran_.end()).size(), 20u);
  EXPECT_LE(ran_.size(), 25u);  // a reply under way may repeat finished tasks
}

TEST_F(AgentTest, AQueuedTaskThatTheCoordinatorWithdrawsDoesNotRun) {
  tasks_.holds = true;
  GiveTasks(3);
  sim_.RunFor(kSecond);
  const v1::Task second = coordinator_.open_tasks[1];
  coordinator_.open_tasks.erase(coordinator_.open_tasks.begin() + 1);
  sim_.RunFor(kSecond);
  tasks_.Release();
  sim_.RunFor(kSecond);
  EXPECT_EQ(std::set<uint64_t>(ran_.begin(), ran_.end()), (std::set<uint64_t>{1, 3}));
  coordinator_.open_tasks = {second};
  sim_.RunFor(kSecond);
  EXPECT_EQ(ran_.back(), 2u);
}

TEST_F(AgentTest, StartsNoTaskAfterTheStop) {
  GiveTasks(20);
  sim_.RunUntil([&] { return ran_.size() == 5; }, 10 * kSecond);
  agent_->Stop();
  sim_.RunFor(10 * kSecond);
  EXPECT_EQ(ran_.size(), 5u);
  EXPECT_TRUE(coordinator_.reports.size() <= 5u);
}

TEST_F(AgentTest, ReportsAnOperatorsDrainOnce) {
  sim_.RunFor(kSecond);
  for (int i = 0; i < 2; ++i) {
    coordinator_.next_reply.set_drain(true);
    sim_.RunFor(kSecond);
  }
  EXPECT_EQ(drains_, 1);
}

TEST_F(AgentTest, TheLastHeartbeatIsTheLeavingOne) {
  sim_.RunFor(kSecond);
  agent_->SetDraining();
  sim_.RunFor(2 * kMillisecond);
  EXPECT_GT(coordinator_.draining_beats, 0);
  int left = 0;
  agent_->SayLeaving([&] { ++left; });
  sim_.RunFor(10 * kSecond);
  EXPECT_EQ(left, 1);
  EXPECT_TRUE(coordinator_.left);
  EXPECT_FALSE(coordinator_.beat_after_left);
}

TEST_F(AgentTest, MayLeaveOnlyOnce) {
  sim_.RunFor(kSecond);
  const auto leave_twice = [&] {
    for (int i = 0; i < 2; ++i) {
      agent_->SayLeaving([] {});
      sim_.RunFor(kSecond);
    }
  };
  EXPECT_DEATH(leave_twice(), "said_leaving");
}

TEST_F(AgentTest, NeverCallsBackAfterTheStop) {
  sim_.RunFor(kSecond);
  int left = 0;
  agent_->Stop();
  for (int i = 0; i < 2; ++i) agent_->SayLeaving([&] { ++left; });
  sim_.RunFor(kSecond);
  EXPECT_EQ(left, 0);
}

TEST_F(AgentTest, LeavesWithoutTheCoordinator) {
  sim_.RunFor(kSecond);
  coordinator_.away = true;
  int left = 0;
  agent_->SayLeaving([&] { ++left; });
  sim_.RunFor(10 * kSecond);
  EXPECT_EQ(left, 1);
}

// Answers at once, on the calling thread, with a new task in each answer.
class BusyCoordinator : public CoordinatorLink {
 public:
  void Register(const v1::RegisterWorkerRequest&, Done<v1::RegisterWorkerReply> done) override {
    v1::RegisterWorkerReply reply;
    reply.set_heartbeat_ms(1);
    done(reply);
  }
  void Heartbeat(const v1::HeartbeatRequest&, Done<v1::HeartbeatReply> done) override {
    v1::HeartbeatReply reply;
    reply.add_tasks()->set_id(next_.fetch_add(1));
    done(reply);
  }
  void Watch(const v1::WatchRequest&, Done<v1::WatchReply> done) override { done(absl::UnavailableError("away")); }
  void ReportTask(const v1::ReportTaskRequest&, Done<v1::ReportTaskReply> done) override {
    v1::ReportTaskReply reply;
    reply.add_tasks()->set_id(next_.fetch_add(1));
    done(reply);
  }
  absl::Status PutIndex(uint64_t, std::string) override { return absl::OkStatus(); }
  absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest&) override {
    return absl::NotFoundError("none");
  }
  void Cancel() override {}

 private:
  std::atomic<uint64_t> next_{1};
};

TEST(AgentOnThreads, StopsWhileEachTaskCausesAnother) {
  for (int round = 0; round < 20; ++round) {
    ThreadPool strands(2, "strands"), tasks(2, "tasks");
    BusyCoordinator coordinator;
    std::atomic<int> ran{0};
    AgentHooks hooks;
    hooks.load = [] { return v1::WorkerLoad(); };
    hooks.jobs_changed = [](const net::JobChanges&) {};
    hooks.run_task = [&](const v1::Task& task) {
      ++ran;
      v1::ReportTaskRequest report;
      report.set_task_id(task.id());
      return report;
    };
    hooks.drain = [] {};
    auto agent = std::make_shared<Agent>(AgentOptions(), hooks, &coordinator, &strands, &tasks);
    agent->Start();
    while (ran < 20) std::this_thread::yield();
    agent->Stop();
    EXPECT_TRUE(tasks.StopBy(tasks.clock()->Now() + 20 * kSecond));
    EXPECT_TRUE(strands.StopBy(strands.clock()->Now() + 20 * kSecond));
  }
}

}  // namespace
}  // namespace penstock::worker
