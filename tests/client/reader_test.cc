#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "penstock/client.h"
#include "tests/client/reader_testing.h"

namespace penstock::client {
namespace {

TEST(Reader, ReturnsEveryRowOfEveryEpochInOrder) {
  for (const int workers : {1, 2, 5}) {
    FakeCluster cluster(workers);
    auto reader = cluster.Open(cluster.options(3));
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(reader->steps_per_epoch(), 12u);
    EXPECT_EQ(reader->rows_per_epoch(), 100u);
    const ReadEnd result = ReadAll(cluster.job, reader.get());
    EXPECT_EQ(result.batches, 36);
    EXPECT_EQ(result.status.code(), absl::StatusCode::kOutOfRange) << result.status;
    EXPECT_EQ(reader->Stats().batches, 36u);
    EXPECT_EQ(reader->Stats().rows, 288u);
    EXPECT_EQ(reader->Stats().broken_streams, 0u);
    EXPECT_GT(reader->Stats().bytes_received, 288u * 68);
    EXPECT_TRUE(reader->status().ok());
  }
}

TEST(Reader, PadsTheLastBatch) {
  FakeJob job;
  job.last = v1::PAD;
  FakeCluster cluster(2, job);
  auto reader = cluster.Open(cluster.options(2));
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(ReadAll(job, reader.get()).batches, 26);
}

TEST(Reader, ReturnsASmallerLastBatchUnderPartial) {
  FakeJob job;
  job.last = v1::PARTIAL;
  FakeCluster cluster(2, job);
  auto reader = cluster.Open(cluster.options(1));
  ASSERT_NE(reader, nullptr);
  size_t last = 0;
  int batches = 0;
  for (const Batch& batch : reader->Batches()) {
    EXPECT_EQ(CheckBatch(job, batch), "");
    last = batch.rows();
    EXPECT_EQ(batch.step(), static_cast<uint64_t>(batches++));
  }
  EXPECT_TRUE(reader->status().ok());
  EXPECT_EQ(batches, 13);
  EXPECT_EQ(last, 4u);
}

TEST(Reader, RanksShareEachStep) {
  FakeJob job;
  job.last = v1::PAD;
  FakeCluster cluster(3, job);
  for (uint32_t rank = 0; rank < 4; ++rank) {
    ReaderOptions options = cluster.options(1);
    options.rank = rank;
    options.world_size = 4;
    auto reader = cluster.Open(options);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(ReadAll(job, reader.get(), rank, 4).batches, 13);
  }
}

TEST(Reader, ReportsItsColumns) {
  FakeCluster cluster(1);
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  const std::vector<ColumnInfo>& columns = reader->columns();
  ASSERT_EQ(columns.size(), 5u);
  EXPECT_EQ(columns[0].name, "image");
  EXPECT_EQ(columns[0].shape, (std::vector<int64_t>{4, 5, 3}));
  EXPECT_EQ(ElementTypeName(columns[0].type), "uint8");
  EXPECT_TRUE(columns[2].ragged);
  EXPECT_FALSE(columns[3].ragged) << "one string a row is not ragged";
  EXPECT_TRUE(columns[4].ragged);
}

TEST(Reader, ContinuesFromASavedState) {
  FakeCluster cluster(2);
  std::string state;
  {
    auto reader = cluster.Open(cluster.options(2));
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(ReadAll(cluster.job, reader.get(), 0, 1, nullptr, 5).batches, 5);
    state = reader->SaveState();
    EXPECT_EQ(reader->steps_left_in_epoch(), 7u);
  }
  ReaderOptions options = cluster.options(2);
  options.state = state;
  {
    auto reader = cluster.Open(options);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(reader->SaveState(), state);
    auto first = reader->Next(absl::Seconds(20));
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(first->position(), 40u);
    EXPECT_EQ(first->step(), 5u);
    EXPECT_EQ(ReadAll(cluster.job, reader.get()).batches, 6 + 12);
  }
  // With another batch size and world size the rows continue at the same place.
  options.batch_size = 4;
  options.world_size = 2;
  options.rank = 1;
  options.epochs = 1;
  FakeJob smaller = cluster.job;
  smaller.batch = 4;
  auto reader = cluster.Open(options);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(ReadAll(smaller, reader.get(), 1, 2).batches, 15);
}

TEST(Reader, RejectsAStateOfAnotherPlanAndNamesBothValues) {
  FakeCluster cluster(1);
  ReaderOptions options = cluster.options();
  options.state = "penstock-state version=1 epoch=0 position=8 order=00000000000000aa pipeline=0000000000000058";
  auto reader = Reader::Open(cluster.connect(), options);
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(reader.status().message()).find("00000000000000aa"), std::string::npos) << reader.status();

  const std::string order = absl::StrCat(absl::Hex(cluster.job.order_fingerprint(), absl::kZeroPad16));
  options.state = "penstock-state version=1 epoch=0 position=8 order=" + order + " pipeline=00000000000000bb";
  reader = Reader::Open(cluster.connect(), options);
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(reader.status().message()).find("accept"), std::string::npos) << reader.status();
  options.accept_new_pipeline = true;
  EXPECT_TRUE(Reader::Open(cluster.connect(), options).ok());

  options.state = "what is this";
  EXPECT_EQ(Reader::Open(cluster.connect(), options).status().code(), absl::StatusCode::kInvalidArgument);
  options.state = "penstock-state version=1 epoch=0 position=800 order=" + order + " pipeline=0000000000000058";
  EXPECT_EQ(Reader::Open(cluster.connect(), options).status().code(), absl::StatusCode::kInvalidArgument);
  cluster.coordinator.WaitForSessions(0);  // refused sessions are closed
}

TEST(Reader, RejectsAWorldSizeThatDoesNotDivideTheBatch) {
  FakeCluster cluster(1);
  ReaderOptions options = cluster.options();
  options.world_size = 3;
  auto reader = Reader::Open(cluster.connect(), options);
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(reader.status().message()).find("8 rows"), std::string::npos) << reader.status();
  EXPECT_NE(std::string(reader.status().message()).find("3 ranks"), std::string::npos) << reader.status();
  options.rank = 3;
  EXPECT_EQ(Reader::Open(cluster.connect(), options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Reader, NamesAnUnknownJob) {
  FakeCluster cluster(1);
  ReaderOptions options = cluster.options();
  options.job = "other";
  auto reader = Reader::Open(cluster.connect(), options);
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(std::string(reader.status().message()).find("other"), std::string::npos);
  EXPECT_NE(std::string(reader.status().message()).find("fake"), std::string::npos);
}

TEST(Reader, NamesAnUnreachableCoordinator) {
  ConnectOptions connect;
  connect.coordinator = "127.0.0.1:1";
  connect.open_timeout = absl::Seconds(1);
  ReaderOptions options;
  options.job = "fake";
  auto reader = Within(std::chrono::seconds(5), [&] { return Reader::Open(connect, options); });
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kUnavailable) << reader.status();
  EXPECT_NE(std::string(reader.status().message()).find("127.0.0.1:1"), std::string::npos) << reader.status();
  connect.coordinator = "no port:";
  EXPECT_EQ(Reader::Open(connect, options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Reader, WaitsForAJobInPreparation) {
  FakeCluster cluster(1);
  cluster.coordinator.SetState(v1::PREPARING);
  auto reader = Reader::Open(cluster.connect(absl::Seconds(3)), cluster.options());
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(std::string(reader.status().message()).find("shards are indexed"), std::string::npos) << reader.status();

  std::thread ready([&] {
    cluster.coordinator.WaitForOpened(2);
    cluster.coordinator.SetState(v1::READY);
  });
  reader = Reader::Open(cluster.connect(), cluster.options());
  ready.join();
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(ReadAll(cluster.job, reader->get()).batches, 12);
}

TEST(Reader, ReportsWhyAJobFailed) {
  FakeCluster cluster(1);
  cluster.coordinator.SetState(v1::FAILED, "shard-3: record 7 is broken");
  auto reader = Reader::Open(cluster.connect(), cluster.options());
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(reader.status().message()).find("record 7 is broken"), std::string::npos);
}

TEST(Reader, ReportsThatNoWorkerIsLive) {
  FakeCluster cluster(0);
  auto reader = Reader::Open(cluster.connect(absl::Seconds(3)), cluster.options());
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(std::string(reader.status().message()).find("no worker"), std::string::npos) << reader.status();
}

TEST(Reader, RejectsAPlanOfAnotherRelease) {
  FakeCluster cluster(1);
  v1::Job job = cluster.coordinator.job();
  job.set_order_fingerprint(job.order_fingerprint() + 1);
  cluster.coordinator.SetJob(job);
  EXPECT_EQ(Reader::Open(cluster.connect(), cluster.options()).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Reader, CancelEndsAWaitingNextFromAnotherThread) {
  FakeCluster cluster(1);
  cluster.workers[0]->Behave({.silent = true});
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  std::thread cancel([&] {
    cluster.workers[0]->WaitForWaiting();
    reader->Cancel();
  });
  EXPECT_EQ(reader->Next(absl::Minutes(1)).status().code(), absl::StatusCode::kCancelled);
  cancel.join();
  EXPECT_EQ(reader->Next(absl::Minutes(1)).status().code(), absl::StatusCode::kCancelled);
}

TEST(Reader, DestructionIsQuickAndClosesTheSession) {
  FakeCluster cluster(2);
  cluster.workers[1]->Behave({.silent = true});
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  cluster.workers[1]->WaitForStreams(1);
  Within(std::chrono::seconds(5), [&] { reader.reset(); });
  cluster.coordinator.WaitForSessions(0);
  cluster.workers[1]->WaitForStreams(0);
}

TEST(Reader, BatchesOutliveTheReader) {
  FakeCluster cluster(1);
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  auto batch = reader->Next(absl::Seconds(20));
  ASSERT_TRUE(batch.ok()) << batch.status();
  const Batch kept = *std::move(batch);
  reader.reset();
  EXPECT_EQ(CheckBatch(cluster.job, kept), "");
}

// Counts allocated blocks, and can refuse.
class CountingAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes) override {
    if (refuse) return nullptr;
    ++out;
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  void Deallocate(void* memory, size_t bytes) override {
    --out;
    std::free(memory);
  }
  std::atomic<int> out{0};
  std::atomic<bool> refuse{false};
};

TEST(Reader, TakesBatchMemoryFromTheTrainersAllocator) {
  CountingAllocator allocator;
  FakeCluster cluster(1);
  ReaderOptions options = cluster.options(4);
  options.allocator = &allocator;
  {
    auto reader = cluster.Open(options);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(ReadAll(cluster.job, reader.get()).batches, 48);
    EXPECT_GT(allocator.out, 0);
  }
  EXPECT_EQ(allocator.out, 0);
  allocator.refuse = true;
  auto reader = cluster.Open(options);
  ASSERT_NE(reader, nullptr);
  const absl::Status refused = reader->Next(absl::Seconds(20)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(absl::StrContains(refused.message(), "lower prefetch_bytes or prefetch_steps")) << refused;
}

}  // namespace
}  // namespace penstock::client
