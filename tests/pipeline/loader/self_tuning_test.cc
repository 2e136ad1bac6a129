#include "pipeline/loader/self_tuning.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/storage/files.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

std::unique_ptr<Loader> TunedLoader(int threads) {
  LoaderOptions options;
  options.threads = threads;
  options.memory_budget_bytes = 8 << 20;
  auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  return *std::move(loader);
}

std::shared_ptr<const LoadJob> OpenJobOn(storage::Storage* storage, const support::TestDataset& set) {
  auto reader = OpenDataset(storage, set.job, set.roots, std::nullopt, 1);
  PS_CHECK(reader.ok());
  auto job = LoadJob::Create(set.job, *reader);
  PS_CHECK(job.ok());
  return *job;
}

std::map<uint64_t, std::string> RowsOfJob(const std::shared_ptr<const LoadJob>& job, Loader* loader, uint64_t rows) {
  HoldingSink sink;
  LoaderSessionOptions options;
  options.largest_step_rows = 8;
  auto session = loader->OpenSession(job, options, &sink);
  PS_CHECK(session.ok());
  (*session)->Request(RowsOf(0, rows, rows));
  std::map<uint64_t, std::string> bytes;
  for (const RowResult& row : sink.TakeStep(0, rows)) {
    PS_CHECK(row.status.ok());
    bytes[row.request.position].assign(reinterpret_cast<const char*>(row.fixed.get()), job->fixed_bytes());
  }
  return bytes;
}

TEST(SelfTuning, RowsAreTheSameWhileEverySettingChanges) {
  support::TempFolder folder;
  support::ImageDatasetOptions images;
  images.shards = 2;
  const support::TestDataset set = support::MakeImageDataset(images, folder.path());
  const auto near = OpenJobOn(storage::LocalFiles(), set);
  const auto calm = TunedLoader(2);
  const auto expected = RowsOfJob(near, calm.get(), near->positions());

  storage::RemoteFiles files(0, storage::LocalFiles());
  const auto job = OpenJobOn(files.storage(), set);
  const auto loader = TunedLoader(4);
  std::atomic<bool> done{false};
  std::thread changes([&] {
    std::mt19937 random(7);
    while (!done.load()) {
      loader->Set(
          {.threads = 1 + static_cast<int>(random() % 4), .reads_under_way = 1 + static_cast<int>(random() % 9)});
      files.SetThreads(static_cast<int>(random() % 6));
    }
  });
  for (int i = 0; i < 30; ++i) EXPECT_EQ(RowsOfJob(job, loader.get(), job->positions()), expected);
  done.store(true);
  changes.join();
}

TEST(SelfTuning, SurplusThreadsMakeNoRow) {
  MemoryJob job = MakeMemoryJob(200, 20, 100);
  std::atomic<int> now{0}, most{0};
  job.pipeline->on_make = [&](uint64_t) {
    const int count = now.fetch_add(1) + 1;
    for (int seen = most.load(); seen < count && !most.compare_exchange_weak(seen, count);) {
    }
    std::this_thread::yield();
    now.fetch_sub(1);
    return absl::OkStatus();
  };
  const auto loader = TunedLoader(4);
  for (const int threads : {1, 3, 2, 1, 4}) {
    loader->Set({.threads = threads, .reads_under_way = 4});
    most.store(0);
    RowsOfJob(job.job, loader.get(), 200);
    EXPECT_LE(most.load(), threads);
    EXPECT_GE(most.load(), 1);
  }
}

JobTimes Times(const std::string& job, double making, double storage, double unrequested) {
  JobTimes times;
  times.job = job;
  times.making_seconds = making;
  times.reading_seconds = making / 2;
  times.storage_seconds = storage;
  times.unrequested_seconds = unrequested;
  return times;
}

TEST(TuningCounts, IdleThreadsCountOnceForAllJobsThatAreRead) {
  TuningCounts before, after;
  after.at = kSecond;
  before.stats.rows = 100;
  after.stats.rows = 350;
  after.stats.storage_reads = 10;
  after.stats.storage_seconds = 0.5;
  before.jobs = {Times("a", 5, 1, 1), Times("gone", 9, 9, 9)};
  // The same second without work counts for each job: one waits for storage, one is new, one is not read at all.
  after.jobs = {Times("a", 5.5, 1.75, 1), Times("b", 0.25, 0, 0.75), Times("idle", 0, 0, 1)};
  const tuning::TuningWindow window = WindowBetween(before, after);
  EXPECT_DOUBLE_EQ(window.seconds, 1);
  EXPECT_DOUBLE_EQ(window.rows, 250);
  EXPECT_DOUBLE_EQ(window.reads, 10);
  EXPECT_DOUBLE_EQ(window.read_seconds, 0.5);
  EXPECT_DOUBLE_EQ(window.busy_seconds, 0.75);
  EXPECT_DOUBLE_EQ(window.blocked_seconds, 0.375);
  EXPECT_DOUBLE_EQ(window.storage_seconds, 0.75);
  EXPECT_DOUBLE_EQ(window.unrequested_seconds, 0);
}

TEST(SelfTuning, PinnedSettingsAndAnIdleLoaderAreNotTuned) {
  storage::RemoteFiles files(7, storage::LocalFiles());
  const auto loader = TunedLoader(3);
  SelfTuningOptions options;
  options.limits = {.most_threads = 3, .threads_pinned = true, .read_threads_pinned = true};
  const SelfTuning tuning(loader.get(), &files, options);
  EXPECT_EQ(tuning.Get().setting, (tuning::TuningSetting{3, 7}));
  EXPECT_EQ(tuning.Get().changes, 0u);
  EXPECT_EQ(files.threads(), 7);
}

}  // namespace
}  // namespace penstock::loader
