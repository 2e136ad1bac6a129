#include "server/worker/link/agent.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <vector>

namespace penstock {
namespace {

constexpr auto kLong = std::chrono::seconds(20);

// A coordinator that a test can take away.
class FakeCoordinator : public CoordinatorLink {
 public:
  absl::StatusOr<v1::RegisterWorkerReply> Register(const v1::RegisterWorkerRequest&) override {
    MutexLock lock(&mutex_);
    if (away_) return Away();
    ++registrations;
    v1::RegisterWorkerReply reply;
    reply.set_heartbeat_ms(5);
    changed_.NotifyAll();
    return reply;
  }
  absl::StatusOr<v1::HeartbeatReply> Heartbeat(const v1::HeartbeatRequest& request) override {
    MutexLock lock(&mutex_);
    if (away_) return Away();
    ++beats;
    if (request.draining()) ++draining_beats;
    if (request.leaving()) left = true;
    beat_after_left = beat_after_left || (left && !request.leaving());
    v1::HeartbeatReply reply = next_reply;
    next_reply.Clear();
    for (const v1::Task& task : open_tasks) *reply.add_tasks() = task;
    changed_.NotifyAll();
    return reply;
  }
  absl::StatusOr<v1::WatchReply> Watch(const v1::WatchRequest& request) override {
    MutexLock lock(&mutex_);
    while (!away_ && !cancelled_ && request.known_revision() == revision && request.wait_ms() > 1) {
      changed_.Wait(&mutex_);
    }
    if (cancelled_ || away_) return Away();
    v1::WatchReply reply;
    reply.set_revision(revision);
    if (request.known_revision() < revision) reply.add_jobs()->mutable_record()->set_name("job");
    return reply;
  }
  absl::StatusOr<v1::ReportTaskReply> ReportTask(const v1::ReportTaskRequest& report) override {
    MutexLock lock(&mutex_);
    if (away_) return Away();
    std::erase_if(open_tasks, [&](const v1::Task& task) { return task.id() == report.task_id(); });
    reports.push_back(report.task_id());
    changed_.NotifyAll();
    return v1::ReportTaskReply();
  }
  absl::Status PutIndex(uint64_t, std::string) override { return absl::OkStatus(); }
  absl::StatusOr<v1::GetIndexReply> GetIndex(const v1::GetIndexRequest&) override {
    return absl::NotFoundError("none");
  }
  void Cancel() override {
    MutexLock lock(&mutex_);
    cancelled_ = true;
    changed_.NotifyAll();
  }

  void SetAway(bool away) {
    MutexLock lock(&mutex_);
    away_ = away;
    changed_.NotifyAll();
  }
  // Changes the fields below and wakes who waits.
  void Do(const std::function<void(FakeCoordinator&)>& change) {
    MutexLock lock(&mutex_);
    change(*this);
    changed_.NotifyAll();
  }
  bool WaitFor(const std::function<bool(FakeCoordinator&)>& condition) {
    const Nanos deadline = Clock::Real()->Now() + std::chrono::nanoseconds(kLong).count();
    MutexLock lock(&mutex_);
    while (!condition(*this)) {
      const Nanos wait = deadline - Clock::Real()->Now();
      if (wait <= 0) return false;
      changed_.WaitFor(&mutex_, std::chrono::nanoseconds(wait));
    }
    return true;
  }

  // All under the lock.
  int registrations = 0, beats = 0, draining_beats = 0;
  bool left = false, beat_after_left = false;
  uint64_t revision = 1;
  v1::HeartbeatReply next_reply;
  std::vector<v1::Task> open_tasks;
  std::vector<uint64_t> reports;

 private:
  static absl::Status Away() { return absl::UnavailableError("coordinator: away"); }

  Mutex mutex_;
  CondVar changed_;
  bool away_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    AgentOptions options;
    options.registration.set_id("w");
    options.retry_least = kMillisecond;
    options.retry_most = 4 * kMillisecond;
    AgentHooks hooks;
    hooks.load = [] { return v1::WorkerLoad(); };
    hooks.jobs_changed = [this](const JobChanges& changes) {
      coordinator_.Do([&](FakeCoordinator&) { jobs_seen_ += static_cast<int>(changes.jobs.size()); });
    };
    hooks.run_task = [](const v1::Task& task) {
      v1::ReportTaskRequest report;
      report.set_task_id(task.id());
      return report;
    };
    hooks.drain = [this] { coordinator_.Do([&](FakeCoordinator&) { ++drains_; }); };
    agent_ = std::make_unique<Agent>(std::move(options), std::move(hooks), &coordinator_);
  }

  FakeCoordinator coordinator_;
  int jobs_seen_ = 0, drains_ = 0;  // under the coordinator's lock
  std::unique_ptr<Agent> agent_;
};

TEST_F(AgentTest, RegistersHearsOfJobsAndBeats) {
  agent_->Start();
  EXPECT_TRUE(agent_->WaitUntilReady(kLong));
  EXPECT_TRUE(coordinator_.WaitFor([&](FakeCoordinator& c) { return c.beats >= 3 && jobs_seen_ == 1; }));
  agent_->Stop();
  EXPECT_EQ(coordinator_.registrations, 1);
}

TEST_F(AgentTest, TriesAgainUntilTheCoordinatorIsThereAndOutlivesItsAbsence) {
  coordinator_.SetAway(true);
  agent_->Start();
  EXPECT_FALSE(agent_->WaitUntilReady(std::chrono::milliseconds(20)));
  coordinator_.SetAway(false);
  EXPECT_TRUE(agent_->WaitUntilReady(kLong));
  coordinator_.SetAway(true);
  coordinator_.SetAway(false);
  int beats = 0;
  coordinator_.Do([&](FakeCoordinator& c) { beats = c.beats; });
  EXPECT_TRUE(coordinator_.WaitFor([&](FakeCoordinator& c) { return c.beats > beats; }));
}

TEST_F(AgentTest, RegistersAgainWhenItIsNotKnown) {
  agent_->Start();
  ASSERT_TRUE(agent_->WaitUntilReady(kLong));
  coordinator_.Do([](FakeCoordinator& c) { c.next_reply.set_register_again(true); });
  EXPECT_TRUE(coordinator_.WaitFor([](FakeCoordinator& c) { return c.registrations == 2; }));
}

TEST_F(AgentTest, DoesEveryTaskThoughTheyAreRepeatedInReplies) {
  agent_->Start();
  coordinator_.Do([](FakeCoordinator& c) {
    for (uint64_t id = 1; id <= 20; ++id) {
      v1::Task task;
      task.set_id(id);
      c.open_tasks.push_back(task);
    }
  });
  EXPECT_TRUE(coordinator_.WaitFor([](FakeCoordinator& c) { return c.open_tasks.empty(); }));
}

TEST_F(AgentTest, PassesAnOperatorsDrainOnOnce) {
  agent_->Start();
  ASSERT_TRUE(agent_->WaitUntilReady(kLong));
  for (int i = 0; i < 2; ++i) {
    int beats = 0;
    coordinator_.Do([&](FakeCoordinator& c) {
      c.next_reply.set_drain(true);
      beats = c.beats;
    });
    ASSERT_TRUE(coordinator_.WaitFor([&](FakeCoordinator& c) { return c.beats > beats + 1; }));
  }
  agent_->Stop();
  EXPECT_EQ(drains_, 1);
}

TEST_F(AgentTest, TheLastHeartbeatIsTheOneThatSaysLeaving) {
  agent_->Start();
  ASSERT_TRUE(agent_->WaitUntilReady(kLong));
  agent_->SetDraining();
  ASSERT_TRUE(coordinator_.WaitFor([](FakeCoordinator& c) { return c.draining_beats > 0; }));
  agent_->SayLeaving();
  agent_->Stop();
  EXPECT_TRUE(coordinator_.left);
  EXPECT_FALSE(coordinator_.beat_after_left);
}

}  // namespace
}  // namespace penstock
