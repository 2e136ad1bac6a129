// Reads of records in ranges: they need few requests, stay within the budget, and give the same rows even if reads
// fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/runtime/sim_scheduler.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/indexes_from.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/pipeline/loader/ranged_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

constexpr size_t kRangeRecords = 1200;

class RecordRangesTest : public ::testing::Test {
 protected:
  RecordRangesTest() {
    support::ImageDatasetOptions images;
    images.shards = 3;
    images.records_per_shard = kRangeRecords / 3;
    set_ = support::MakeImageDataset(images, folder_.path());
    set_.job.mutable_order()->set_chunk_records(8);
    set_.job.mutable_order()->set_window_chunks(1024);
    job_ = JobOn(&storage_);
    // Opens the files, so that the storage only reads records from here on.
    for (uint64_t record = 0; record < kRangeRecords; record += kRangeRecords / 3) {
      std::string bytes;
      PS_CHECK(job_->reader().ReadRecord(record, &bytes).ok());
    }
    for (uint64_t record = 0; record < kRangeRecords; ++record) {
      const uint64_t framed = job_->reader().RecordBytes(record).value() + sources::kRecordFrameBytes;
      storage_.longest_record = record == 0 ? framed : std::max(storage_.longest_record, framed);
    }
  }

  // `executor` opens the shards; null: threads.
  std::shared_ptr<const LoadJob> JobOn(storage::Storage* storage, Executor* executor = nullptr) {
    const auto frozen = OpenDataset(storage::LocalFiles(), set_.job, set_.roots, std::nullopt, 1);
    PS_CHECK(frozen.ok());
    DatasetReader::Options options;
    options.executor = executor;
    auto reader = DatasetReader::Create(
        storage, (*frozen)->snapshot(), set_.roots,
        IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state_.path()), sources::IndexOptions()),
        options);
    PS_CHECK(reader.ok());
    return LoadJob::Create(set_.job, *reader).value();
  }
  static std::unique_ptr<Loader> LoaderOf(int threads, uint64_t memory, int ranges,
                                          uint64_t range_bytes = 12 << 10,  // a few records
                                          LoaderOptions options = {}) {
    options.threads = threads;
    options.memory_budget_bytes = memory;
    options.ranges_under_way = ranges;
    options.range_bytes = range_bytes;
    return Loader::Create(options).value();
  }
  // The same with makers on the test's thread. They make rows in sim_.RunAll().
  std::unique_ptr<Loader> SimLoaderOf(int threads, uint64_t memory, int ranges) {
    return LoaderOf(threads, memory, ranges, 12 << 10, OptionsIn(&sim_));
  }
  // Requests rows from 0 on until the storage holds `ranges` ranges, or all rows are requested. Returns the number of
  // requested rows. Ranges start when rows start, and all requested rows may wait for one.
  uint64_t RequestUntilHeld(Loader::Session* session, size_t ranges) {
    uint64_t asked = 400;
    session->Request(RowsOf(0, asked, 40));
    sim_.RunAll();
    for (; storage_.held() < ranges && asked < kRangeRecords; ++asked) {
      session->Request(RowsOf(asked, asked + 1, 40));
      sim_.RunAll();
    }
    return asked;
  }
  // Requests the row at `position` until ranges hold nearly all the memory that they may have, 1 MiB.
  void FillRanges(Loader* loader, Loader::Session* session, uint64_t position, uint64_t idle) {
    for (int i = 0; i < 10'000 && loader->Stats().memory_bytes <= idle + (1 << 20) - (128 << 10); ++i) {
      session->Request(RowsOf(position, position + 1, 1));
      sim_.RunAll();
    }
    ASSERT_GT(loader->Stats().memory_bytes, idle + (1 << 20) - (128 << 10));
  }
  static std::unique_ptr<Loader::Session> SessionOf(Loader* loader, const std::shared_ptr<const LoadJob>& job,
                                                    HoldingSink* sink, uint32_t step_rows) {
    LoaderSessionOptions options;
    options.largest_step_rows = step_rows;
    options.expected = ExpectAll(*job);
    return loader->OpenSession(job, options, sink).value();
  }
  // Returns all rows of an epoch by position. Requests them in steps of 40 rows, some steps ahead.
  static std::map<uint64_t, std::string> Epoch(Loader* loader, const std::shared_ptr<const LoadJob>& job) {
    constexpr uint64_t kStep = 40, kSteps = kRangeRecords / kStep, kAhead = 4;
    HoldingSink sink;
    const auto session = SessionOf(loader, job, &sink, kStep);
    sink.session = session.get();  // the sink requests revoked rows again
    std::map<uint64_t, std::string> rows;
    for (uint64_t step = 0; step < kSteps + kAhead; ++step) {
      if (step < kSteps) session->Request(RowsOf(step * kStep, (step + 1) * kStep, kStep));
      if (step < kAhead) continue;
      session->SetHead(step - kAhead);
      for (const RowResult& row : sink.TakeStep(step - kAhead, kStep)) {
        std::string& told = rows[row.request.position];
        told = absl::StrCat(row.status.ToString(), row.record_id, "|");
        if (row.fixed != nullptr) told.append(reinterpret_cast<const char*>(row.fixed.get()), job->fixed_bytes());
      }
    }
    return rows;
  }

  SimScheduler sim_{1};
  support::TempFolder folder_, state_;
  RangedStorage storage_;
  support::TestDataset set_;
  std::shared_ptr<const LoadJob> job_;
};

TEST_F(RecordRangesTest, AnEpochTakesFewReadsAndHasTheSameRows) {
  const auto near = Epoch(LoaderOf(2, 64 << 20, 16).get(), JobOn(storage::LocalFiles()));
  const size_t before = storage_.reads();
  const auto loader = LoaderOf(2, 64 << 20, 16);
  EXPECT_EQ(Epoch(loader.get(), job_), near);
  const LoaderStats stats = loader->Stats();
  EXPECT_EQ(stats.remote_requests, storage_.reads() - before);
  EXPECT_EQ(stats.remote_used_bytes, job_->reader().snapshot().data_bytes());
  // At most one byte in four is read without need. Frames are not part of remote_used_bytes.
  EXPECT_GE(stats.remote_bytes, stats.remote_used_bytes);
  EXPECT_LT(stats.remote_bytes, stats.remote_used_bytes * 3 / 2);
  // The loader reads the rows at the start one by one.
  EXPECT_LT(storage_.reads() - before, kRangeRecords / 2);
  EXPECT_GT(storage_.ranges(), 64u);
}

// A session that expects no rows reads no ranges.
TEST_F(RecordRangesTest, RangesAreReadOnlyForExpectedRows) {
  const auto loader = LoaderOf(2, 64 << 20, 16);
  HoldingSink sink;
  const auto session = SessionOf(loader.get(), job_, &sink, 40);
  const auto read = [&](uint64_t begin, uint64_t end) {
    for (; begin < end; begin += 40) {
      session->Request(RowsOf(begin, begin + 40, 40));
      sink.WaitFor(begin);  // one step ahead
    }
  };
  session->Expect(ExpectedRows());
  read(0, 400);
  EXPECT_EQ(storage_.ranges(), 0u);
  session->Expect(ExpectAll(*job_));
  read(400, kRangeRecords);
  sink.WaitFor(kRangeRecords);
  EXPECT_GT(storage_.ranges(), 10u);
}

TEST_F(RecordRangesTest, RowsWhoseRangesFailReadTheirRecordsThemselves) {
  const auto near = Epoch(LoaderOf(2, 64 << 20, 16).get(), JobOn(storage::LocalFiles()));
  storage_.FailRanges(true);
  EXPECT_EQ(Epoch(LoaderOf(2, 64 << 20, 16).get(), job_), near);
  EXPECT_GT(storage_.ranges(), 10u);
}

TEST_F(RecordRangesTest, ABrokenRecordIsTheOnlyOneOfItsRangeThatIsBroken) {
  support::BreakRecord(set_.files[1], 77);
  std::filesystem::remove_all(state_.path());
  std::filesystem::create_directories(state_.path());
  set_.job.mutable_errors()->set_policy(v1::SUBSTITUTE);
  set_.job.mutable_errors()->set_max_bad_fraction(1);
  const auto near = Epoch(LoaderOf(2, 64 << 20, 16).get(), JobOn(storage::LocalFiles()));
  EXPECT_EQ(Epoch(LoaderOf(2, 64 << 20, 16).get(), JobOn(&storage_)), near);
}

// Each byte is in at most one range under way, and the budget includes all ranges.
TEST_F(RecordRangesTest, SixtyFourRangesInFlightAreInTheBudgetAndDoNotOverlap) {
  constexpr uint64_t kMemory = 16 << 20;
  const auto loader = SimLoaderOf(2, kMemory, 64);
  HoldingSink sink;
  const auto session = SessionOf(loader.get(), job_, &sink, 40);
  const uint64_t idle = loader->Stats().memory_bytes;
  storage_.HoldRanges(true);
  const uint64_t asked = RequestUntilHeld(session.get(), 64);
  ASSERT_EQ(storage_.held(), 64u) << asked << " rows are requested, " << sink.held() << " are here";
  EXPECT_EQ(storage_.overlapping(), 0u);
  // Each range has a few records, in whole pages.
  EXPECT_GT(loader->Stats().memory_bytes, idle + 64 * 4096);
  storage_.HoldRanges(false);
  sim_.RunAll();
  EXPECT_EQ(sink.held(), asked);
  EXPECT_LE(loader->Stats().memory_peak_bytes, kMemory);
}

// Rows that wait for ranges do not block reads of other rows, even if they are far more than the permitted reads.
TEST_F(RecordRangesTest, ARowThatWaitsForARangeIsNotAReadInFlight) {
  LoaderOptions options = OptionsIn(&sim_);
  options.threads = 1;
  options.memory_budget_bytes = 16 << 20;
  options.reads_under_way = 2;
  options.ranges_under_way = 16;
  options.range_bytes = 12 << 10;
  const auto loader = Loader::Create(options).value();
  HoldingSink sink;
  const auto session = SessionOf(loader.get(), job_, &sink, 40);
  storage_.HoldRanges(true);
  session->Request(RowsOf(0, 1000, 40));
  sim_.RunAll();
  EXPECT_GT(storage_.held(), 0u);
  // Rows outside the held ranges arrive, up to the last requested row.
  EXPECT_GT(sink.held(), 300u);
  EXPECT_EQ(sink.held() + session->pending(), 1000u);
  storage_.HoldRanges(false);
  sim_.RunAll();
  EXPECT_EQ(sink.held(), 1000u);
}

TEST_F(RecordRangesTest, LittleMemoryGivesFewerRangesAndAllRows) {
  constexpr uint64_t kMemory = 1700 << 10;
  const auto near = Epoch(LoaderOf(2, 64 << 20, 16).get(), JobOn(storage::LocalFiles()));
  const auto loader = LoaderOf(2, kMemory, 64);
  EXPECT_EQ(Epoch(loader.get(), job_), near);
  EXPECT_LE(loader->Stats().memory_peak_bytes, kMemory);
}

// Ranges contain the rows needed next: they stay whole through an epoch of which memory holds a small part.
TEST_F(RecordRangesTest, AnEpochLargerThanMemoryIsReadInRangesToItsEnd) {
  v1::Order small_windows = set_.job.order();
  small_windows.set_chunk_records(32);
  small_windows.set_window_chunks(4);
  v1::Order none;
  none.set_shuffle(v1::Order::NONE);
  for (const v1::Order& order : {small_windows, none}) {
    *set_.job.mutable_order() = order;
    const auto far = JobOn(&storage_), near = JobOn(storage::LocalFiles());
    const auto expected = Epoch(LoaderOf(2, 64 << 20, 16).get(), near);
    const auto loader = LoaderOf(1, 2500 << 10, 16, 64 << 10);
    EXPECT_EQ(Epoch(loader.get(), far), expected);
    const LoaderStats stats = loader->Stats();
    EXPECT_LT(stats.remote_requests, kRangeRecords / 2) << order.ShortDebugString();
    EXPECT_LT(stats.remote_bytes, stats.remote_used_bytes * 3 / 2);
  }
}

TEST_F(RecordRangesTest, LoadedRangesAreReleasedForAnUrgentRow) {
  const auto loader = SimLoaderOf(2, 3 << 20, 64);
  HoldingSink sink, other_sink;
  const auto session = SessionOf(loader.get(), job_, &sink, 1);
  const uint64_t idle = loader->Stats().memory_bytes;
  session->Request(RowsOf(0, 8, 1));
  sim_.RunAll();
  ASSERT_EQ(sink.held(), 8u);
  sink.Clear();
  FillRanges(loader.get(), session.get(), 8, idle);
  sink.MakeRevocable(false);
  const uint64_t rows = 160;  // most of the memory
  const auto other = SessionOf(loader.get(), job_, &other_sink, rows);
  std::vector<RowRequest> urgent = RowsOf(0, rows, rows);
  for (RowRequest& row : urgent) row.urgent = true;
  other->Request(urgent);
  sim_.RunAll();
  EXPECT_EQ(other_sink.held(), rows);
}

TEST_F(RecordRangesTest, ClosingASessionWaitsForNoRangeAndReleasesItsMemory) {
  const auto loader = SimLoaderOf(2, 16 << 20, 16);
  const uint64_t idle = loader->Stats().memory_bytes;
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink, 40);
  storage_.HoldRanges(true);
  RequestUntilHeld(session.get(), 16);
  ASSERT_EQ(storage_.held(), 16u);
  session.reset();
  sink.Clear();
  EXPECT_GT(loader->Stats().memory_bytes, idle);  // the storage still writes to them
  storage_.HoldRanges(false);
  EXPECT_EQ(loader->Stats().memory_bytes, idle);
}

TEST_F(RecordRangesTest, RangesOfAClosedSessionAreCancelled) {
  const auto loader = SimLoaderOf(2, 16 << 20, 16);
  const uint64_t idle = loader->Stats().memory_bytes;
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink, 40);
  storage_.HoldRanges(true);
  session->Request(RowsOf(0, 400, 40));
  sim_.RunAll();
  ASSERT_GT(storage_.held(), 0u);
  EXPECT_EQ(storage_.EndStopped(), 0u);
  session.reset();
  sink.Clear();
  const size_t held = storage_.held();
  EXPECT_EQ(storage_.EndStopped(), held);
  EXPECT_EQ(loader->Stats().memory_bytes, idle);
  storage_.HoldRanges(false);
}

// Storage stalls while ranges under way hold the memory. They do not block a row that a trainer waits for.
TEST_F(RecordRangesTest, RangesInFlightAreCancelledForAnUrgentRow) {
  const auto loader = SimLoaderOf(2, 3 << 20, 64);
  HoldingSink sink, other_sink;
  const auto session = SessionOf(loader.get(), job_, &sink, 1);
  const uint64_t idle = loader->Stats().memory_bytes;
  storage_.HoldRanges(true);
  FillRanges(loader.get(), session.get(), 0, idle);
  const uint64_t rows = 600;  // most of the memory
  const auto other = SessionOf(loader.get(), JobOn(storage::LocalFiles(), &sim_), &other_sink, rows);
  std::vector<RowRequest> urgent = RowsOf(0, rows, rows);
  for (RowRequest& row : urgent) row.urgent = true;
  other->Request(urgent);
  sim_.RunAll();
  size_t broken_off = 0;
  for (size_t stopped; (stopped = storage_.EndStopped()) > 0; broken_off += stopped) sim_.RunAll();
  EXPECT_EQ(other_sink.held(), rows);
  EXPECT_GT(broken_off, 0u);
  storage_.HoldRanges(false);
}

}  // namespace
}  // namespace penstock::loader
