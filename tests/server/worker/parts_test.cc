// The worker's small parts: identity, load, prefetch of indexes, conformance, the daemon's command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "server/daemon_options.h"
#include "server/worker/indexes/index_prefetch.h"
#include "server/worker/jobs/conformance.h"
#include "server/worker/link/identity.h"
#include "server/worker/link/load_meter.h"
#include "tests/support/test_dataset.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Identity, IsKeptOverRestarts) {
  TempFolder folder;
  const auto first = LoadOrMakeWorkerId(folder.path());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*LoadOrMakeWorkerId(folder.path()), *first);
  TempFolder other;
  EXPECT_NE(*LoadOrMakeWorkerId(other.path()), *first);
}

TEST(Identity, AFileThatHoldsNoneIsSaid) {
  TempFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("worker_id"), "two words\n").ok());
  EXPECT_THAT(std::string(LoadOrMakeWorkerId(folder.path()).status().message()), HasSubstr("worker_id"));
}

TEST(LoadMeter, GivesTheRateOfTheLastSeconds) {
  LoadMeter meter;
  LoaderStats stats;
  for (int second = 0; second <= 20; ++second) {
    stats.rows = second <= 10 ? 100 * second : 1000 + 500 * (second - 10);
    stats.cpu_seconds = stats.rows / 50.0;
    const v1::WorkerLoad load = meter.Measure(stats, 7, 2, second * kSecond);
    if (second == 10) {
      EXPECT_NEAR(load.rows_per_second(), 100, 1);
    }
    if (second == 20) {
      EXPECT_NEAR(load.rows_per_second(), 500, 1);
      EXPECT_NEAR(load.rows_per_cpu_second(), 50, 1);
      EXPECT_EQ(load.sessions(), 2u);
    }
  }
}

TEST(LoadMeter, SaysNoCapacityBeforeThereIsWorkToMeasure) {
  LoadMeter meter;
  LoaderStats stats;
  stats.rows = 10;
  stats.cpu_seconds = 5;
  EXPECT_EQ(meter.Measure(stats, 0, 0, kSecond).rows_per_cpu_second(), 0);
}

TEST(IndexPrefetch, CoversWhatTheViewMakesThisWorkerOwnerOrBackupOf) {
  v1::Job job;
  for (int i = 0; i < 4; ++i) job.mutable_snapshot()->add_shards()->set_records(i == 2 ? 0 : 10);
  v1::View* view = job.mutable_view();
  for (const char* id : {"a", "b", "c"}) view->add_workers()->set_id(id);
  const auto add = [&](uint64_t begin, uint64_t end, uint32_t owner, uint32_t backup) {
    v1::View::Range* range = view->add_ranges();
    range->set_begin(begin);
    range->set_end(end);
    range->set_owner(owner);
    range->set_backup(backup);
  };
  add(0, 8, 0, 1);
  add(8, 20, 1, 2);
  add(20, 30, 2, 1);
  EXPECT_THAT(ShardsToServe(job, "a"), ElementsAre(0));
  EXPECT_THAT(ShardsToServe(job, "b"), ElementsAre(0, 1, 3));
  EXPECT_THAT(ShardsToServe(job, "c"), ElementsAre(0, 1, 3));
  EXPECT_THAT(ShardsToServe(job, "d"), IsEmpty());
  view->set_policy(v1::BY_RANK);
  EXPECT_THAT(ShardsToServe(job, "a"), ElementsAre(0, 1, 3));
}

// The digest is a promise between releases as well: where it changes, rows have changed, and states of before are
// refused.
TEST(Conformance, IsAHashThatDoesNotChangeFromCallToCall) {
  EXPECT_EQ(ConformanceDigest().size(), 16u);
  EXPECT_EQ(ConformanceDigest(), ConformanceDigest());
}

TEST(DaemonOptions, FlagsAloneAreEnough) {
  TempFolder folder;
  const auto options = ParseDaemonCommandLine({"worker", "--coordinator", "host:7070", "--data-root",
                                               "data=" + folder.path(), "--memory-budget=1GiB", "--threads", "3",
                                               "--record-cache", "0", "--state-dir", folder.path()});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->role, DaemonRole::kWorker);
  EXPECT_EQ(options->config.listen(), "127.0.0.1:0");
  EXPECT_EQ(options->config.coordinator(), "host:7070");
  EXPECT_EQ(options->config.worker_settings().memory_budget_bytes(), uint64_t{1} << 30);
  EXPECT_EQ(options->config.worker_settings().record_cache_bytes(), 0u);
  EXPECT_EQ(options->config.worker_settings().threads(), 3u);
  ASSERT_EQ(options->roots.size(), 1u);
  EXPECT_EQ(options->roots[0].name, "data");
}

TEST(DaemonOptions, FlagsOverrideTheFile) {
  TempFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("d.textproto"), "listen: '127.0.0.1:5'\nstate_dir: '/s'\n").ok());
  const auto options =
      ParseDaemonCommandLine({"coordinator", "--config", folder.File("d.textproto"), "--listen", "127.0.0.1:6"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->config.listen(), "127.0.0.1:6");
  EXPECT_EQ(options->config.state_dir(), "/s");
}

TEST(DaemonOptions, MistakesAreNamedWithTheWayOut) {
  const auto message = [](const std::vector<std::string>& arguments) {
    return std::string(ParseDaemonCommandLine(arguments).status().message());
  };
  EXPECT_THAT(message({}), HasSubstr("standalone | coordinator | worker"));
  EXPECT_THAT(message({"wroker"}), HasSubstr("did you mean 'worker'?"));
  EXPECT_THAT(message({"worker", "--data-rot", "/x"}), HasSubstr("did you mean '--data-root'?"));
  EXPECT_THAT(message({"worker"}), HasSubstr("--data-root DIR"));
  EXPECT_THAT(message({"worker", "--data-root", "/no/such/folder"}), HasSubstr("/no/such/folder"));
  EXPECT_THAT(message({"coordinator", "--listen", "nonsense"}), HasSubstr("nonsense"));
  EXPECT_THAT(message({"coordinator", "--config", "/no/such/file"}), HasSubstr("/no/such/file"));
  EXPECT_THAT(message({"coordinator", "twice"}), HasSubstr("twice"));
  EXPECT_THAT(message({"worker", "--data-root", "/tmp", "--memory-budget", "1MiB"}), HasSubstr("memory_budget_bytes"));
}

TEST(DaemonOptions, HelpShowsEveryFlag) {
  for (const char* role : {"", "worker", "coordinator", "standalone"}) {
    EXPECT_THAT(DaemonHelp(role), HasSubstr("--port-file"));
    EXPECT_THAT(DaemonHelp(role), HasSubstr("--data-root"));
  }
}

}  // namespace
}  // namespace penstock
