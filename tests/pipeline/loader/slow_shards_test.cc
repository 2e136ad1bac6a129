// Shards whose index is slow to load, and files that change, vanish and return: which rows wait for them.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file.h"
#include "base/runtime/sim_scheduler.h"
#include "base/runtime/thread_pool.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/indexes_from.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

// Longer than anything takes that is not stuck.
constexpr std::chrono::seconds kStuck{20};

// 4 shards of 10 records. The test decides when their indexes load.
class SlowShardsTest : public ::testing::Test {
 protected:
  explicit SlowShardsTest(DatasetReader::Options options = {}) : options_(options) {
    support::NumberDatasetOptions numbers;
    numbers.shards = 4;
    numbers.records_per_shard = 10;
    set_ = support::MakeNumberDataset(numbers, folder_.path());
    set_.job.mutable_order()->set_shuffle(v1::Order::NONE);
    auto frozen = OpenDataset(storage::LocalFiles(), set_.job, set_.roots, std::nullopt, 1);
    PS_CHECK(frozen.ok());
    IndexProvider build =
        IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state_.path()), sources::IndexOptions());
    if (options_.executor == nullptr) options_.executor = &pool_;
    options_.file_errors = file_errors_;
    auto reader = DatasetReader::Create(
        storage::LocalFiles(), (*frozen)->snapshot(), set_.roots,
        [this, build](const sources::SnapshotShard& shard, const std::string& path,
                      const std::stop_token& stop) -> absl::StatusOr<std::shared_ptr<const sources::ShardIndex>> {
          {
            const std::stop_callback notify(stop, [this] {
              MutexLock lock(&mutex_);
              changed_.NotifyAll();
            });
            MutexLock lock(&mutex_);
            ++loads_[shard.relative_path];
            changed_.NotifyAll();
            while (blocked_ == shard.relative_path && !stop.stop_requested()) changed_.Wait(&mutex_);
            if (!error_.ok()) return error_;
          }
          return build(shard, path, stop);
        },
        options_);
    PS_CHECK(reader.ok());
    reader_ = *reader;
    auto job = LoadJob::Create(set_.job, reader_);
    PS_CHECK(job.ok());
    job_ = *job;
  }
  ~SlowShardsTest() override {
    Block("");
    job_ = nullptr;
    reader_ = nullptr;
  }

  void Block(const std::string& shard) {
    MutexLock lock(&mutex_);
    blocked_ = shard;
    changed_.NotifyAll();
  }
  void FailIndexes(absl::Status error) {
    MutexLock lock(&mutex_);
    error_ = std::move(error);
  }
  int Loads(const std::string& shard) {
    MutexLock lock(&mutex_);
    return loads_[shard];
  }
  void WaitForLoad(const std::string& shard) {
    MutexLock lock(&mutex_);
    while (loads_[shard] == 0) changed_.Wait(&mutex_);
  }
  std::unique_ptr<Loader> OneThread(LoaderOptions options = {}) {
    options.threads = 1;
    options.memory_budget_bytes = 8 << 20;
    auto loader = Loader::Create(options);
    PS_CHECK(loader.ok());
    return *std::move(loader);
  }
  std::unique_ptr<Loader::Session> Open(Loader* loader, RowSink* sink) {
    LoaderSessionOptions options;
    options.largest_step_rows = 10;
    auto session = loader->OpenSession(job_, options, sink);
    PS_CHECK(session.ok());
    return *std::move(session);
  }
  // Changes only the file's time.
  static void Touch(const std::string& file) {
    std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::hours(1));
  }

  support::TempFolder folder_, state_;
  support::TestDataset set_;
  const std::shared_ptr<storage::FileErrors> file_errors_ = std::make_shared<storage::FileErrors>(StoppedClock());
  ThreadPool pool_{2, "slow"};
  DatasetReader::Options options_;
  std::shared_ptr<DatasetReader> reader_;
  std::shared_ptr<const LoadJob> job_;

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, int> loads_ ABSL_GUARDED_BY(mutex_);
  std::string blocked_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(SlowShardsTest, OneThreadMakesRowsOfOtherShardsWhileAnIndexLoads) {
  Block("data-00001");
  auto loader = OneThread();
  HoldingSink sink;
  auto session = Open(loader.get(), &sink);
  // The scheduler picks the waiting rows first.
  std::vector<RowRequest> rows = RowsOf(0, 40, 40);
  for (RowRequest& row : rows) row.urgent = row.position >= 10 && row.position < 20;
  session->Request(std::move(rows));
  sink.WaitFor(30);
  EXPECT_EQ(sink.held(), 30u);
  EXPECT_EQ(session->pending(), 10u);
  Block("");
  std::set<uint64_t> seen;
  for (const RowResult& row : sink.TakeStep(0, 40)) {
    EXPECT_TRUE(row.status.ok()) << row.status;
    seen.insert(row.record_id);
  }
  EXPECT_EQ(seen.size(), 40u);
  EXPECT_EQ(session->pending(), 0u);
}

TEST_F(SlowShardsTest, ManyRowsWaitForOneLoad) {
  Block("data-00002");
  auto loader = OneThread();
  HoldingSink first, second;
  auto a = Open(loader.get(), &first), b = Open(loader.get(), &second);
  a->Request(RowsOf(20, 30, 40));
  b->Request(RowsOf(20, 30, 40));
  WaitForLoad("data-00002");
  Block("");
  first.WaitFor(10);
  second.WaitFor(10);
  EXPECT_EQ(Loads("data-00002"), 1);
}

TEST_F(SlowShardsTest, ClosingASessionDoesNotWaitForALoad) {
  Block("data-00000");
  auto loader = OneThread();
  HoldingSink sink;
  auto session = Open(loader.get(), &sink);
  session->Request(RowsOf(0, 10, 10));
  WaitForLoad("data-00000");
  auto closed = std::async(std::launch::async, [&] { session.reset(); });
  EXPECT_EQ(closed.wait_for(kStuck), std::future_status::ready);
  Block("");
  closed.get();
  EXPECT_EQ(sink.held(), 0u);
}

TEST_F(SlowShardsTest, AHintLoadsTheIndexWithoutBlocking) {
  Block("data-00003");
  auto hinted = std::async(std::launch::async, [&] {
    for (uint64_t record = 30; record < 40; ++record) reader_->WillRead(record);
  });
  EXPECT_EQ(hinted.wait_for(kStuck), std::future_status::ready);
  WaitForLoad("data-00003");
  Block("");
  hinted.get();
  EXPECT_EQ(reader_->RecordBytes(30).value() > 0, true);
  EXPECT_EQ(Loads("data-00003"), 1);
}

TEST_F(SlowShardsTest, DestroyingAReaderCancelsItsLoads) {
  Block("data-00000");
  reader_->WillRead(0);
  WaitForLoad("data-00000");
  job_ = nullptr;
  reader_ = nullptr;
  auto stopped = std::async(std::launch::async, [&] { pool_.Stop(); });
  EXPECT_EQ(stopped.wait_for(kStuck), std::future_status::ready);
  Block("");
  stopped.get();
}

// ---- Files that change --------------------------------------------------------------------------------------------

struct VirtualTime {
  SimScheduler sim{1};
};

class ChangedShardsTest : protected VirtualTime, public SlowShardsTest {
 protected:
  ChangedShardsTest() : SlowShardsTest({.executor = &sim}) {}
};

TEST_F(SlowShardsTest, ATouchedFileIsIndexedAgainAndStaysReadable) {
  std::string bytes;
  ASSERT_TRUE(reader_->ReadRecord(3, &bytes).ok());
  Touch(set_.files[0]);  // an open file
  Touch(set_.files[1]);  // a file that is not open
  EXPECT_TRUE(reader_->ReadRecord(4, &bytes).ok()) << reader_->ReadRecord(4, &bytes);
  EXPECT_NE(bytes.find("record-4"), std::string::npos);
  EXPECT_TRUE(reader_->ReadRecord(14, &bytes).ok());
  EXPECT_EQ(Loads("data-00000"), 2);
}

TEST_F(SlowShardsTest, RowsOfATouchedFileAreMadeWithoutAnError) {
  auto loader = OneThread();
  HoldingSink sink;
  auto session = Open(loader.get(), &sink);
  session->Request(RowsOf(0, 40, 40));
  for (const RowResult& row : sink.TakeStep(0, 40)) ASSERT_TRUE(row.status.ok()) << row.status;
  for (const std::string& file : set_.files) Touch(file);
  session->Request(RowsOf(0, 40, 40));
  for (const RowResult& row : sink.TakeStep(0, 40)) EXPECT_TRUE(row.status.ok()) << row.status;
}

TEST_F(ChangedShardsTest, OtherContentStopsTheJobUntilTheRightBytesReturn) {
  const std::string right = ReadWholeFile(set_.files[1]).value();
  ASSERT_TRUE(WriteFileAtomically(set_.files[1], ReadWholeFile(set_.files[0]).value()).ok());
  std::string bytes;
  absl::Status status = reader_->ReadRecord(13, &bytes);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(status.message().find(set_.files[1]), absl::string_view::npos) << status;
  ASSERT_EQ(file_errors_->Lines(8, 300).size(), 1u);
  EXPECT_NE(file_errors_->Lines(8, 300)[0].find(set_.files[1]), std::string::npos);
  // The right bytes, at another time.
  ASSERT_TRUE(WriteFileAtomically(set_.files[1], right).ok());
  Touch(set_.files[1]);
  sim.RunFor(250 * kMillisecond);  // the loader checks the file again after 250 ms
  status = reader_->ReadRecord(13, &bytes);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(file_errors_->Lines(8, 300).empty());
}

TEST_F(ChangedShardsTest, AMissingFileFailsItsRowsByNameUntilItReturns) {
  std::filesystem::rename(set_.files[2], set_.files[2] + ".away");
  auto loader = OneThread(OptionsIn(&sim));
  HoldingSink sink;
  auto session = Open(loader.get(), &sink);
  session->Request(RowsOf(0, 40, 40));
  sim.RunFor(100 * kMillisecond);
  ASSERT_EQ(sink.held(), 40u);
  for (const RowResult& row : sink.TakeStep(0, 40)) {
    const bool gone = row.record_id >= 20 && row.record_id < 30;
    EXPECT_EQ(row.status.ok(), !gone) << row.status;
    if (!gone) continue;
    EXPECT_EQ(row.status.code(), absl::StatusCode::kUnavailable);
    EXPECT_NE(row.status.message().find(set_.files[2]), absl::string_view::npos) << row.status;
  }
  const std::vector<std::string> lines = file_errors_->Lines(8, 300);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find(set_.files[2]), std::string::npos);
  EXPECT_NE(lines[0].find("No such file"), std::string::npos) << lines[0];

  std::filesystem::rename(set_.files[2] + ".away", set_.files[2]);
  sim.RunFor(250 * kMillisecond);  // the loader checks the file again after 250 ms
  session->Request(RowsOf(25, 26, 1));
  sim.RunAll();
  ASSERT_EQ(sink.held(), 1u);
  EXPECT_TRUE(sink.TakeStep(25, 1)[0].status.ok());
  EXPECT_TRUE(file_errors_->Lines(8, 300).empty());
}

TEST_F(SlowShardsTest, AnIndexThatFailsToLoadFailsItsRowsWithFewRequests) {
  FailIndexes(absl::UnavailableError("the coordinator is away"));
  auto loader = OneThread();
  HoldingSink sink;
  auto session = Open(loader.get(), &sink);
  session->Request(RowsOf(0, 10, 10));
  for (const RowResult& row : sink.TakeStep(0, 10)) {
    EXPECT_EQ(row.status.code(), absl::StatusCode::kUnavailable);
    EXPECT_NE(row.status.message().find("the coordinator is away"), absl::string_view::npos) << row.status;
  }
  EXPECT_LE(Loads("data-00000"), 3);
}

// Fewer open files and smaller indexes than the rows need: a shard may be closed again before its woken rows have their
// turn.
class TightShardsTest : public SlowShardsTest {
 protected:
  TightShardsTest() : SlowShardsTest({.max_open_shards = 1, .max_index_bytes = 1}) {}
};

TEST_F(TightShardsTest, AReadSucceedsAlthoughNoShardFits) {
  auto read = std::async(std::launch::async, [this] {
    std::string bytes;
    for (uint64_t i = 0; i < 40; ++i) {
      const uint64_t record = i * 11 % 40;
      EXPECT_TRUE(reader_->ReadRecord(record, &bytes).ok()) << record;
      EXPECT_TRUE(reader_->RecordBytes(record).ok()) << record;
    }
  });
  const bool came = read.wait_for(kStuck) == std::future_status::ready;
  EXPECT_TRUE(came);
  if (!came) FailIndexes(absl::FailedPreconditionError("the test ends"));
  read.get();
}

TEST_F(TightShardsTest, AllRowsAreMadeAlthoughNoTwoShardsFit) {
  auto loader = OneThread();
  HoldingSink sink;
  auto session = Open(loader.get(), &sink);
  std::vector<RowRequest> rows;
  for (uint64_t i = 0; i < 400; ++i) {
    RowRequest row;
    row.position = i * 11 % 40;
    row.tag = i;
    rows.push_back(row);
  }
  session->Request(std::move(rows));
  for (const RowResult& row : sink.TakeStep(0, 400)) EXPECT_TRUE(row.status.ok()) << row.status;
}

}  // namespace
}  // namespace penstock::loader
