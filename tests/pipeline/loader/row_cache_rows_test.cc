// The cache of finished rows below the loader. The loader makes the rows of jobs that draw nothing once, even if
// several sessions read them at the same time. No session gets other rows than without the cache.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "pipeline/cache/row_cache.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/loaded_rows.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/support/plain_rows.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

constexpr int64_t kRow = 64;

// Keeps the first byte of each row by epoch and position.
class NotingSink final : public RowSink {
 public:
  void OnRow(RowResult row) override {
    MutexLock lock(&mutex_);
    EXPECT_TRUE(row.status.ok()) << row.status;
    const int value = row.fixed == nullptr ? -1 : std::to_integer<int>(row.fixed[0]);
    rows_[{row.request.epoch, row.request.position}] = {value, row.masked};
    ++count_;
    changed_.NotifyAll();
  }
  void WaitFor(size_t rows) {
    MutexLock lock(&mutex_);
    while (count_ < rows) changed_.Wait(&mutex_);
  }
  using Rows = std::map<std::pair<uint64_t, uint64_t>, std::pair<int, bool>>;
  Rows rows() {
    MutexLock lock(&mutex_);
    return rows_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  Rows rows_ ABSL_GUARDED_BY(mutex_);
};

std::unique_ptr<Loader> LoaderWith(uint64_t row_cache, int threads = 2) {
  LoaderOptions options;
  options.threads = threads;
  options.memory_budget_bytes = 16 << 20;
  options.row_cache_bytes = row_cache;
  auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  return *std::move(loader);
}

struct Reader {
  NotingSink sink;
  std::unique_ptr<Loader::Session> session;
};

std::unique_ptr<Reader> OpenReader(Loader* loader, const MemoryJob& job, uint64_t rank = 0, uint64_t world_size = 1) {
  auto reader = std::make_unique<Reader>();
  LoaderSessionOptions options;
  options.largest_step_rows = 10;
  options.rank = rank;
  options.world_size = world_size;
  auto session = loader->OpenSession(job.job, options, &reader->sink);
  PS_CHECK(session.ok());
  reader->session = *std::move(session);
  return reader;
}

std::vector<RowRequest> Rows(uint64_t epoch, uint64_t begin, uint64_t end) {
  std::vector<RowRequest> rows;
  for (uint64_t p = begin; p < end; ++p) rows.push_back({.epoch = epoch, .position = p, .step = p / 10});
  return rows;
}

TEST(RowCacheRows, OfADeterministicJobAreMadeOnce) {
  MemoryJob job = MakeMemoryJob(50, 200, kRow);
  job.pipeline->deterministic = true;
  std::atomic<int> made{0};
  job.pipeline->on_make = [&](uint64_t) {
    ++made;
    return absl::OkStatus();
  };
  const auto loader = LoaderWith(1 << 20);
  const auto reader = OpenReader(loader.get(), job);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    reader->session->Request(Rows(epoch, 0, 50));
    reader->sink.WaitFor(50 * (epoch + 1));
  }
  EXPECT_EQ(made.load(), 50);
  EXPECT_EQ(job.dataset->reads.load(), 50);
  const LoaderStats stats = loader->Stats();
  EXPECT_EQ(stats.rows, 150u);
  EXPECT_EQ(stats.row_cache.hits, 100u);
  EXPECT_GT(stats.row_cache.bytes, 50u * kRow);
  EXPECT_LE(stats.memory_peak_bytes, uint64_t{16} << 20);
}

TEST(RowCacheRows, AreDroppedWithTheirJob) {
  MemoryJob job = MakeMemoryJob(50, 200, kRow);
  job.pipeline->deterministic = true;
  const auto loader = LoaderWith(1 << 20);
  auto reader = OpenReader(loader.get(), job);
  reader->session->Request(Rows(0, 0, 50));
  reader->sink.WaitFor(50);
  reader->session.reset();
  job = MemoryJob();
  EXPECT_EQ(loader->Stats().row_cache.bytes, 0u);
}

// Four readers of one job, such as an evaluation during a training or several experiments on one input. The loader
// makes each row once, though all readers request it at the same time.
TEST(RowCacheRows, OfSeveralReadersOfOneJobAreMadeOnce) {
  for (const int threads : {1, 2, 5}) {
    MemoryJob job = MakeMemoryJob(200, 50, kRow);
    std::atomic<int> made{0};
    job.pipeline->on_make = [&](uint64_t) {
      ++made;
      return absl::OkStatus();
    };
    const auto loader = LoaderWith(1 << 20, threads);
    std::vector<std::unique_ptr<Reader>> readers;
    for (int i = 0; i < 4; ++i) readers.push_back(OpenReader(loader.get(), job));
    for (const auto& reader : readers) reader->session->Request(Rows(3, 0, 200));
    for (const auto& reader : readers) reader->sink.WaitFor(200);
    EXPECT_EQ(made.load(), 200) << threads;
    for (const auto& reader : readers) EXPECT_EQ(reader->sink.rows(), readers[0]->sink.rows());
  }
}

TEST(RowCacheRows, ReadersOfDifferentRowsUseNoCache) {
  MemoryJob job = MakeMemoryJob(50, 200, kRow);
  const auto loader = LoaderWith(1 << 20);
  const auto one = OpenReader(loader.get(), job, 0, 2), two = OpenReader(loader.get(), job, 1, 2);
  one->session->Request(Rows(0, 0, 25));
  two->session->Request(Rows(0, 25, 50));
  one->sink.WaitFor(25);
  two->sink.WaitFor(25);
  EXPECT_EQ(loader->Stats().row_cache.bytes, 0u) << "ranks of one job read different rows";
  EXPECT_EQ(loader->Stats().row_cache.misses, 0u);
}

TEST(RowCacheRows, OfARandomJobDifferBetweenEpochs) {
  MemoryJob job = MakeMemoryJob(20, 50, kRow);
  const auto plain_loader = LoaderWith(0), loader = LoaderWith(1 << 20);
  const auto plain = OpenReader(plain_loader.get(), job);
  const auto one = OpenReader(loader.get(), job), two = OpenReader(loader.get(), job);
  for (const auto* reader : {plain.get(), one.get(), two.get()}) {
    for (uint64_t epoch = 0; epoch < 4; ++epoch) reader->session->Request(Rows(epoch, 0, 20));
  }
  for (auto* reader : {plain.get(), one.get(), two.get()}) reader->sink.WaitFor(80);
  EXPECT_EQ(one->sink.rows(), plain->sink.rows());
  EXPECT_EQ(two->sink.rows(), plain->sink.rows());
}

// A slow reader delays no other and loses nothing: the loader makes evicted rows again.
TEST(RowCacheRows, AReaderFarBehindGetsTheSameRows) {
  MemoryJob job = MakeMemoryJob(300, 50, kRow);
  const auto loader = LoaderWith(20 * (kRow + cache::RowCache::kEntryOverhead));
  const auto fast = OpenReader(loader.get(), job), slow = OpenReader(loader.get(), job);
  fast->session->Request(Rows(0, 0, 300));
  fast->sink.WaitFor(300);
  slow->session->Request(Rows(0, 0, 300));
  slow->sink.WaitFor(300);
  EXPECT_EQ(slow->sink.rows(), fast->sink.rows());
  EXPECT_LE(loader->Stats().row_cache.bytes, 20 * (kRow + cache::RowCache::kEntryOverhead));
}

TEST(RowCacheRows, BadRecordsAreFoundEachTime) {
  MemoryJob job = MakeMemoryJob(40, 50, kRow, v1::MASK);
  job.pipeline->deterministic = true;
  job.pipeline->on_make = [&](uint64_t record) {
    return record % 4 == 1 ? absl::InvalidArgumentError("not an image") : absl::OkStatus();
  };
  const auto loader = LoaderWith(1 << 20);
  const auto reader = OpenReader(loader.get(), job);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    reader->session->Request(Rows(epoch, 0, 40));
    reader->sink.WaitFor(40 * (epoch + 1));
  }
  int masked = 0;
  for (const auto& [at, row] : reader->sink.rows()) masked += row.second ? 1 : 0;
  EXPECT_EQ(masked, 30);
  EXPECT_EQ(loader->Stats().failed_rows, 30u);
}

// A reader closes while the loader makes its row. Another reader that waits for this row still gets it.
TEST(RowCacheRows, AReaderGetsARowAfterTheReaderThatMakesItCloses) {
  MemoryJob job = MakeMemoryJob(10, 50, kRow);
  Mutex mutex;
  CondVar changed;
  int inside = 0;
  bool open = false;
  job.pipeline->on_make = [&](uint64_t) {
    MutexLock lock(&mutex);
    ++inside;
    changed.NotifyAll();
    while (!open) changed.Wait(&mutex);
    return absl::OkStatus();
  };
  const auto loader = LoaderWith(1 << 20, 2);
  auto one = OpenReader(loader.get(), job);
  const auto two = OpenReader(loader.get(), job);
  one->session->Request(Rows(0, 0, 1));
  {
    MutexLock lock(&mutex);
    while (inside < 1) changed.Wait(&mutex);
  }
  two->session->Request(Rows(0, 0, 1));
  std::thread closer([&] { one->session.reset(); });
  {
    MutexLock lock(&mutex);
    open = true;
    changed.NotifyAll();
  }
  two->sink.WaitFor(1);
  closer.join();
}

// Expects the rows of the plain loop from a loader with a cache of `row_cache` bytes. Returns the hits.
uint64_t HitsWithPlainRows(const support::TestDataset& set, uint64_t row_cache) {
  const auto job = support::OpenJob(set.job, set.roots);
  PS_CHECK(job.ok());
  LoaderOptions options;
  options.threads = 2;
  options.memory_budget_bytes = 32 << 20;
  options.row_cache_bytes = row_cache;
  const auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  const auto steps = LoadedSteps(loader->get(), *job, {.read = {.epochs = 3}});
  PS_CHECK(steps.ok());
  EXPECT_EQ(support::DigestOf(*steps), support::PlainDigest(set, set.job, 3)) << row_cache;
  return (*loader)->Stats().row_cache.hits;
}

TEST(RowCacheRows, EqualThePlainRowsForEveryKindOfColumn) {
  support::TempFolder folder, numbers_folder;
  const support::TestDataset set = support::MakeDetectionDataset(folder.path());
  for (const uint64_t row_cache : {0, 8 << 20}) HitsWithPlainRows(set, row_cache);
  const support::TestDataset numbers = support::MakeNumberDataset({}, numbers_folder.path());
  HitsWithPlainRows(numbers, 5'000);
  // A row that two epochs request at the same time may be made twice.
  const uint64_t hits = HitsWithPlainRows(numbers, 4'000'000);
  EXPECT_LE(hits, 400u);
  EXPECT_GE(hits, 300u);
}

// A job that checks only the wanted part may have rows of images that are damaged elsewhere.
TEST(RowCacheRows, JobsThatCheckWholeImagesShareNoRowsWithJobsThatDoNot) {
  const MemoryJob memory = MakeMemoryJob(10, 100, kRow);
  v1::JobSpec spec = memory.job->spec();
  spec.mutable_errors()->set_check(v1::WHOLE_IMAGE);
  const auto whole = LoadJob::Create(spec, memory.dataset, std::make_unique<MemoryPipeline>(kRow));
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ((*whole)->record_space(), memory.job->record_space());
  EXPECT_NE((*whole)->decoded_space(), memory.job->decoded_space());
  EXPECT_NE((*whole)->shared_space(), memory.job->shared_space());
  EXPECT_EQ((*whole)->order_fingerprint(), memory.job->order_fingerprint());
}

}  // namespace
}  // namespace penstock::loader
