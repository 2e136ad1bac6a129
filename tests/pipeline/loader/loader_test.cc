// Rows, policies, caches and the life of sessions, on a data set in memory.
#include "pipeline/loader/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/loader/row_maker.h"
#include "tests/pipeline/loader/loader_testing.h"

namespace penstock::loader {
namespace {

constexpr int64_t kLoadedRowBytes = 16;

std::unique_ptr<Loader> MakeLoader(int threads, uint64_t record_cache = 0, Clock* clock = StoppedClock()) {
  LoaderOptions options;
  options.clock = clock;
  options.threads = threads;
  options.memory_budget_bytes = 1 << 20;
  options.record_cache_bytes = record_cache;
  auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  return *std::move(loader);
}

// Returns all rows of one epoch by position.
std::map<uint64_t, RowResult> Load(Loader* loader, const MemoryJob& job, uint64_t rows, uint64_t epoch = 0) {
  HoldingSink sink;
  LoaderSessionOptions options;
  options.largest_step_rows = 10;
  auto session = loader->OpenSession(job.job, options, &sink);
  PS_CHECK(session.ok());
  std::vector<RowRequest> requests = RowsOf(0, rows, rows);
  for (RowRequest& request : requests) request.epoch = epoch;
  (*session)->Request(std::move(requests));
  std::map<uint64_t, RowResult> by_position;
  for (RowResult& row : sink.TakeStep(0, rows)) {
    const uint64_t position = row.request.position;
    by_position.emplace(position, std::move(row));
  }
  EXPECT_EQ((*session)->pending(), 0u);
  return by_position;
}

int Content(const RowResult& row) { return static_cast<int>(row.fixed[0]); }
int Expected(uint64_t source, uint64_t epoch, uint64_t id) {
  return static_cast<int>((source * 31 + epoch * 7 + id) & 0xff);
}

TEST(Loader, EveryRequestedRowIsDeliveredOnceWithItsRecordAndTag) {
  MemoryJob job = MakeMemoryJob(100, 20, kLoadedRowBytes);
  auto loader = MakeLoader(3);
  const auto rows = Load(loader.get(), job, 100, 5);
  ASSERT_EQ(rows.size(), 100u);
  for (const auto& [position, row] : rows) {
    ASSERT_TRUE(row.status.ok()) << row.status;
    EXPECT_EQ(row.request.tag, position);
    EXPECT_EQ(row.record_id, position);  // shuffle NONE
    EXPECT_EQ(row.source_record, position);
    EXPECT_EQ(Content(row), Expected(position, 5, position));
  }
  const LoaderStats stats = loader->Stats();
  EXPECT_EQ(stats.rows, 100u);
  EXPECT_EQ(stats.failed_rows, 0u);
  EXPECT_EQ(stats.bytes_read, 2000u);
}

TEST(Loader, APositionBeyondTheEpochFailsOnlyItsRow) {
  MemoryJob job = MakeMemoryJob(10, 20, kLoadedRowBytes);
  auto loader = MakeLoader(1);
  const auto rows = Load(loader.get(), job, 11);
  EXPECT_TRUE(rows.at(9).status.ok());
  EXPECT_EQ(rows.at(10).status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(rows.at(10).status.message().find("10 positions"), absl::string_view::npos);
}

absl::Status BrokenSeven(uint64_t record) {
  return record == 7 ? absl::InvalidArgumentError("feature \"image\": not a JPEG") : absl::OkStatus();
}

TEST(LoaderPolicy, FailNamesThePlaceAndTheCause) {
  MemoryJob job = MakeMemoryJob(20, 20, kLoadedRowBytes, v1::FAIL);
  job.pipeline->on_make = BrokenSeven;
  auto loader = MakeLoader(2);
  const auto rows = Load(loader.get(), job, 20);
  for (const auto& [position, row] : rows) EXPECT_EQ(row.status.ok(), position != 7);
  EXPECT_NE(rows.at(7).status.message().find("record 7 at offset 0: feature \"image\""), absl::string_view::npos)
      << rows.at(7).status;
  EXPECT_EQ(loader->Stats().failed_rows, 1u);
}

// The loader drops a row that is larger than a message. The fault is the record's.
TEST(LoaderPolicy, ARowLargerThanAMessageFollowsThePolicy) {
  for (const v1::ErrorPolicy policy : {v1::FAIL, v1::MASK}) {
    MemoryJob job = MakeMemoryJob(5, 20, kLoadedRowBytes, policy);
    LoaderOptions options;
    options.threads = 1;
    options.memory_budget_bytes = 16 << 20;
    options.max_row_bytes = kLoadedRowBytes - 1;
    auto loader = *Loader::Create(options);
    for (const auto& [position, row] : Load(loader.get(), job, 5)) {
      EXPECT_EQ(row.masked, policy == v1::MASK);
      EXPECT_EQ(row.fixed, nullptr);
      if (policy == v1::MASK) continue;
      const std::string message(row.status.message());
      EXPECT_NE(message.find(std::to_string(kLoadedRowBytes) + " bytes"), std::string::npos) << message;
      EXPECT_NE(message.find("record " + std::to_string(position)), std::string::npos) << message;
    }
    EXPECT_EQ(loader->Stats().failed_rows, 5u);
  }
}

TEST(LoaderPolicy, MaskGivesAnEmptyRow) {
  MemoryJob job = MakeMemoryJob(20, 20, kLoadedRowBytes, v1::MASK);
  job.pipeline->on_make = BrokenSeven;
  auto loader = MakeLoader(2);
  const auto rows = Load(loader.get(), job, 20);
  for (const auto& [position, row] : rows) {
    EXPECT_TRUE(row.status.ok());
    EXPECT_EQ(row.masked, position == 7);
    EXPECT_EQ(row.fixed == nullptr, position == 7);
  }
  EXPECT_EQ(rows.at(7).record_id, 7u);
}

TEST(LoaderPolicy, SubstituteTakesTheFirstGoodSubstituteAndKeepsIdAndDraws) {
  MemoryJob job = MakeMemoryJob(20, 20, kLoadedRowBytes, v1::SUBSTITUTE);
  const std::vector<uint64_t> candidates = SubstitutesOf(job.dataset->snapshot(), SampleKey{0, 0, 0, 7}, 7);
  ASSERT_EQ(candidates.size(), 8u);
  const uint64_t second = candidates[1];
  job.pipeline->on_make = [&candidates](uint64_t record) {
    return record == 7 || record == candidates[0] ? absl::DataLossError("broken") : absl::OkStatus();
  };
  auto loader = MakeLoader(3);
  for (uint64_t epoch : {0, 1}) {
    const auto rows = Load(loader.get(), job, 20, epoch);
    const RowResult& row = rows.at(7);
    ASSERT_TRUE(row.status.ok());
    EXPECT_TRUE(row.substituted);
    EXPECT_EQ(row.record_id, 7u);
    EXPECT_EQ(row.source_record, second);
    EXPECT_EQ(Content(row), Expected(second, epoch, 7));
  }
}

TEST(LoaderPolicy, SubstituteMasksWhenNoSubstituteIsGood) {
  MemoryJob job = MakeMemoryJob(12, 20, kLoadedRowBytes, v1::SUBSTITUTE);
  job.pipeline->on_make = [](uint64_t) { return absl::DataLossError("broken"); };
  auto loader = MakeLoader(2);
  for (const auto& [position, row] : Load(loader.get(), job, 12)) {
    EXPECT_TRUE(row.status.ok());
    EXPECT_TRUE(row.masked);
    EXPECT_FALSE(row.substituted);
    EXPECT_EQ(row.source_record, position);
  }
}

TEST(LoaderPolicy, SubstitutesInABalancedDataSetAreOfTheSameGroup) {
  std::vector<sources::SnapshotShard> shards = MemoryDataset(2, 30, 10).snapshot().shards();
  shards[0].groups = {{0, 1, 2}, {12, 1, 17}};
  shards[1].groups = {{2}, {30}};
  const auto snapshot = sources::Snapshot::Create(shards, {}, {"a", "b", "c"});
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  const auto group_of = [](uint64_t record) { return record < 12 ? 0 : record < 13 ? 1 : record < 30 ? 2 : 3; };
  for (uint64_t record = 0; record < 60; ++record) {
    const std::vector<uint64_t> found = SubstitutesOf(*snapshot, SampleKey{17, 0, 0, record}, record);
    ASSERT_EQ(found.size(), 8u);
    EXPECT_EQ(std::set<uint64_t>(found.begin(), found.end()).size(), 8u);
    for (const uint64_t other : found) {
      EXPECT_NE(other, record);
      EXPECT_TRUE(record == 12 || group_of(other) == group_of(record)) << record;
      EXPECT_EQ(other / 30, record / 30);
    }
  }
}

TEST(LoaderPolicy, SubstitutesAreOtherRecordsOfTheSameShardEachOnce) {
  const MemoryDataset dataset(3, 30, 10);
  for (uint64_t record = 0; record < 90; ++record) {
    const std::vector<uint64_t> found = SubstitutesOf(dataset.snapshot(), SampleKey{17, 0, 0, record}, record);
    ASSERT_EQ(found.size(), 8u);
    EXPECT_EQ(std::set<uint64_t>(found.begin(), found.end()).size(), 8u);
    for (const uint64_t other : found) {
      EXPECT_NE(other, record);
      EXPECT_EQ(other / 30, record / 30);
    }
    EXPECT_EQ(found, SubstitutesOf(dataset.snapshot(), SampleKey{17, 0, 0, record}, record));
  }
  EXPECT_NE(SubstitutesOf(dataset.snapshot(), SampleKey{17, 0, 0, 3}, 3),
            SubstitutesOf(dataset.snapshot(), SampleKey{18, 0, 0, 3}, 3));
  EXPECT_EQ(SubstitutesOf(MemoryDataset(1, 3, 10).snapshot(), SampleKey{1, 0, 0, 1}, 1).size(), 2u);
  EXPECT_TRUE(SubstitutesOf(MemoryDataset(1, 1, 10).snapshot(), SampleKey{1, 0, 0, 0}, 0).empty());
}

TEST(LoaderPolicy, StorageErrorsAreRetriedAndNeverMaskedOrSubstituted) {
  for (const v1::ErrorPolicy policy : {v1::SUBSTITUTE, v1::MASK}) {
    MemoryJob job = MakeMemoryJob(10, 20, kLoadedRowBytes, policy);
    std::atomic<int> tries_of_3{0}, tries_of_5{0};
    job.dataset->on_read = [&](uint64_t record) -> absl::Status {
      if (record == 3 && tries_of_3.fetch_add(1) < 2) return absl::UnavailableError("I/O error");
      if (record == 5) {
        tries_of_5.fetch_add(1);
        return absl::UnavailableError("file, record 5: I/O error");
      }
      if (record == 6) return absl::FailedPreconditionError("the file changed");
      return absl::OkStatus();
    };
    auto loader = MakeLoader(2);
    const auto rows = Load(loader.get(), job, 10);
    EXPECT_TRUE(rows.at(3).status.ok()) << rows.at(3).status;
    EXPECT_EQ(rows.at(5).status.code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(tries_of_5.load(), 3);
    EXPECT_EQ(rows.at(6).status.code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(LoaderTimes, CountTheTimeWithRequestedRowsAsItPasses) {
  MemoryJob job = MakeMemoryJob(10, 20, kLoadedRowBytes);
  ManualClock clock;
  auto loader = MakeLoader(1, 0, &clock);
  std::vector<LoaderStats> during;
  job.dataset->on_read = [&](uint64_t) {
    clock.Advance(100 * kMillisecond);
    during.push_back(loader->Stats());
    return absl::OkStatus();
  };
  Load(loader.get(), job, 10);
  ASSERT_EQ(during.size(), 10u);
  // The counters include the row in the making, so that a saturated loader can be measured.
  for (size_t i = 0; i < during.size(); ++i) {
    EXPECT_NEAR(during[i].busy_seconds, 0.1 * static_cast<double>(i + 1), 1e-6);
    EXPECT_NEAR(during[i].owing_seconds, 0.1 * static_cast<double>(i + 1), 1e-6);
    EXPECT_GT(during[i].cpu_seconds, i == 0 ? 0 : during[i - 1].cpu_seconds) << "CPU time of busy threads grows";
  }
  // The thread that made the last row becomes idle soon.
  for (double busy = 0; loader->Stats().busy_seconds > busy;) {
    busy = loader->Stats().busy_seconds;
    clock.Advance(1);
  }
  clock.Advance(60 * kSecond);
  EXPECT_NEAR(loader->Stats().busy_seconds, 1, 1e-3) << "no session requested rows";
  EXPECT_NEAR(loader->Stats().owing_seconds, 1, 1e-3);
}

TEST(LoaderTimes, CountBusyThreadsAsAShareOfTheWantedThreads) {
  MemoryJob job = MakeMemoryJob(10, 20, kLoadedRowBytes);
  ManualClock clock;
  auto loader = MakeLoader(4, 0, &clock);
  loader->Set({.threads = 1, .reads_under_way = 1});
  job.dataset->on_read = [&](uint64_t) {
    clock.Advance(100 * kMillisecond);
    return absl::OkStatus();
  };
  Load(loader.get(), job, 10);
  EXPECT_NEAR(loader->Stats().busy_seconds, 1, 1e-3) << "the only wanted thread was always busy";
}

TEST(LoaderCache, RecordsAreReadOnceWhileThereIsRoomAndDroppedWithTheirJob) {
  MemoryJob job = MakeMemoryJob(50, 200, kLoadedRowBytes);
  auto loader = MakeLoader(2, 100'000);
  Load(loader.get(), job, 50, 0);
  Load(loader.get(), job, 50, 1);
  EXPECT_EQ(job.dataset->reads.load(), 50);
  LoaderStats stats = loader->Stats();
  EXPECT_EQ(stats.record_cache.hits, 50u);
  EXPECT_EQ(stats.record_cache.misses, 50u);
  EXPECT_GT(stats.record_cache.bytes, 50u * 200u);
  job = MemoryJob();
  EXPECT_EQ(loader->Stats().record_cache.bytes, 0u);
}

TEST(LoaderCache, CountsReturnedBytesAndSavedReadTime) {
  MemoryJob job = MakeMemoryJob(50, 200, kLoadedRowBytes);
  ManualClock clock;
  auto loader = MakeLoader(1, 100'000, &clock);
  job.dataset->on_read = [&](uint64_t) {
    clock.Advance(100 * kMillisecond);
    return absl::OkStatus();
  };
  Load(loader.get(), job, 50, 0);
  cache::CacheStats cache = loader->Stats().record_cache;
  EXPECT_EQ(cache.limit, 100'000u);
  EXPECT_EQ(cache.served_bytes, 0u);
  EXPECT_EQ(cache.saved_seconds, 0);
  Load(loader.get(), job, 50, 1);
  cache = loader->Stats().record_cache;
  EXPECT_GE(cache.served_bytes, 50u * 200u);
  EXPECT_NEAR(cache.saved_seconds, 5, 1e-3);
}

TEST(LoaderReadAhead, AnnouncesEachUncachedRecordOnceBeforeItsRead) {
  MemoryJob job = MakeMemoryJob(100, 20, kLoadedRowBytes);
  std::vector<size_t> told_before_read;
  ManualClock clock;
  job.dataset->on_read = [&](uint64_t record) {
    told_before_read.push_back(job.dataset->announced().size());
    clock.Advance(100'000);  // a disk
    return absl::OkStatus();
  };
  auto loader = MakeLoader(1, 100'000, &clock);
  Load(loader.get(), job, 100);
  // The loader reads the first row at once.
  std::vector<uint64_t> wanted(99);
  std::iota(wanted.begin(), wanted.end(), 1);
  EXPECT_EQ(job.dataset->announced(), wanted);
  ASSERT_EQ(told_before_read.size(), 100u);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(told_before_read[i], std::min<size_t>(i + LoaderOptions().read_ahead_rows, 99)) << i;
  }
  Load(loader.get(), job, 100, 1);
  EXPECT_EQ(job.dataset->announced().size(), 99u);
}

TEST(LoaderReadAhead, AnnouncesFewRecordsWhileReadsAreFastAndAllAfterASlowOne) {
  constexpr uint64_t kRecords = 4000, kSlowFrom = 2000;
  MemoryJob job = MakeMemoryJob(kRecords, 20, kLoadedRowBytes);
  ManualClock clock;
  size_t reads = 0;
  std::vector<uint64_t> slow_reads;
  job.dataset->on_read = [&](uint64_t record) {
    if (++reads <= kSlowFrom) return absl::OkStatus();
    slow_reads.push_back(record);
    clock.Advance(kMillisecond);
    return absl::OkStatus();
  };
  auto loader = MakeLoader(1, 0, &clock);
  Load(loader.get(), job, kRecords);
  const std::vector<uint64_t> announced = job.dataset->announced();
  const std::set<uint64_t> all(announced.begin(), announced.end());
  EXPECT_EQ(all.size(), announced.size()) << "each at most once";
  size_t unannounced = 0;
  for (const uint64_t record : slow_reads) unannounced += all.contains(record) ? 0 : 1;
  EXPECT_LT(announced.size() - (slow_reads.size() - unannounced), kSlowFrom / 4) << "hints before fast reads";
  EXPECT_LT(unannounced, 40u) << "slow reads without a hint";
}

TEST(LoaderSession, DestructionWaitsForRowsInProgressAndDropsTheOthers) {
  MemoryJob job = MakeMemoryJob(100, 20, kLoadedRowBytes);
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
  auto loader = MakeLoader(2);
  HoldingSink sink;
  LoaderSessionOptions options;
  options.largest_step_rows = 10;
  auto session = loader->OpenSession(job.job, options, &sink);
  ASSERT_TRUE(session.ok());
  (*session)->Request(RowsOf(0, 100, 10));
  {
    MutexLock lock(&mutex);
    while (inside < 2) changed.Wait(&mutex);
  }
  EXPECT_EQ((*session)->pending(), 100u);
  std::thread closer([&] { session->reset(); });
  {
    MutexLock lock(&mutex);
    open = true;
    changed.NotifyAll();
  }
  closer.join();
  // Two rows were in the making. The threads may have begun a few more before the session began to close.
  const size_t handed = sink.held();
  EXPECT_GE(handed, 2u);
  EXPECT_LE(handed, 100u);
  // The loader still serves other sessions.
  EXPECT_EQ(Load(loader.get(), job, 10).size(), 10u);
  EXPECT_EQ(sink.held(), handed);
}

TEST(LoaderSession, CloseReturnsWhileARowHangsAndReportsTheEndLater) {
  MemoryJob job = MakeMemoryJob(100, 20, kLoadedRowBytes);
  Mutex mutex;
  CondVar changed;
  int inside = 0;
  bool open = false, quiet = false;
  job.pipeline->on_make = [&](uint64_t) {
    MutexLock lock(&mutex);
    ++inside;
    changed.NotifyAll();
    while (!open) changed.Wait(&mutex);
    return absl::OkStatus();
  };
  auto loader = MakeLoader(2);
  const uint64_t before = loader->Stats().memory_bytes;
  auto sink = std::make_shared<HoldingSink>();
  LoaderSessionOptions options;
  options.largest_step_rows = 10;
  auto session = loader->OpenSession(job.job, options, sink.get());
  ASSERT_TRUE(session.ok());
  (*session)->Request(RowsOf(0, 100, 10));
  {
    MutexLock lock(&mutex);
    while (inside < 2) changed.Wait(&mutex);
  }
  (*session)->Close([&, sink] {  // the callback keeps the sink alive
    MutexLock lock(&mutex);
    quiet = true;
    changed.NotifyAll();
  });
  session->reset();  // does not block either
  MutexLock lock(&mutex);
  EXPECT_FALSE(quiet);
  open = true;
  changed.NotifyAll();
  while (!quiet) changed.Wait(&mutex);
  EXPECT_EQ(sink->held(), 2u);
  sink->Clear();
  EXPECT_EQ(loader->Stats().memory_bytes, before);
}

// The loader counts requested rows in the budget before it makes any of them.
TEST(LoaderSession, WaitingRowsCountAndRequestAcceptsOnlyRowsThatFitInMemory) {
  MemoryJob job = MakeMemoryJob(100, 20, kLoadedRowBytes);
  Mutex mutex;
  CondVar changed;
  bool open = false;
  job.pipeline->on_make = [&](uint64_t) {
    MutexLock lock(&mutex);
    while (!open) changed.Wait(&mutex);
    return absl::OkStatus();
  };
  LoaderOptions loader_options;
  loader_options.threads = 1;
  loader_options.memory_budget_bytes = 1 << 20;
  auto loader = *Loader::Create(loader_options);
  HoldingSink sink;
  LoaderSessionOptions options;
  options.largest_step_rows = 1;
  options.counts_all = true;
  auto session = *loader->OpenSession(job.job, options, &sink);
  const std::vector<RowRequest> flood(100'000, RowRequest{.step = 5, .urgent = true});
  const size_t taken = session->Request(flood);
  EXPECT_GT(taken, 1000u);
  EXPECT_LT(taken, 10'000u);
  EXPECT_GT(loader->Stats().memory_bytes, 900'000u);
  EXPECT_LE(loader->Stats().memory_peak_bytes, loader_options.memory_budget_bytes);
  EXPECT_EQ(session->Reserve(500'000), nullptr);
  auto other = *loader->OpenSession(job.job, options, &sink);
  EXPECT_GT(other->Request(flood), 0u);  // a session always gets at least one row
  {
    MutexLock lock(&mutex);
    open = true;
    changed.NotifyAll();
  }
  sink.WaitFor(1);
  session.reset();
  other.reset();
  sink.Clear();
}

TEST(LoaderSession, ManySessionsComeAndGoWhileRowsAreMade) {
  MemoryJob job = MakeMemoryJob(200, 20, kLoadedRowBytes);
  auto loader = MakeLoader(3);
  std::vector<std::thread> trainers;
  for (int t = 0; t < 4; ++t) {
    trainers.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        HoldingSink sink;
        LoaderSessionOptions options;
        options.largest_step_rows = 10;
        auto session = loader->OpenSession(job.job, options, &sink);
        PS_CHECK(session.ok());
        (*session)->Request(RowsOf(0, 200, 10));
        if ((round + t) % 2 == 0) {
          for (uint64_t step = 0; step < 5; ++step) {
            (*session)->SetHead(step);
            sink.TakeStep(step, 10);
          }
        }
      }
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  EXPECT_GE(loader->Stats().rows, 4u * 5u * 50u);
}

}  // namespace
}  // namespace penstock::loader
