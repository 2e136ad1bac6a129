// Daemons under limits of the system: of a control group, of threads, of the size of files, of memory; a store that
// another process has changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/support/cluster/control_group.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/reading.h"

namespace penstock::faults {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() : dataset_(support::MakeImageDataset({.shards = 4, .records_per_shard = 40}, data_.path())) {
    dataset_.job.mutable_batch()->set_size(16);
    expected_ = support::PlainDigest(dataset_, dataset_.job, 2);
  }
  static support::ProcessClusterOptions Under(std::vector<std::string> prefix, int workers = 1) {
    support::ProcessClusterOptions options;
    options.workers = workers;
    options.worker_prefix = std::move(prefix);
    return options;
  }
  support::ReadResult ReadTwoEpochs(support::ProcessCluster& cluster) {
    support::ReadPlan plan;
    plan.options.job = dataset_.job.name();
    plan.options.epochs = 2;
    return support::ReadThrough(cluster.address(), plan);
  }
  void ExpectServes(support::ProcessCluster& cluster) {
    const absl::Status submitted = cluster.control().Submit(dataset_.job, true);
    ASSERT_TRUE(submitted.ok()) << submitted << cluster.Logs();
    const support::ReadResult result = ReadTwoEpochs(cluster);
    ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
    EXPECT_EQ(result.digest, expected_);
    stats_ = result.stats;
  }

  support::TempFolder data_, folder_;
  support::TestDataset dataset_;
  std::string expected_;
  ReaderStats stats_;
};

// systemd and SLURM set the limit of a group above the process's own.
TEST_F(LimitsTest, AWorkersBudgetFollowsTheLimitOfANestedGroup) {
  const auto group = support::ControlGroup::Create(support::ControlGroup::Limit::kMemory, 512 * kMiB);
  if (!group.ok()) GTEST_SKIP() << group.status() << "; Cgroup.* in base_test checks the limits with files of its own";
  support::ProcessClusterOptions options = Under((*group)->Prefix());
  options.worker_flags.clear();
  support::ProcessCluster cluster(options, dataset_.roots);
  const v1::StatusReply status = *cluster.control().Status();
  ASSERT_EQ(status.workers_size(), 1);
  EXPECT_EQ(status.workers(0).memory_budget_bytes(), 256 * kMiB);
  EXPECT_THAT(status.workers(0).memory_budget_source(), HasSubstr((*group)->file()));
  EXPECT_THAT(cluster.Logs(),
              HasSubstr(absl::StrCat("the memory budget is 256 MiB (half of 512 MiB, ", (*group)->file())));
  ExpectServes(cluster);
  EXPECT_LT(cluster.worker(0).process->Memory("VmHWM"), 512 * kMiB);
  EXPECT_TRUE(cluster.worker(0).process->running());
}

// With each limit, a worker either names the limit and its need at its start, or serves its job to the end.
class ThreadLimitTest : public LimitsTest {
 protected:
  // Starts a worker after `prefix`. Returns whether it became ready.
  bool StartsOrNames(const std::vector<std::string>& prefix, const std::string& limit, const std::string& name) {
    const std::string log = folder_.File(name + ".log"), port = folder_.File(name + ".port");
    std::vector<std::string> arguments = prefix;
    for (const std::string& argument :
         {program_, std::string("worker"), "--coordinator=" + cluster_.address(), "--state-dir=" + folder_.File(name),
          "--port-file=" + port, std::string("--threads=2"), std::string("--memory-budget=64MiB"),
          "--socket-dir=" + folder_.File(name + ".socket"),
          absl::StrCat("--data-root=", dataset_.roots[0].name, "=", dataset_.roots[0].path)}) {
      arguments.push_back(argument);
    }
    support::Process worker(std::move(arguments), log);
    EXPECT_TRUE(support::WaitUntil([&] { return !worker.running() || std::filesystem::exists(port); }));
    if (worker.running()) {
      ExpectServes(cluster_);
      EXPECT_TRUE(worker.running()) << name;
      worker.Signal(SIGKILL);
      worker.WaitForExit();
      EXPECT_THAT(*ReadWholeFile(log), Not(HasSubstr("broken invariant")));
      return true;
    }
    EXPECT_EQ(worker.WaitForExit(), 1) << name;
    EXPECT_THAT(*ReadWholeFile(log), HasSubstr(limit)) << name;
    EXPECT_THAT(*ReadWholeFile(log), HasSubstr("threads, and the system grants")) << name;
    return false;
  }

  std::string program_ = PENSTOCKD;
  support::ProcessCluster cluster_{Under({}, 0), dataset_.roots};
};

TEST_F(ThreadLimitTest, AGroupsLimitIsNamedAtStartOrSuffices) {
  const auto group = support::ControlGroup::Create(support::ControlGroup::Limit::kTasks, 8);
  if (!group.ok()) GTEST_SKIP() << group.status() << "; Threads.* in base_test refuses threads in the process";
  bool started = false;
  for (const uint64_t limit : {1, 4, 16, 24, 34, 38, 42, 46, 52, 60, 80}) {
    (*group)->SetLimit(limit);
    const bool starts = StartsOrNames((*group)->Prefix(), (*group)->file(), absl::StrCat("pids-", limit));
    EXPECT_TRUE(starts || !started) << limit;
    started = starts;
  }
  EXPECT_TRUE(started) << "with the largest limit";
}

TEST_F(ThreadLimitTest, AUsersLimitIsNamedAtStart) {
  // Root has no such limit. As root, the test runs the worker as another user, which has no other process.
  std::string user;
  if (geteuid() == 0) {
    user = absl::StrCat("setpriv --reuid ", 200000 + getpid(), " --clear-groups ");
    program_ = folder_.File("penstockd");
    std::filesystem::copy_file(PENSTOCKD, program_);
    for (const std::string& folder : {folder_.path(), data_.path()}) {
      std::filesystem::permissions(folder, std::filesystem::perms::all);
    }
  }
  const std::string limited = absl::StrCat("exec prlimit --nproc=6 ", user, "\"$@\"");
  EXPECT_FALSE(StartsOrNames({"/bin/sh", "-c", limited, "sh"}, "RLIMIT_NPROC (ulimit -u) is 6", "nproc"));
}

TEST_F(LimitsTest, ACoordinatorEndsWithTheReasonIfAnotherProcessChangesItsStore) {
  support::ProcessCluster cluster(Under({}), dataset_.roots);
  ExpectServes(cluster);
  const std::string store = cluster.coordinator_dir() + "/coordinator.db";
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(store.c_str(), &db), SQLITE_OK);
  sqlite3_busy_timeout(db, 5000);
  EXPECT_EQ(sqlite3_exec(db, "UPDATE meta SET value=value+1 WHERE key='revision'", nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  v1::JobSpec other = dataset_.job;
  other.set_name("other");
  EXPECT_FALSE(cluster.control().BeginSubmit(other).ok());
  EXPECT_EQ(cluster.coordinator().WaitForExit(), 1);
  EXPECT_THAT(cluster.Logs(), HasSubstr(store + " was changed by another process"));
  cluster.RestartCoordinator();
  ASSERT_TRUE(cluster.control().Submit(other, true).ok());
  ExpectServes(cluster);
}

TEST_F(LimitsTest, RowsGoOverTheNetworkIfSharedMemoryHasNoRoom) {
  support::ProcessCluster cluster(Under(support::AfterShell("ulimit -f 128")), dataset_.roots);  // 64 KiB
  ExpectServes(cluster);
  EXPECT_EQ(stats_.shared_memory_bytes, 0u);
  EXPECT_TRUE(cluster.worker(0).process->running()) << cluster.Logs();
  EXPECT_THAT(cluster.Logs(), HasSubstr("RLIMIT_FSIZE (ulimit -f) allows files of 65536 bytes"));
}

TEST_F(LimitsTest, AListingWithoutMemoryIsRetriedUntilItSucceeds) {
  const std::string trigger = folder_.File("short");
  ASSERT_TRUE(WriteFileAtomically(trigger, "").ok());
  support::ProcessCluster cluster(Under({}, 0), dataset_.roots);
  const std::vector<std::string> environment = {std::string("LD_PRELOAD=") + SHORT_OF_MEMORY,
                                                "PENSTOCK_TEST_SHORT_OF_MEMORY=" + trigger};
  cluster.AddWorker({}, environment);
  cluster.AddWorker({}, environment);
  ASSERT_TRUE(cluster.control().BeginSubmit(dataset_.job).ok());
  const v1::StatusReply status = *cluster.control().Status();
  ASSERT_EQ(status.workers_size(), 2);
  const auto waits_for = [&](int worker) {
    return support::WaitUntil([&] {
      const auto job = cluster.control().GetJob(dataset_.job.name());
      return job.ok() && job->state() == v1::PREPARING &&
             absl::StartsWith(job->waiting(), absl::StrCat("worker ", status.workers(worker).name(), ": listing ")) &&
             absl::StrContains(job->waiting(), "Cannot allocate memory");
    });
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(waits_for(0)) << cluster.Logs();
    EXPECT_TRUE(waits_for(1)) << cluster.Logs();
  }
  ASSERT_EQ(unlink(trigger.c_str()), 0);
  EXPECT_TRUE(support::WaitUntil([&] { return cluster.control().GetJob(dataset_.job.name())->state() == v1::READY; }))
      << cluster.Logs();
  const support::ReadResult result = ReadTwoEpochs(cluster);
  ASSERT_TRUE(result.status.ok()) << result.status << cluster.Logs();
  EXPECT_EQ(result.digest, expected_);
}

}  // namespace
}  // namespace penstock::faults
