// A row that has to wait resumes where it stopped: it finds its place in the plan once, and it asks each cache once.
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "tests/pipeline/loader/slow_reads_testing.h"

namespace penstock::loader {
namespace {

class ResumedRowsTest : public SlowReadsTest {
 protected:
  static std::unique_ptr<Loader> LoaderWithCaches() {
    LoaderOptions options;
    options.threads = 2;
    options.memory_budget_bytes = 32 << 20;
    options.record_cache_bytes = 4 << 20;
    options.decoded_cache_bytes = 4 << 20;
    options.row_cache_bytes = 4 << 20;
    options.ranges_under_way = 0;
    auto loader = Loader::Create(options);
    PS_CHECK(loader.ok());
    return *std::move(loader);
  }
  static uint64_t Lookups(const cache::CacheStats& cache) { return cache.hits + cache.misses; }
};

TEST_F(ResumedRowsTest, ARowThatWaitsForItsRecordIsPlannedAndLookedUpOnce) {
  Make();
  set_.job.mutable_ops()->DeleteSubrange(1, set_.job.ops_size() - 1);  // decode_image alone: each epoch is the same
  set_.job.add_ops()->mutable_resize()->set_height(32);
  set_.job.mutable_ops(1)->mutable_resize()->set_width(32);
  job_ = JobOn(&storage_, set_, state_.path());
  OpenFiles();
  ASSERT_TRUE(job_->pipelines().AreDeterministic());
  storage_.Hold(true);
  auto loader = LoaderWithCaches();
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  storage_.WaitForReads(40);
  storage_.Hold(false);
  for (const RowResult& row : sink.TakeStep(0, 40)) EXPECT_TRUE(row.status.ok()) << row.status;
  const LoaderStats stats = loader->Stats();
  EXPECT_GT(stats.tries, 40u) << "no row waited";
  EXPECT_EQ(stats.planned_rows, 40u);
  EXPECT_EQ(Lookups(stats.row_cache), 40u);
  EXPECT_EQ(Lookups(stats.record_cache), 40u);
  EXPECT_EQ(Lookups(stats.decoded_cache), 40u);
}

TEST_F(ResumedRowsTest, ARowThatWaitsForItsShardIsPlannedOnce) {
  Make();
  auto loader = LoaderWithCaches();
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  for (const RowResult& row : sink.TakeStep(0, 40)) EXPECT_TRUE(row.status.ok()) << row.status;
  const LoaderStats stats = loader->Stats();
  EXPECT_GT(stats.tries, 40u) << "no row waited";
  EXPECT_EQ(stats.planned_rows, 40u);
}

TEST(ResumedRows, ARowThatWaitsForMemoryUsesItsCachedRecord) {
  MemoryJob made = MakeMemoryJob(2, 100, 100);
  made.pipeline->scratch = [](uint64_t) { return uint64_t{6} << 20; };  // there is room for one row at a time
  LoaderOptions options;
  options.threads = 2;
  options.memory_budget_bytes = 10 << 20;
  options.record_cache_bytes = 1 << 20;
  auto loader = Loader::Create(options).value();
  // Both rows read their records before either one learns how much memory it needs.
  Mutex mutex;
  CondVar changed;
  int reading = 0;
  made.dataset->on_read = [&](uint64_t) {
    MutexLock lock(&mutex);
    ++reading;
    changed.NotifyAll();
    while (reading < 2) changed.Wait(&mutex);
    return absl::OkStatus();
  };
  // The first row keeps its memory until the other one was put back.
  made.pipeline->on_make = [&](uint64_t) {
    while (loader->Stats().tries == 0) std::this_thread::yield();
    return absl::OkStatus();
  };
  HoldingSink sink;
  auto session = SessionOf(loader.get(), made.job, &sink, 2);
  session->Request(RowsOf(0, 2, 2));
  for (const RowResult& row : sink.TakeStep(0, 2)) EXPECT_TRUE(row.status.ok()) << row.status;
  EXPECT_EQ(loader->Stats().tries, 3u);
  EXPECT_EQ(made.dataset->reads.load(), 2);
  session.reset();
}

TEST_F(ResumedRowsTest, ARowResumesWithTheSubstituteThatItTried) {
  Make(sources::Compression::kNone, v1::SUBSTITUTE);
  support::BreakRecord(set_.files[0], 0);
  support::BreakRecord(set_.files[1], 3);
  auto loader = LoaderWithCaches();
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  int substituted = 0;
  for (const RowResult& row : sink.TakeStep(0, 40)) {
    ASSERT_TRUE(row.status.ok()) << row.status;
    substituted += row.substituted;
    EXPECT_EQ(row.substituted, !row.fault.ok());
    EXPECT_EQ(row.substituted, row.source_record != row.record_id);
  }
  EXPECT_EQ(substituted, 2);
  const LoaderStats stats = loader->Stats();
  EXPECT_EQ(stats.planned_rows, 40u);
  // A row looks up each record that it tries once, even if it reads the record several times. It looks up no damaged
  // record that was read before the row's turn.
  EXPECT_LE(Lookups(stats.record_cache), 42u);
  EXPECT_GE(Lookups(stats.record_cache), 40u);
}

}  // namespace
}  // namespace penstock::loader
