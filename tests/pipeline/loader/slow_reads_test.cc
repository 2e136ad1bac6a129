// Storage that does not answer at once: the loader parks rows while it reads their records, and the rows are the same.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/runtime/thread_pool.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/slow_reads_testing.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

constexpr std::chrono::seconds kStuckRead{20};

TEST_F(SlowReadsTest, OneThreadKeepsManyReadsInFlightAndMakesArrivedRows) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(1);
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  storage_.WaitForReads(40);
  EXPECT_EQ(sink.held(), 0u);
  EXPECT_EQ(session->pending(), 40u);
  storage_.Let(10);
  sink.WaitFor(10);
  EXPECT_EQ(session->pending(), 30u);
  storage_.Hold(false);
  for (const RowResult& row : sink.TakeStep(0, 40)) EXPECT_TRUE(row.status.ok()) << row.status;
  EXPECT_EQ(session->pending(), 0u);
}

TEST_F(SlowReadsTest, ReadsInFlightStayWithinTheLimit) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(2, /*reads_under_way=*/5);
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  for (int i = 0; i < 35; ++i) {
    storage_.WaitForReads(5);
    storage_.Let(1);
  }
  storage_.Hold(false);
  EXPECT_EQ(sink.TakeStep(0, 40).size(), 40u);
  EXPECT_EQ(storage_.most(), 5u);
}

TEST_F(SlowReadsTest, ReadsInFlightFollowTheLastSetting) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(2, /*reads_under_way=*/3);
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  storage_.WaitForReads(3);
  EXPECT_EQ(storage_.most(), 3u);
  loader->Set({.threads = 2, .reads_under_way = 20});
  storage_.WaitForReads(20);
  loader->Set({.threads = 1, .reads_under_way = 2});
  storage_.Let(18);
  sink.WaitFor(18);
  EXPECT_EQ(storage_.waiting(), 2u);
  storage_.Hold(false);
  EXPECT_EQ(sink.TakeStep(0, 40).size(), 40u);
  EXPECT_EQ(storage_.most(), 20u);
}

TEST_F(SlowReadsTest, RowsThatNeedNoReadAtTheirTurnAreStillMade) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  SimScheduler sim(1);
  LoaderOptions options = OptionsIn(&sim);
  options.threads = 1;
  options.memory_budget_bytes = 16 << 20;
  options.record_cache_bytes = 8 << 20;
  options.reads_under_way = 2;
  const auto loader = Loader::Create(options).value();
  HoldingSink first_sink, second_sink;
  auto first = SessionOf(loader.get(), job_, &first_sink);
  auto second = SessionOf(loader.get(), job_, &second_sink);
  first->Request(RowsOf(0, 40, 40));
  second->Request(RowsOf(0, 40, 40));
  sim.RunAll();
  ASSERT_EQ(loader->Stats().record_cache.misses, 80u) << "each row has looked up its record";
  storage_.Hold(false);
  sim.RunAll();
  EXPECT_EQ(first_sink.held(), 40u);
  EXPECT_EQ(second_sink.held(), 40u);
}

TEST_F(SlowReadsTest, WaitingRowsContinueWhenTheFilesBecomeNear) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(1, /*reads_under_way=*/2);
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  storage_.WaitForReads(2);
  // From now on the row's own thread reads, also for parked rows.
  storage_.SayNear(true);
  storage_.Hold(false);
  EXPECT_EQ(sink.TakeStep(0, 40).size(), 40u);
}

TEST_F(SlowReadsTest, UrgentRowsAreReadFirst) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(1, /*reads_under_way=*/2);
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 30, 30));
  storage_.WaitForReads(2);
  std::vector<RowRequest> urgent = RowsOf(30, 32, 32);
  for (RowRequest& row : urgent) {
    row.urgent = true;
    row.step = 9;
  }
  session->Request(urgent);
  while (storage_.urgent() < 2) storage_.Let(1);
  storage_.Let(2);
  // At most the earlier rows whose reads were in flight, and the rows that the thread has begun since.
  EXPECT_LE(sink.held(), 10u);
  storage_.Hold(false);
  EXPECT_EQ(sink.TakeStep(9, 2).size(), 2u);
  sink.TakeStep(0, 30);
}

TEST_F(SlowReadsTest, RowsEqualThoseOfFastStorageDespiteBrokenRecords) {
  for (const v1::ErrorPolicy policy : {v1::FAIL, v1::MASK, v1::SUBSTITUTE}) {
    for (const sources::Compression compression : {sources::Compression::kNone, sources::Compression::kGzip}) {
      Make(compression, policy);
      if (compression == sources::Compression::kNone) {
        // Most records of the first shard, so that their substitutes are broken too.
        for (int record = 0; record < 15; ++record) support::BreakRecord(set_.files[0], record);
      }
      std::filesystem::remove_all(state_.path());
      std::filesystem::create_directories(state_.path());
      job_ = JobOn(&storage_, set_, state_.path());
      const auto near = JobOn(storage::LocalFiles(), set_, state_.path());
      auto loader = LoaderOf(2, 7);
      EXPECT_EQ(AllRows(job_, loader.get(), 40), AllRows(near, loader.get(), 40))
          << v1::ErrorPolicy_Name(policy) << ", " << static_cast<int>(compression);
    }
  }
}

TEST_F(SlowReadsTest, AFailedReadIsRetriedAndThenNamed) {
  Make();
  OpenFiles();
  auto loader = LoaderOf(1);
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  storage_.Fail(2, absl::UnavailableError("the bucket is away"));
  session->Request(RowsOf(0, 1, 1));
  EXPECT_TRUE(sink.TakeStep(0, 1)[0].status.ok());
  storage_.Fail(1000, absl::UnavailableError("the bucket is away"));
  std::vector<RowRequest> rows = RowsOf(1, 2, 1);
  rows[0].step = 1;
  session->Request(rows);
  const absl::Status status = sink.TakeStep(1, 1)[0].status;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("the bucket is away"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("record "), absl::string_view::npos) << status;
  storage_.Fail(0, absl::OkStatus());
}

TEST_F(SlowReadsTest, RowsSucceedIfTheirFilesAreTouchedDuringReads) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(1);
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  storage_.WaitForReads(40);
  for (const std::string& file : set_.files) {
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::hours(1));
  }
  storage_.Hold(false);
  for (const RowResult& row : sink.TakeStep(0, 40)) EXPECT_TRUE(row.status.ok()) << row.status;
}

TEST_F(SlowReadsTest, ClosingASessionWaitsForNoRead) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(1, 10);
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  storage_.WaitForReads(10);
  auto closed = std::async(std::launch::async, [&] {
    session.reset();
    job_.reset();
  });
  ASSERT_EQ(closed.wait_for(kStuckRead), std::future_status::ready);
  closed.get();
  // Reads under way keep their memory until they end.
  EXPECT_GT(loader->Stats().memory_bytes, LoaderOf(1, 10)->Stats().memory_bytes);
  storage_.Hold(false);
  EXPECT_EQ(loader->Stats().memory_bytes, LoaderOf(1, 10)->Stats().memory_bytes);
  EXPECT_EQ(sink.held(), 0u);
}

TEST_F(SlowReadsTest, ReadsDoNotAccessADestroyedLoader) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(1);
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  storage_.WaitForReads(40);
  session.reset();
  loader.reset();
  storage_.Hold(false);
  EXPECT_EQ(storage_.waiting(), 0u);
}

TEST_F(SlowReadsTest, MemoryOfReadsStaysWithinTheBudget) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  constexpr uint64_t kMemory = 1700 << 10;  // a few rows
  auto loader = LoaderOf(2, 64, kMemory);
  HoldingSink sinks[2];
  std::vector<std::unique_ptr<Loader::Session>> sessions;
  for (HoldingSink& sink : sinks) {
    sessions.push_back(SessionOf(loader.get(), job_, &sink, 4));
    sink.session = sessions.back().get();
  }
  // One by one, so that as many reads as possible are under way.
  std::jthread letting([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      storage_.Let(1);
      std::this_thread::yield();
    }
    storage_.Hold(false);
  });
  for (const std::unique_ptr<Loader::Session>& session : sessions) session->Request(RowsOf(0, 40, 4));
  for (uint64_t step = 0; step < 10; ++step) {
    for (size_t k = 0; k < 2; ++k) {
      sessions[k]->SetHead(step);
      sinks[k].KeepUpTo(step);
      for (const RowResult& row : sinks[k].TakeStep(step, 4)) ASSERT_TRUE(row.status.ok()) << row.status;
    }
  }
  EXPECT_LE(loader->Stats().memory_peak_bytes, kMemory);
}

}  // namespace
}  // namespace penstock::loader
