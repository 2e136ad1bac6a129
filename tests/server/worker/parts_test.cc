// Small parts of the worker: identity, load, prefetch of indexes, conformance, the daemon's command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/runtime/random_source.h"
#include "pipeline/augment/conformance.h"
#include "server/daemon_options.h"
#include "server/worker/heap_watch.h"
#include "server/worker/indexes/index_prefetch.h"
#include "server/worker/link/identity.h"
#include "server/worker/link/load_meter.h"
#include "tests/support/test_dataset.h"

namespace penstock::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Identity, SurvivesRestarts) {
  support::TempFolder folder;
  const auto first = LoadOrMakeWorkerId(folder.path(), RandomSource::Real());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*LoadOrMakeWorkerId(folder.path(), RandomSource::Real()), *first);
  support::TempFolder other;
  EXPECT_NE(*LoadOrMakeWorkerId(other.path(), RandomSource::Real()), *first);
}

TEST(Identity, AnInvalidIdFileIsNamed) {
  support::TempFolder folder;
  ASSERT_TRUE(WriteFileAtomically(folder.File("worker_id"), "two words\n").ok());
  EXPECT_THAT(std::string(LoadOrMakeWorkerId(folder.path(), RandomSource::Real()).status().message()),
              HasSubstr("worker_id"));
}

// A process with `counted` bytes in use, `uncounted` bytes in use that no counter covers, and `free` bytes.
struct WatchedHeap {
  static constexpr uint64_t kMiB = 1 << 20;
  uint64_t counted = 0, uncounted = 0, free = 0;  // MiB
  int times = 0;
  HeapWatch watch{1000 * kMiB,
                  {[this] { return (counted + uncounted + free) * kMiB; }, [this] { return counted * kMiB; },
                   [this] {
                     ++times;
                     free = 0;
                   }}};

  // Returns how often the watch has released free memory, this call included.
  int Look(uint64_t now_counted, uint64_t now_uncounted, uint64_t now_free) {
    counted = now_counted;
    uncounted = now_uncounted;
    free = now_free;
    watch.Look();
    return times;
  }
};

TEST(HeapWatch, ReleasesFreeMemoryNearTheBudget) {
  WatchedHeap heap;
  EXPECT_EQ(heap.Look(100, 0, 700), 0) << "there is room";
  EXPECT_EQ(heap.Look(950, 20, 0), 0) << "little can be free";
  EXPECT_EQ(heap.Look(700, 50, 280), 1);
  EXPECT_EQ(heap.free, 0u);
  EXPECT_EQ(heap.Look(800, 50, 100), 2) << "more memory can be released, so the watch acts again at once";
}

TEST(HeapWatch, DoesNotTryAgainToReleaseUncountedMemoryThatStays) {
  WatchedHeap heap;
  EXPECT_EQ(heap.Look(600, 300, 0), 1);
  for (int i = 0; i < 1000; ++i) heap.Look(600, 300, 0);
  EXPECT_EQ(heap.times, 1);
  EXPECT_EQ(heap.Look(600, 300, 25), 1);
  EXPECT_EQ(heap.Look(600, 300, 40), 2) << "the uncounted memory has grown enough";
  // The uncounted bytes went away for another reason. The same number of bytes may now be free ones.
  heap.Look(860, 40, 0);
  EXPECT_EQ(heap.Look(600, 40, 260), 3);
}

TEST(HeapWatch, LooksMoreOftenNearTheBudget) {
  WatchedHeap heap;
  EXPECT_EQ(heap.watch.Look(), kSecond);
  heap.counted = 600;
  EXPECT_EQ(heap.watch.Look(), 100 * kMillisecond);
  heap.counted = 990;
  EXPECT_EQ(heap.watch.Look(), 100 * kMillisecond);
  heap.counted = 700;
  heap.free = 250;
  EXPECT_EQ(heap.watch.Look(), kSecond / 2) << "after a look that released some";
}

// A loader with advancing counters, as in a worker.
struct MeteredLoader {
  LoadMeter meter;
  loader::LoaderStats stats;
  Nanos now = 0;

  // Passes `length`. Rows are owed for the part `owing` of it, and made at `rate` in that part.
  v1::WorkerLoad Pass(Nanos length, double rate, double owing) {
    const double seconds = static_cast<double>(length) / kSecond;
    now += length;
    rows_ += rate * owing * seconds;
    stats.rows = static_cast<uint64_t>(rows_);
    stats.busy_seconds += owing * seconds;
    stats.owing_seconds += owing * seconds;
    return meter.Measure(stats, 7, 2, now);
  }
  v1::WorkerLoad PassSeconds(int seconds, double rate, double owing) {
    v1::WorkerLoad load;
    for (int i = 0; i < seconds; ++i) load = Pass(kSecond, rate, owing);
    return load;
  }

 private:
  double rows_ = 0;
};

TEST(LoadMeter, ReportsTheRateOfTheLastSeconds) {
  MeteredLoader loader;
  EXPECT_NEAR(loader.PassSeconds(10, 100, 1).rows_per_second(), 100, 1);
  const v1::WorkerLoad load = loader.PassSeconds(10, 1000, 0.5);
  EXPECT_NEAR(load.rows_per_second(), 500, 1);
  EXPECT_NEAR(load.owing_fraction(), 0.5, 0.01);
  EXPECT_EQ(load.sessions(), 2u);
  EXPECT_EQ(load.bytes_sent(), 7u);
}

TEST(LoadMeter, CapacityCountsOnlyTimeInWhichRowsWereOwed) {
  MeteredLoader loader;
  EXPECT_NEAR(loader.PassSeconds(10, 1000, 1).capacity(), 1000, 1);
  EXPECT_NEAR(loader.PassSeconds(60, 1000, 0.02).capacity(), 1000, 1) << "a slow trainer does not lower the capacity";
  EXPECT_NEAR(loader.PassSeconds(60, 1000, 0).capacity(), 1000, 1) << "an idle worker keeps its capacity";
}

TEST(LoadMeter, ASaturatedSlowWorkerIsDetectedWithinTwoSeconds) {
  MeteredLoader loader;
  loader.PassSeconds(60, 1000, 1);
  EXPECT_NEAR(loader.PassSeconds(2, 200, 1).capacity(), 200, 5);
  EXPECT_NEAR(loader.PassSeconds(2, 1000, 1).capacity(), 1000, 5);
}

TEST(LoadMeter, RowsThatTakeSecondsAreMeasuredOverALongerTime) {
  MeteredLoader loader;
  EXPECT_EQ(loader.PassSeconds(20, 0.4, 1).capacity(), 0) << "8 rows are too few";
  EXPECT_NEAR(loader.PassSeconds(60, 0.4, 1).capacity(), 0.4, 0.05);
}

TEST(LoadMeter, AStuckWorkerLosesItsCapacity) {
  MeteredLoader loader;
  loader.PassSeconds(10, 1000, 1);
  EXPECT_LT(loader.PassSeconds(10, 0, 1).capacity(), 200);
  EXPECT_LT(loader.PassSeconds(80, 0, 1).capacity(), 0.1);
}

TEST(LoadMeter, ReportsNoCapacityBeforeItHasMeasuredWork) {
  MeteredLoader loader;
  EXPECT_EQ(loader.Pass(kSecond, 10, 1).capacity(), 0);
}

TEST(IndexPrefetch, CoversTheShardsThatTheWorkerOwnsOrBacks) {
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

// The digest is also a promise between releases: if it changes, rows have changed, and readers reject earlier states.
TEST(Conformance, IsTheSameHashInEachCall) {
  EXPECT_EQ(augment::ConformanceDigest().size(), 16u);
  EXPECT_EQ(augment::ConformanceDigest(), augment::ConformanceDigest());
}

TEST(DaemonOptions, FlagsSufficeWithoutAFile) {
  support::TempFolder folder;
  const auto options = server::ParseDaemonCommandLine({"worker", "--coordinator", "host:7070", "--data-root",
                                                       "data=" + folder.path(), "--memory-budget=1GiB", "--threads",
                                                       "3", "--record-cache", "0", "--state-dir", folder.path()});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->role, config::DaemonRole::kWorker);
  EXPECT_EQ(options->config.listen(), "127.0.0.1:0");
  EXPECT_EQ(options->config.coordinator(), "host:7070");
  EXPECT_EQ(options->config.worker_settings().memory_budget_bytes(), uint64_t{1} << 30);
  EXPECT_EQ(options->config.worker_settings().record_cache_bytes(), 0u);
  EXPECT_TRUE(options->record_cache_pinned) << "0 is a size, too";
  EXPECT_FALSE(options->decoded_cache_pinned);
  EXPECT_FALSE(options->row_cache_pinned);
  EXPECT_EQ(options->config.worker_settings().threads(), 3u);
  ASSERT_EQ(options->roots.size(), 1u);
  EXPECT_EQ(options->roots[0].name, "data");
}

TEST(DaemonOptions, TheMemoryBudgetNamesItsSource) {
  support::TempFolder folder;
  const MemoryLimit memory{uint64_t{512} << 20, "/sys/fs/cgroup/job/memory.high"};
  const std::vector<std::string> arguments = {"worker", "--data-root", folder.path()};
  const auto found = server::ParseDaemonCommandLine(arguments, memory);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->config.worker_settings().memory_budget_bytes(), uint64_t{256} << 20);
  EXPECT_EQ(found->memory_budget_source, "half of 512 MiB, /sys/fs/cgroup/job/memory.high");
  std::vector<std::string> given = arguments;
  given.insert(given.end(), {"--memory-budget", "1GiB"});
  EXPECT_EQ(server::ParseDaemonCommandLine(given, memory)->memory_budget_source, "--memory-budget");
  const std::string file = folder.File("d.textproto");
  ASSERT_TRUE(WriteFileAtomically(file, "worker_settings { memory_budget_bytes: 1000000000 }\n").ok());
  given = arguments;
  given.insert(given.end(), {"--config", file});
  EXPECT_EQ(server::ParseDaemonCommandLine(given, memory)->memory_budget_source, "memory_budget_bytes in " + file);
}

TEST(DaemonOptions, CachesMustFitIntoTheBudgetThatIsFound) {
  support::TempFolder folder;
  const MemoryLimit memory{uint64_t{512} << 20, "/sys/fs/cgroup/job/memory.high"};
  const auto parse = [&](const std::string& role, const std::string& record_cache) {
    return server::ParseDaemonCommandLine(
               {role, "--data-root", folder.path(), "--record-cache", record_cache, "--decoded-cache", "128MiB"},
               memory)
        .status();
  };
  EXPECT_TRUE(parse("worker", "128MiB").ok());
  EXPECT_TRUE(parse("coordinator", "1GiB").ok()) << "it has no caches";
  for (const char* bytes : {"129MiB", "1TiB"}) {
    const absl::Status status = parse("standalone", bytes);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bytes;
    EXPECT_THAT(status.message(), HasSubstr("half of 512 MiB, /sys/fs/cgroup/job/memory.high"));
  }
}

TEST(DaemonOptions, FlagsOverrideTheFile) {
  support::TempFolder folder;
  ASSERT_TRUE(
      WriteFileAtomically(folder.File("d.textproto"), "listen: '127.0.0.1:5'\nhttp: 'h:1'\nstate_dir: '/s'\n").ok());
  const auto options = server::ParseDaemonCommandLine(
      {"coordinator", "--config", folder.File("d.textproto"), "--listen", "127.0.0.1:6", "--http", "h:2"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->config.http(), "h:2");
  EXPECT_EQ(options->config.listen(), "127.0.0.1:6");
  EXPECT_EQ(options->config.state_dir(), "/s");
}

TEST(DaemonOptions, MistakesAreNamedWithARemedy) {
  const auto message = [](const std::vector<std::string>& arguments) {
    return std::string(server::ParseDaemonCommandLine(arguments).status().message());
  };
  EXPECT_THAT(message({}), HasSubstr("standalone | coordinator | worker"));
  EXPECT_THAT(message({"wroker"}), HasSubstr("did you mean 'worker'?"));
  EXPECT_THAT(message({"worker", "--data-rot", "/x"}), HasSubstr("did you mean '--data-root'?"));
  EXPECT_THAT(message({"worker"}), HasSubstr("--data-root DIR"));
  EXPECT_THAT(message({"worker", "--data-root", "/no/such/folder"}), HasSubstr("/no/such/folder"));
  EXPECT_THAT(message({"coordinator", "--listen", "nonsense"}), HasSubstr("nonsense"));
  EXPECT_THAT(message({"coordinator", "--http", "7072"}), HasSubstr("http: '7072' is not HOST:PORT"));
  EXPECT_THAT(message({"coordinator", "--config", "/no/such/file"}), HasSubstr("/no/such/file"));
  EXPECT_THAT(message({"coordinator", "twice"}), HasSubstr("twice"));
  EXPECT_THAT(message({"worker", "--data-root", "/tmp", "--memory-budget", "1MiB"}), HasSubstr("memory_budget_bytes"));
}

TEST(DaemonOptions, HelpShowsEveryFlag) {
  for (const char* role : {"", "worker", "coordinator", "standalone"}) {
    EXPECT_THAT(server::DaemonHelp(role), HasSubstr("--port-file"));
    EXPECT_THAT(server::DaemonHelp(role), HasSubstr("--data-root"));
  }
}

}  // namespace
}  // namespace penstock::worker
