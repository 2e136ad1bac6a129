// Jobs with owners in a cluster over TLS: which callers may change a job, and a job that is paused under its trainers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "tests/faults/roles_testing.h"
#include "tests/support/wait_until.h"

namespace penstock::faults {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OwnersTest : public RolesTest {
 protected:
  OwnersTest() {
    NewToken("carol", "trainer", dataset_.job.name() + ",other-*", "--submit");
    NewToken("dave", "trainer", dataset_.job.name(), "--submit");
  }

  // Notices that the trainer's library has reported.
  class Notices {
   public:
    void Add(const std::string& text) {
      MutexLock lock(&mutex_);
      text_ += text + "\n";
    }
    std::string text() {
      MutexLock lock(&mutex_);
      return text_;
    }

   private:
    Mutex mutex_;
    std::string text_ ABSL_GUARDED_BY(mutex_);
  };

  std::string DigestAlone(const support::ReadPlan& plan) {
    support::ProcessCluster plain({}, dataset_.roots);
    EXPECT_TRUE(plain.control().Submit(dataset_.job).ok()) << plain.Logs();
    support::ReadPlan same;
    same.options.job = plan.options.job;
    same.options.epochs = plan.options.epochs;
    return support::ReadThrough(plain.address(), same).digest;
  }
};

TEST_F(OwnersTest, ASubmitterOwnsItsJobsAndNoOther) {
  support::ProcessCluster cluster(Options(1), dataset_.roots);
  const std::string job = dataset_.job.name(), file = folder_.File("job.textproto");
  const auto run = [&](const std::string& command, const std::string& name) {
    return Run(command, name, cluster.address());
  };
  EXPECT_THAT(run(absl::StrCat("submit '", file, "'"), "alice").text, HasSubstr("needs the role trainer+submit"));
  Outcome submitted = run(absl::StrCat("submit '", file, "'"), "carol");
  ASSERT_EQ(submitted.code, 0) << submitted.text << cluster.Logs();
  EXPECT_THAT(run("status --json", "ops").text, HasSubstr("\"owner\": \"carol\""));
  for (const std::string command : {"cancel ", "pause ", "resume ", "delete --running "}) {
    const Outcome denied = run(command + job, "dave");
    EXPECT_EQ(denied.code, 1) << command;
    EXPECT_THAT(denied.text, AllOf(HasSubstr("belongs to 'carol'"), HasSubstr("dave"))) << command;
  }
  EXPECT_EQ(run("read " + job + " --steps 2", "dave").code, 0);  // it may read the job
  EXPECT_EQ(run("pause " + job, "carol").code, 0);
  EXPECT_THAT(run("status", "ops").text, HasSubstr("carol paused job"));
  EXPECT_EQ(run("resume " + job, "ops").code, 0);
  EXPECT_EQ(run("cancel " + job, "carol").code, 0);
  EXPECT_EQ(run("delete " + job, "carol").code, 0);
}

// A job is paused while a trainer reads it. The coordinator and a worker are killed meanwhile.
TEST_F(OwnersTest, APausedTrainerWaitsIsToldWhoPausedItAndGetsTheSameRows) {
  support::ProcessClusterOptions options = Options(2);
  support::ProcessCluster cluster(options, dataset_.roots);
  ASSERT_EQ(Run(absl::StrCat("submit '", folder_.File("job.textproto"), "'"), "carol", cluster.address()).code, 0);
  const std::string job = dataset_.job.name();
  Notices notices;
  std::thread resuming;
  support::ReadPlan plan = Plan("alice");
  plan.options.epochs = 40;
  plan.timeout = absl::Seconds(120);
  plan.options.on_wait = [&](const std::string& text) { notices.Add(text); };
  plan.after_step = [&](uint64_t steps) {
    if (steps != 3) return;
    EXPECT_EQ(Run("pause " + job, "carol", cluster.address()).code, 0);
    resuming = std::thread([&] {
      EXPECT_TRUE(support::WaitUntil([&] { return absl::StrContains(notices.text(), "carol paused job"); }))
          << notices.text() << cluster.Logs();
      EXPECT_TRUE(support::WaitUntil([&] {
        return absl::StrContains(Run("status --json", "ops", cluster.address()).text,
                                 absl::StrCat("carol paused job ", job, ": `penstock resume ", job));
      }));
      EXPECT_THAT(Run("explain " + job, "ops", cluster.address()).text, HasSubstr("carol paused job"));
      cluster.worker(0).process->Signal(SIGKILL);
      cluster.RestartCoordinator();
      cluster.AddWorker();
      EXPECT_TRUE(cluster.control().WaitForLive(2)) << cluster.Logs();
      EXPECT_THAT(Run("status", "ops", cluster.address()).text, HasSubstr("carol paused job"));
      EXPECT_EQ(Run("resume " + job, "carol", cluster.address()).code, 0);
    });
  };
  const support::ReadResult result = support::ReadThrough(cluster.address(), plan);
  if (resuming.joinable()) resuming.join();
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_THAT(notices.text(), HasSubstr("rows arrive again after"));
  EXPECT_EQ(Run("status", "ops", cluster.address()).code, 0);  // the coordinator outlives the thread that started it
  EXPECT_EQ(result.digest, DigestAlone(plan));
}

}  // namespace
}  // namespace penstock::faults
