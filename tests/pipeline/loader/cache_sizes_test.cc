// Caches are resized while rows are made. The rows stay the same, and memory stays within the budget.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "pipeline/loader/cache_tuning.h"
#include "pipeline/loader/epochs_seen.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/support/sanitizers.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

constexpr Nanos kMicro = kSecond / 1'000'000;

// Keeps a hash of each row, by epoch and position.
class HashingSink final : public RowSink {
 public:
  explicit HashingSink(size_t bytes) : bytes_(bytes) {}
  void OnRow(RowResult row) override {
    EXPECT_TRUE(row.status.ok()) << row.status;
    const auto* const begin = reinterpret_cast<const char*>(row.fixed.get());
    const uint64_t hash = row.fixed == nullptr ? 0 : Hash64(std::string_view(begin, bytes_));
    MutexLock lock(&mutex_);
    rows_[{row.request.epoch, row.request.position}] = hash;
    ++count_;
    changed_.NotifyAll();
  }
  void WaitFor(size_t rows) {
    MutexLock lock(&mutex_);
    while (count_ < rows) changed_.Wait(&mutex_);
  }
  using Rows = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;
  Rows rows() {
    MutexLock lock(&mutex_);
    return rows_;
  }

 private:
  const size_t bytes_;
  Mutex mutex_;
  CondVar changed_;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  Rows rows_ ABSL_GUARDED_BY(mutex_);
};

std::unique_ptr<Loader> SizedLoader(uint64_t budget, const tuning::CacheSizes& first, int threads = 2,
                                    Clock* clock = StoppedClock(), bool chosen = true) {
  LoaderOptions options;
  options.threads = threads;
  options.memory_budget_bytes = budget;
  options.record_cache_bytes = first.records;
  options.decoded_cache_bytes = first.decoded;
  options.row_cache_bytes = first.rows;
  options.choose_record_cache = options.choose_decoded_cache = options.choose_row_cache = chosen;
  options.clock = clock;
  auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  return *std::move(loader);
}

LoaderSessionOptions StepsOf(uint32_t rows) {
  LoaderSessionOptions options;
  options.largest_step_rows = rows;
  return options;
}

HashingSink::Rows ReadEpochs(Loader* loader, const std::shared_ptr<const LoadJob>& job, uint64_t first, uint64_t end) {
  HashingSink sink(job->fixed_bytes());
  auto session = loader->OpenSession(job, StepsOf(8), &sink);
  PS_CHECK(session.ok());
  const uint64_t rows = job->positions();
  for (uint64_t epoch = first; epoch < end; ++epoch) {
    std::vector<RowRequest> wanted;
    for (uint64_t row = 0; row < rows; ++row) {
      RowRequest request;
      request.epoch = epoch;
      request.position = row;
      request.step = epoch * rows + row / 8;
      wanted.push_back(request);
    }
    (*session)->Request(wanted);
    sink.WaitFor((epoch - first + 1) * rows);
  }
  session->reset();
  return sink.rows();
}

std::shared_ptr<const LoadJob> LoadedJob(const support::TestDataset& set) {
  auto reader = OpenDataset(storage::LocalFiles(), set.job, set.roots, std::nullopt, 2);
  PS_CHECK(reader.ok());
  auto job = LoadJob::Create(set.job, *std::move(reader));
  PS_CHECK(job.ok());
  return *job;
}

class CacheSizesOf : public ::testing::TestWithParam<bool> {};

TEST_P(CacheSizesOf, MayChangeAtAnyTimeAndRowsStayTheSame) {
  constexpr uint64_t kBudget = 8 << 20;
  support::TempFolder folder;
  support::TestDataset set = support::MakeImageDataset({.shards = 2, .records_per_shard = 30}, folder.path());
  if (GetParam()) {  // the job draws nothing, so that the loader also caches finished rows
    set.job.clear_ops();
    set.job.add_ops()->mutable_decode_image();
    auto* const resize = set.job.add_ops()->mutable_resize();
    resize->set_height(32);
    resize->set_width(32);
  }
  const std::shared_ptr<const LoadJob> job = LoadedJob(set);
  const HashingSink::Rows expected = ReadEpochs(SizedLoader(kBudget, {}).get(), job, 0, 12);
  auto loader = SizedLoader(kBudget, {100'000, 0, 50'000});
  std::atomic<bool> done{false};
  std::thread changes([&] {
    std::mt19937_64 random(GetParam() ? 5 : 6);
    const auto size = [&random] { return random() % 4 == 0 ? 0 : random() % (3 << 20); };
    uint64_t rows = 0;
    while (!done.load()) {
      if (loader->Stats().rows < rows) {
        std::this_thread::yield();
        continue;
      }
      rows += 40;  // some rows hit the caches before the next change
      const tuning::CacheSizes now = loader->SetCaches({size(), size(), size()});
      EXPECT_LE(now.sum(), kBudget);
      EXPECT_LE(loader->Stats().memory_peak_bytes, kBudget);
    }
  });
  const HashingSink::Rows rows = ReadEpochs(loader.get(), job, 0, 12);
  done = true;
  changes.join();
  EXPECT_EQ(rows, expected);
  loader->SetCaches({1 << 20, 3 << 20, 1 << 20});
  EXPECT_EQ(ReadEpochs(loader.get(), job, 0, 12), expected);
  const LoaderStats stats = loader->Stats();
  EXPECT_GT(stats.decoded_cache.hits + stats.row_cache.hits, 0u);
  EXPECT_LE(stats.memory_peak_bytes, kBudget);
}

INSTANTIATE_TEST_SUITE_P(Pipelines, CacheSizesOf, ::testing::Bool(),
                         [](const auto& name) { return name.param ? "Evaluation" : "Training"; });

TEST(CacheSizesOfALoader, GrowIntoMemoryThatRowsLeaveAndShrinkAtOnce) {
  constexpr uint64_t kBudget = 1 << 20;
  MemoryJob job = MakeMemoryJob(100, 1000, 500);
  auto loader = SizedLoader(kBudget, {});
  ReadEpochs(loader.get(), job.job, 0, 1);
  EXPECT_EQ(loader->Stats().record_cache.bytes, 0u);
  EXPECT_EQ(loader->SetCaches({400'000, 0, 0}).records, 400'000u);
  ReadEpochs(loader.get(), job.job, 1, 3);
  EXPECT_EQ(loader->Stats().record_cache.hits, 100u);
  EXPECT_EQ(loader->SetCaches({50'000, 0, 0}).records, 50'000u);
  EXPECT_LE(loader->Stats().record_cache.bytes, 50'000u);
  EXPECT_GT(loader->Stats().record_cache.bytes, 40'000u) << "only the excess is evicted";
  EXPECT_LT(loader->SetCaches({10 * kBudget, 0, 0}).records, kBudget);
}

TEST(CacheSizesOfALoader, ReturnMemoryToASessionThatNeedsIt) {
  MemoryJob job = MakeMemoryJob(100, 1000, 10'000);
  HoldingSink sink;
  for (const bool chosen : {true, false}) {
    auto loader = SizedLoader(1 << 20, {}, 1, StoppedClock(), chosen);
    const tuning::CacheSizes sizes = loader->SetCaches({300'000, 500'000, 0});
    ASSERT_EQ(sizes.sum(), 800'000u);
    auto session = loader->OpenSession(job.job, StepsOf(60), &sink);
    EXPECT_EQ(session.ok(), chosen) << "a configured size does not change";
    const CacheUse use = loader->TakeCacheUse();
    EXPECT_EQ(use.now.sum() < 800'000u, chosen);
    if (chosen) {
      EXPECT_GE(use.rows_need, 600'000u) << "the caches do not take the memory again";
      EXPECT_LT(loader->SetCaches(sizes).sum(), 800'000u);
    }
  }
}

TEST(CacheSizesOfALoader, ReturnMemoryToARowThatNeedsIt) {
  MemoryJob job = MakeMemoryJob(4, 1000, 1000);
  job.pipeline->scratch = [](uint64_t record) { return record == 2 ? 600'000u : 1000u; };
  auto loader = SizedLoader(1 << 20, {}, 1);
  ASSERT_EQ(loader->SetCaches({300'000, 500'000, 0}).sum(), 800'000u);
  ReadEpochs(loader.get(), job.job, 0, 1);  // expects that every row succeeds
  EXPECT_LE(loader->Stats().memory_peak_bytes, 1u << 20);
}

// ---- Chosen sizes

struct Machine {
  explicit Machine(const MemoryJob& made) : job(made) {
    job.dataset->on_read = [this](uint64_t) {
      clock.Advance(30 * kMicro);
      return absl::OkStatus();
    };
    job.pipeline->on_make = [this](uint64_t) {
      ++made_whole;
      clock.Advance(1300 * kMicro);
      return absl::OkStatus();
    };
    job.pipeline->on_decode = [this] { clock.Advance(1200 * kMicro); };
    job.pipeline->on_decoded = [this] { clock.Advance(500 * kMicro); };
  }
  // Reads `epochs` epochs and calls Look() every 200 rows. Returns per epoch how many rows were made from their
  // records.
  std::vector<int> Run(Loader* loader, CacheTuning* tuning, uint64_t epochs) {
    std::vector<int> whole;
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
      made_whole = 0;
      HashingSink::Rows rows = ReadEpochs(loader, job.job, epoch, epoch + 1);
      digests.push_back(HashWords({rows.size(), rows.begin()->second, rows.rbegin()->second}));
      clock.Advance(CacheTuning::kLookInterval);
      if (const auto line = tuning->Look(clock.Now()); line.has_value()) news.push_back(*line);
      whole.push_back(made_whole);
    }
    return whole;
  }

  MemoryJob job;
  ManualClock clock;
  std::atomic<int> made_whole{0};
  std::vector<uint64_t> digests;
  std::vector<std::string> news;
};

TEST(CacheTuning, KeepsDecodedImagesThatPayOnceTheirDataAreReadAgain) {
  Machine machine(MakeMemoryJob(500, 1000, 300));
  machine.job.pipeline->decoded_bytes = 5000;
  auto loader = SizedLoader(16 << 20, {4 << 20, 0, 1 << 20}, 1, &machine.clock);
  CacheTuning tuning(loader.get());
  const std::vector<int> whole = machine.Run(loader.get(), &tuning, 6);
  EXPECT_EQ(whole[0], 500);
  EXPECT_EQ(whole[1], 500) << "this epoch shows that the data are read again";
  EXPECT_EQ(whole.back(), 0) << ::testing::PrintToString(machine.news);
  const LoaderStats stats = loader->Stats();
  EXPECT_GT(stats.decoded_cache.limit, 500u * 5000u);
  EXPECT_TRUE(stats.decoded_cache.chosen);
  EXPECT_GT(stats.decoded_cache.saved_seconds, 0);
  EXPECT_LE(stats.memory_peak_bytes, 16u << 20);
  ASSERT_EQ(machine.news.size(), 1u) << ::testing::PrintToString(machine.news);
  EXPECT_NE(machine.news[0].find("decoded 0 -> "), std::string::npos) << machine.news[0];

  Machine plain(MakeMemoryJob(500, 1000, 300));
  plain.job.pipeline->decoded_bytes = 5000;
  auto pinned = SizedLoader(16 << 20, {4 << 20, 0, 1 << 20}, 1, &plain.clock, false);
  CacheTuning none(pinned.get());
  EXPECT_TRUE(none.pinned());
  EXPECT_EQ(plain.Run(pinned.get(), &none, 6), std::vector<int>(6, 500)) << "a configured size of 0 stays";
  EXPECT_EQ(plain.digests, machine.digests);
}

TEST(CacheTuning, DoesNotKeepImagesThatCostLittleToDecode) {
  Machine machine(MakeMemoryJob(500, 1000, 300));
  machine.job.pipeline->decoded_bytes = 5000;
  machine.job.pipeline->on_decoded = [&machine] { machine.clock.Advance(1290 * kMicro); };
  auto loader = SizedLoader(16 << 20, {4 << 20, 0, 1 << 20}, 1, &machine.clock);
  CacheTuning tuning(loader.get());
  EXPECT_GT(machine.Run(loader.get(), &tuning, 6).back(), 0);
  EXPECT_EQ(loader->Stats().decoded_cache.limit, 0u);
  EXPECT_EQ(loader->Stats().decoded_cache.bytes, 0u);
  EXPECT_TRUE(machine.news.empty());
}

// The cache must return its memory to the system: the files and rings that replace it need memory of their own.
TEST(CacheSizes, MemoryOfEvictedDecodedImagesReturnsToTheSystem) {
  if (support::kSanitizersHeap) GTEST_SKIP() << "the sanitizer has a heap of its own";
  constexpr uint64_t kImages = 3000, kBytes = 20'000;
  KeepFreedMemory(256 << 20);  // exceeds the size of an arena's end, so that free() releases nothing
  MemoryJob made = MakeMemoryJob(kImages, 1000, 300);
  made.pipeline->decoded_bytes = kBytes;
  auto loader = SizedLoader(128 << 20, {0, 0, 0});
  loader->SetCaches({0, 80 << 20, 0});
  ReadEpochs(loader.get(), made.job, 0, 1);
  ASSERT_GT(loader->Stats().decoded_cache.bytes, kImages * kBytes);
  const uint64_t full = OwnMemory();
  loader->SetCaches({0, 0, 0});
  EXPECT_LT(OwnMemory() + kImages * kBytes * 9 / 10, full);
}

// Small rows are on the heap as well, even a million of them.
TEST(CacheSizes, MemoryOfEvictedSmallRowsReturnsToTheSystem) {
  if (support::kSanitizersHeap) GTEST_SKIP() << "the sanitizer has a heap of its own";
  constexpr uint64_t kRows = 3000, kBytes = 20'000;
  KeepFreedMemory(256 << 20);  // exceeds the size of an arena's end, so that free() releases nothing
  MemoryJob made = MakeMemoryJob(kRows, 1000, kBytes);
  made.pipeline->deterministic = true;
  auto loader = SizedLoader(128 << 20, {0, 0, 0});
  loader->SetCaches({0, 0, 80 << 20});
  ReadEpochs(loader.get(), made.job, 0, 1);
  ASSERT_GT(loader->Stats().row_cache.bytes, kRows * kBytes);
  const uint64_t full = OwnMemory();
  loader->SetCaches({0, 0, 0});
  EXPECT_LT(OwnMemory() + kRows * kBytes * 9 / 10, full);
}

TEST(CacheTuning, KeepsRowsOfAnEvaluationIfTheyFit) {
  Machine machine(MakeMemoryJob(1000, 1000, 6000));
  machine.job.pipeline->deterministic = true;
  auto loader = SizedLoader(16 << 20, {4 << 20, 0, 1 << 20}, 1, &machine.clock);
  CacheTuning tuning(loader.get());
  const std::vector<int> whole = machine.Run(loader.get(), &tuning, 5);
  EXPECT_GT(whole[1], 0);
  EXPECT_EQ(whole.back(), 0) << ::testing::PrintToString(machine.news);
}

TEST(CacheTuning, AJobThatDeclaresFurtherEpochsFillsCachesInItsFirst) {
  constexpr uint64_t kRows = 2000, kSpacing = 200;
  for (const bool comes_back : {true, false}) {
    Machine machine(MakeMemoryJob(kRows, 1000, 300));
    machine.job.pipeline->decoded_bytes = 5000;
    auto loader = SizedLoader(32 << 20, {4 << 20, 0, 1 << 20}, 1, &machine.clock);
    CacheTuning tuning(loader.get());
    HashingSink sink(machine.job.job->fixed_bytes());
    LoaderSessionOptions options = StepsOf(8);
    options.end_epoch = comes_back ? 4 : plan::kEndNotKnown;
    auto session = loader->OpenSession(machine.job.job, options, &sink);
    ASSERT_TRUE(session.ok()) << session.status();
    for (uint64_t row = 0; row < 2 * kRows; ++row) {
      RowRequest request;
      request.epoch = row / kRows;
      request.position = row % kRows;
      request.step = row / 8;
      (*session)->Request({request});
      if (row % kSpacing != kSpacing - 1) continue;
      sink.WaitFor(row + 1);
      machine.clock.Advance(CacheTuning::kLookInterval);
      tuning.Look(machine.clock.Now());
      if (row + 1 == kRows) {
        EXPECT_EQ(loader->Stats().decoded_cache.limit > 0, comes_back);
      }
    }
    if (comes_back) {
      EXPECT_GE(loader->Stats().decoded_cache.hits, kRows / 2) << "hits of the second epoch";
    } else {
      EXPECT_EQ(loader->Stats().decoded_cache.hits, 0u) << "the second epoch fills the cache";
    }
    session->reset();
  }
}

TEST(EpochsSeen, EstimatesInTheFirstEpochHowManyRowsAreRequestedHere) {
  EpochsSeen seen;
  // reads a third of the rows; other readers read the rest
  for (uint64_t position = 0; position < 9000; position += 3) {
    const double asked = seen.rows_of_epoch(30'000);
    if (position < 600) {
      EXPECT_EQ(asked, 0) << "too few rows were seen";
    }
    if (position > 1000) {
      EXPECT_NEAR(asked, 10'000, 50);
    }
    seen.AddRow(0, position, 1);
  }
  seen.AddRow(1, 0, 1);
  EXPECT_EQ(seen.rows_of_epoch(30'000), 3000) << "after that, the requested rows";
}

TEST(CacheTuning, SizesReturnToTheInitialOnesAfterTheLastJob) {
  Machine machine(MakeMemoryJob(500, 1000, 300));
  machine.job.pipeline->decoded_bytes = 5000;
  const tuning::CacheSizes first = {4 << 20, 0, 1 << 20};
  auto loader = SizedLoader(16 << 20, first, 1, &machine.clock);
  CacheTuning tuning(loader.get());
  machine.Run(loader.get(), &tuning, 5);
  ASSERT_NE(loader->TakeCacheUse().now, first);
  machine.job = MemoryJob();
  for (int i = 0; i < 3; ++i) {
    machine.clock.Advance(CacheTuning::kLookInterval);
    loader->Jobs();  // drops the jobs without a session
    tuning.Look(machine.clock.Now());
  }
  EXPECT_EQ(loader->TakeCacheUse().now, first);
}

}  // namespace
}  // namespace penstock::loader
