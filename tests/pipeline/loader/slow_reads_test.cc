// Storage that does not answer at once: rows wait aside while their records are read, and are the same rows.
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
#include "pipeline/loader/local_reader.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/support/test_dataset.h"
#include "tests/support/wait_until.h"

namespace penstock {
namespace {

constexpr std::chrono::seconds kStuckRead{20};

// Local files whose reads wait until the test lets them, in the order in which they were asked for.
class HeldStorage final : public Storage {
 public:
  bool AnswersAtOnce(const std::string& name) const override { return near_.load(); }
  void SayNear(bool near) { near_.store(near); }
  void Open(const std::string& name, const CallOptions& options, CallDone<std::unique_ptr<StoredFile>> done) override {
    LocalFiles()->Open(name, options, [this, done = std::move(done)](auto file) mutable {
      if (!file.ok()) {
        std::move(done)(file.status());
      } else {
        std::move(done)(std::make_unique<File>(this, *std::move(file)));
      }
    });
  }
  void Stat(const std::string& name, const CallOptions& options, CallDone<StoredName> done) override {
    LocalFiles()->Stat(name, options, std::move(done));
  }
  void List(const std::string& folder, const CallOptions& options, CallDone<std::vector<StoredEntry>> done) override {
    LocalFiles()->List(folder, options, std::move(done));
  }

  // From now on reads wait, or do not.
  void Hold(bool hold) {
    {
      MutexLock lock(&mutex_);
      hold_ = hold;
    }
    if (!hold) Let(SIZE_MAX);
  }
  // Does that many of the reads that wait.
  void Let(size_t reads) {
    for (size_t i = 0; i < reads; ++i) {
      Task read;
      {
        MutexLock lock(&mutex_);
        if (waiting_.empty()) return;
        read = std::move(waiting_.front());
        waiting_.pop_front();
      }
      std::move(read)();
    }
  }
  // The next reads fail, so many.
  void Fail(int reads, absl::Status status) {
    MutexLock lock(&mutex_);
    to_fail_ = reads;
    failure_ = std::move(status);
  }
  void WaitForReads(size_t reads) {
    MutexLock lock(&mutex_);
    while (waiting_.size() < reads) changed_.Wait(&mutex_);
  }
  size_t waiting() {
    MutexLock lock(&mutex_);
    return waiting_.size();
  }
  size_t most() {
    MutexLock lock(&mutex_);
    return most_;
  }
  int urgent() {
    MutexLock lock(&mutex_);
    return urgent_;
  }

 private:
  class File final : public StoredFile {
   public:
    File(HeldStorage* storage, std::unique_ptr<StoredFile> file) : storage_(storage), file_(std::move(file)) {}
    const std::string& path() const override { return file_->path(); }
    const FileInfo& opened() const override { return file_->opened(); }
    absl::StatusOr<FileInfo> Info() const override { return file_->Info(); }
    absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
      return file_->ReadAt(offset, length, out);
    }
    void Read(uint64_t offset, size_t length, char* out, const CallOptions& options,
              CallDone<size_t> done) const override {
      storage_->Add(options.priority,
                    [this, offset, length, out, options, storage = storage_, done = std::move(done)]() mutable {
                      if (options.stop.stop_requested()) {
                        std::move(done)(absl::CancelledError(path()));
                      } else if (absl::Status failure = storage->NextFailure(); !failure.ok()) {
                        std::move(done)(std::move(failure));
                      } else if (*file_->Info() != opened()) {
                        std::move(done)(absl::AbortedError("changed"));
                      } else {
                        std::move(done)(file_->ReadAt(offset, length, out));
                      }
                    });
    }

   private:
    HeldStorage* const storage_;
    const std::unique_ptr<StoredFile> file_;
  };

  void Add(CallPriority priority, Task read) {
    {
      MutexLock lock(&mutex_);
      urgent_ += priority == CallPriority::kUrgent ? 1 : 0;
      waiting_.push_back(std::move(read));
      most_ = std::max(most_, waiting_.size());
      changed_.NotifyAll();
      if (hold_) return;
    }
    Let(1);  // inside the call, as the contract allows
  }
  absl::Status NextFailure() {
    MutexLock lock(&mutex_);
    return to_fail_-- > 0 ? failure_ : absl::OkStatus();
  }

  std::atomic<bool> near_{false};
  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t most_ ABSL_GUARDED_BY(mutex_) = 0;
  int urgent_ ABSL_GUARDED_BY(mutex_) = 0;
  bool hold_ ABSL_GUARDED_BY(mutex_) = false;
  int to_fail_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

std::shared_ptr<const LoadJob> JobOn(Storage* storage, const TestDataset& set, const std::string& state) {
  const auto frozen = OpenDataset(set.job, set.roots, "", 1);
  PS_CHECK(frozen.ok());
  DatasetReader::Options options;
  options.storage = storage;
  auto reader = DatasetReader::Create((*frozen)->snapshot(), set.roots,
                                      IndexesFrom(IndexStore::InStateDir(state), IndexOptions()), options);
  PS_CHECK(reader.ok());
  auto job = LoadJob::Create(set.job, *reader);
  PS_CHECK(job.ok());
  return *job;
}

std::unique_ptr<Loader> LoaderOf(int threads, int reads_under_way = 64, uint64_t memory = 8 << 20) {
  LoaderOptions options;
  options.threads = threads;
  options.memory_budget_bytes = memory;
  options.reads_under_way = reads_under_way;
  auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  return *std::move(loader);
}

std::unique_ptr<Loader::Session> SessionOf(Loader* loader, std::shared_ptr<const LoadJob> job, RowSink* sink,
                                           uint32_t step_rows = 8) {
  LoaderSessionOptions options;
  options.largest_step_rows = step_rows;
  auto session = loader->OpenSession(std::move(job), options, sink);
  PS_CHECK(session.ok());
  return *std::move(session);
}

// All that a trainer could tell rows apart by.
std::string Told(const RowResult& row, const LoadJob& job) {
  std::string text = absl::StrCat(row.status.ToString(), "|", row.record_id, "|", row.source_record, "|", row.masked,
                                  row.substituted, "|", row.fault.ToString(), "|", row.fault_offset.value_or(0), "|");
  if (row.fixed != nullptr) text.append(reinterpret_cast<const char*>(row.fixed.get()), job.fixed_bytes());
  for (const std::string& column : row.ragged) absl::StrAppend(&text, "|", column);
  return text;
}

std::map<uint64_t, std::string> AllRows(const std::shared_ptr<const LoadJob>& job, Loader* loader, size_t rows) {
  HoldingSink sink;
  auto session = SessionOf(loader, job, &sink);
  session->Request(RowsOf(0, rows, rows));
  std::map<uint64_t, std::string> told;
  for (const RowResult& row : sink.TakeStep(0, rows)) told[row.request.position] = Told(row, *job);
  return told;
}

class SlowReadsTest : public ::testing::Test {
 protected:
  void Make(Compression compression = Compression::kNone, v1::ErrorPolicy policy = v1::FAIL) {
    ImageDatasetOptions images;
    images.shards = 2;
    images.compression = compression;
    set_ = MakeImageDataset(images, folder_.path());
    set_.job.mutable_errors()->set_policy(policy);
    set_.job.mutable_errors()->set_max_bad_fraction(1);
    job_ = JobOn(&storage_, set_, state_.path());
  }
  // Opens all files, so that nothing but reads is waited for.
  void OpenFiles() {
    auto loader = LoaderOf(1);
    AllRows(job_, loader.get(), 40);
  }

  TempFolder folder_, state_;
  HeldStorage storage_;
  TestDataset set_;
  std::shared_ptr<const LoadJob> job_;
};

TEST_F(SlowReadsTest, OneThreadHasManyReadsUnderWayAndMakesWhatHasCome) {
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

// Takes as many rows as it was told to; who hands over the next one waits.
class TurnstileSink final : public RowSink {
 public:
  void OnRow(RowResult row) override {
    MutexLock lock(&mutex_);
    EXPECT_TRUE(row.status.ok()) << row.status;
    ++came_;
    while (came_ > let_) changed_.Wait(&mutex_);
  }
  void Let(size_t rows) {
    MutexLock lock(&mutex_);
    let_ += rows;
    changed_.NotifyAll();
  }
  size_t came() {
    MutexLock lock(&mutex_);
    return came_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t came_ ABSL_GUARDED_BY(mutex_) = 0, let_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST_F(SlowReadsTest, WhileThreadsMakeRowsTheNextOnesRecordsAreOnTheirWay) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(1);
  TurnstileSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 8, 8));
  storage_.WaitForReads(8);
  storage_.Let(8);
  ASSERT_TRUE(WaitUntil([&] { return sink.came() == 1; }));
  session->Request(RowsOf(8, 40, 8));
  sink.Let(1);
  // The second row is made, and six more could be.
  ASSERT_TRUE(WaitUntil([&] { return sink.came() == 2; }));
  EXPECT_TRUE(WaitUntil([&] { return storage_.waiting() > 0; }));
  sink.Let(2);
  ASSERT_TRUE(WaitUntil([&] { return sink.came() == 4; }));
  EXPECT_EQ(storage_.waiting(), 32u) << "all that were asked for";
  storage_.Hold(false);
  sink.Let(40);
  ASSERT_TRUE(WaitUntil([&] { return sink.came() == 40; }));
  session.reset();
}

// What was read before its turn is no more than memory allows beside the rows that can be made.
TEST_F(SlowReadsTest, WhatIsReadBeforeItsTurnLeavesMemoryForTheRowsBeforeIt) {
  Make();
  OpenFiles();
  for (const uint64_t memory : {1200 << 10, 1400 << 10, 2 << 20}) {
    auto loader = LoaderOf(2, /*reads_under_way=*/64, memory);
    const auto rows = AllRows(job_, loader.get(), 40);
    EXPECT_EQ(rows, AllRows(job_, LoaderOf(2).get(), 40));
    EXPECT_LE(loader->Stats().memory_peak_bytes, memory);
  }
}

TEST_F(SlowReadsTest, NoMoreReadsAreUnderWayThanMayBe) {
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

TEST_F(SlowReadsTest, ReadsUnderWayAreAsManyAsWasSetLast) {
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

TEST_F(SlowReadsTest, NoRowIsLeftBehindWhenItsTurnToBeReadNeedsNone) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  LoaderOptions options;
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
  ASSERT_TRUE(
      WaitUntil([&] { return loader->Stats().record_cache.misses >= 80; }));  // each row has looked for its record
  storage_.Hold(false);
  EXPECT_EQ(first_sink.TakeStep(0, 40).size(), 40u);
  EXPECT_EQ(second_sink.TakeStep(0, 40).size(), 40u);
}

TEST_F(SlowReadsTest, RowsThatWaitToBeReadGoOnWhereTheFilesComeNear) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(1, /*reads_under_way=*/2);
  HoldingSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 40, 40));
  storage_.WaitForReads(2);
  // From now on rows are read by their thread, those that waited for it included.
  storage_.SayNear(true);
  storage_.Hold(false);
  EXPECT_EQ(sink.TakeStep(0, 40).size(), 40u);
}

TEST_F(SlowReadsTest, WhatATrainerWaitsForIsReadFirst) {
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
  // What was under way before them has come, and what the thread had begun with meanwhile, of the 30.
  EXPECT_LE(sink.held(), 10u);
  storage_.Hold(false);
  EXPECT_EQ(sink.TakeStep(9, 2).size(), 2u);
  sink.TakeStep(0, 30);
}

TEST_F(SlowReadsTest, RowsAreThoseOfStorageThatAnswersAtOnceWhateverIsBroken) {
  for (const v1::ErrorPolicy policy : {v1::FAIL, v1::MASK, v1::SUBSTITUTE}) {
    for (const Compression compression : {Compression::kNone, Compression::kGzip}) {
      Make(compression, policy);
      if (compression == Compression::kNone) {
        // Most of the first shard: those that stand in are broken too.
        for (int record = 0; record < 15; ++record) BreakRecord(set_.files[0], record);
      }
      std::filesystem::remove_all(state_.path());
      std::filesystem::create_directories(state_.path());
      job_ = JobOn(&storage_, set_, state_.path());
      const auto near = JobOn(LocalFiles(), set_, state_.path());
      auto loader = LoaderOf(2, 7);
      EXPECT_EQ(AllRows(job_, loader.get(), 40), AllRows(near, loader.get(), 40))
          << v1::ErrorPolicy_Name(policy) << ", " << static_cast<int>(compression);
    }
  }
}

TEST_F(SlowReadsTest, AReadThatFailsIsTriedAgainAndThenNamed) {
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

TEST_F(SlowReadsTest, AFileThatIsTouchedUnderARead) {
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
  // What is under way keeps its memory until it has ended.
  EXPECT_GT(loader->Stats().memory_bytes, LoaderOf(1, 10)->Stats().memory_bytes);
  storage_.Hold(false);
  EXPECT_EQ(loader->Stats().memory_bytes, LoaderOf(1, 10)->Stats().memory_bytes);
  EXPECT_EQ(sink.held(), 0u);
}

TEST_F(SlowReadsTest, ALoaderThatHasGoneIsNotTouchedByItsReads) {
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

TEST_F(SlowReadsTest, RowsThatAreReadStayWithinTheBudget) {
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
  // One by one, so that as many as possible are under way.
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
}  // namespace penstock
