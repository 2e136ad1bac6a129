#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "tests/client/reader_testing.h"

namespace penstock::client {
namespace {

TEST(ReaderFaults, AKilledWorkerLosesAndRepeatsNoRow) {
  FakeCluster cluster(3);
  auto reader = cluster.Open(cluster.options(4));
  ASSERT_NE(reader, nullptr);
  const ReadEnd result = ReadAll(cluster.job, reader.get(), 0, 1, [&](int batches) {
    if (batches == 7) cluster.workers[1]->Kill();
  });
  EXPECT_EQ(result.batches, 48);
  EXPECT_GT(reader->Stats().broken_streams, 0u);
  EXPECT_LT(reader->Stats().longest_wait, absl::Seconds(2));
}

TEST(ReaderFaults, AKilledWorkerLosesAndRepeatsNoRowWithoutTheCoordinator) {
  FakeCluster cluster(3);
  auto reader = cluster.Open(cluster.options(4));
  ASSERT_NE(reader, nullptr);
  const ReadEnd result = ReadAll(cluster.job, reader.get(), 0, 1, [&](int batches) {
    if (batches == 3) cluster.coordinator.Stop();
    if (batches == 7) cluster.workers[1]->Kill();
    if (batches == 30) cluster.workers[1]->Restart();
  });
  EXPECT_EQ(result.batches, 48);
  EXPECT_LT(reader->Stats().longest_wait, absl::Seconds(2));
}

TEST(ReaderFaults, AWaitCountsAsOneOverCallsThatTimedOut) {
  FakeCluster cluster(1);
  auto reader = cluster.Open(cluster.options(4));
  ASSERT_NE(reader, nullptr);
  ASSERT_TRUE(reader->Next(absl::Seconds(20)).ok());
  cluster.workers[0]->Kill();
  absl::Status end;
  while (end.ok()) end = reader->Next(absl::Milliseconds(50)).status();  // batches that are ready
  for (int i = 0; i < 5; ++i) end = reader->Next(absl::Milliseconds(50)).status();
  EXPECT_EQ(end.code(), absl::StatusCode::kDeadlineExceeded) << end;
  cluster.workers[0]->Restart();
  const auto batch = reader->Next(absl::Seconds(20));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_GE(reader->Stats().longest_wait, absl::Milliseconds(300));
}

TEST(ReaderFaults, ASilentWorkerCostsAboutASecond) {
  FakeCluster cluster(3);
  cluster.workers[2]->Behave({.silent = true});
  auto reader = cluster.Open(cluster.options(2));
  ASSERT_NE(reader, nullptr);
  const ReadEnd end = Within(std::chrono::seconds(6), [&] { return ReadAll(cluster.job, reader.get()); });
  EXPECT_EQ(end.batches, 24);
  EXPECT_GT(reader->Stats().fetched_rows, 0u);
}

TEST(ReaderFaults, DuplicatesAreDropped) {
  FakeCluster cluster(2);
  for (auto& worker : cluster.workers) worker->Behave({.twice = true});
  auto reader = cluster.Open(cluster.options(2));
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(ReadAll(cluster.job, reader.get()).batches, 24);
  EXPECT_GT(reader->Stats().duplicate_rows, 50u);
}

TEST(ReaderFaults, RepeatedlyBrokenStreamsOnlyCostTime) {
  FakeCluster cluster(2);
  for (auto& worker : cluster.workers) worker->Behave({.break_after_rows = 12});
  auto reader = cluster.Open(cluster.options(1));
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(ReadAll(cluster.job, reader.get()).batches, 12);
  EXPECT_GT(reader->Stats().broken_streams, 3u);
}

// Reads until the error names worker w0 and `says`. The reader must return no row of the malformed message.
void ExpectNoRowUntilTheWorkerIsNamed(Reader* reader, const std::string& says) {
  std::string message;
  do {
    const auto batch = reader->Next(absl::Milliseconds(50));
    ASSERT_EQ(batch.status().code(), absl::StatusCode::kDeadlineExceeded) << batch.status();
    message = std::string(batch.status().message());
  } while (message.find("worker w0") == std::string::npos || message.find(says) == std::string::npos);
}

TEST(ReaderFaults, MalformedMessagesAreAnErrorThatNamesTheWorker) {
  struct Case {
    Misbehavior how;
    const char* says;
  };
  const Case cases[] = {
      {{.truncated = true}, "payload"},
      {{.lying_lengths = true}, "column"},
      {{.huge_count = true}, "4294967295"},
      {{.garbage = true}, "protobuf"},
      {{.unrequested = true}, "which this client did not request"},
  };
  for (const Case& c : cases) {
    FakeCluster alone(1);
    alone.workers[0]->Behave(c.how);
    auto reader = alone.Open(alone.options());
    ASSERT_NE(reader, nullptr);
    ExpectNoRowUntilTheWorkerIsNamed(reader.get(), c.says);

    // If there is another worker, it serves all rows.
    FakeCluster two(2);
    two.workers[0]->Behave(c.how);
    auto other = two.Open(two.options());
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(ReadAll(two.job, other.get()).batches, 12) << c.says;
  }
}

TEST(ReaderFaults, SelectedRowsWithoutTheirNumbersAreAnErrorThatNamesTheWorker) {
  FakeCluster cluster(1);
  v1::Job job = cluster.coordinator.job();
  job.mutable_snapshot()->mutable_selection()->add_steps()->set_take(50);
  cluster.coordinator.SetJob(job);
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  ExpectNoRowUntilTheWorkerIsNamed(reader.get(), "a message of 3 selected rows with 0 numbers");
}

TEST(ReaderFaults, ADeadlineLosesNoRowAndNamesTheMissingRows) {
  FakeCluster cluster(1);
  cluster.workers[0]->Behave({.silent = true});
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  const auto batch = reader->Next(absl::Milliseconds(50));
  EXPECT_EQ(batch.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_NE(std::string(batch.status().message()).find("8 of 8 rows"), std::string::npos) << batch.status();
  EXPECT_FALSE(reader->status().ok());
  cluster.workers[0]->Behave({});
  cluster.workers[0]->Kill();
  cluster.workers[0]->Restart();
  EXPECT_EQ(ReadAll(cluster.job, reader.get()).batches, 12);
}

TEST(ReaderFaults, ARowsFailureIsReportedWithItsStepAndStays) {
  FakeCluster cluster(2);
  for (auto& worker : cluster.workers) {
    worker->Behave({.failing = {{21, absl::DataLossError("data/shard-1, record 5, offset 99: bad CRC")},
                                {3000, absl::DataLossError("another")}}});
  }
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  const ReadEnd result = ReadAll(cluster.job, reader.get());
  EXPECT_EQ(result.batches, 2) << "rows 16 to 23 are the third step's";
  EXPECT_EQ(result.status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(std::string(result.status.message()).find("record 5"), std::string::npos) << result.status;
  EXPECT_EQ(reader->Next(absl::Seconds(5)).status(), result.status);
  EXPECT_EQ(reader->status(), result.status);
}

TEST(ReaderFaults, RowsThatAWorkerCannotReadComeFromAnother) {
  FakeCluster cluster(2);
  std::map<uint64_t, absl::Status> failing;
  for (uint64_t row = 0; row < 100; ++row) failing[row] = absl::UnavailableError("I/O error");
  cluster.workers[0]->Behave({.failing = failing});
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(ReadAll(cluster.job, reader.get()).batches, 12);
}

TEST(ReaderFaults, MaskedRowsAreZeroAndInvalid) {
  FakeCluster cluster(1);
  cluster.workers[0]->Behave({.masked = {2, 9}});
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  auto batch = reader->Next(absl::Seconds(20));
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(std::vector<uint8_t>(batch->valid().begin(), batch->valid().end()),
            (std::vector<uint8_t>{1, 1, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(batch->column("label").data<int64_t>()[2], 0);
  EXPECT_EQ(batch->column("name").string(2), "");
  EXPECT_EQ(batch->column("name").string(3), "row 3 of epoch 0");
  EXPECT_EQ(batch->column("values").row_splits()[3] - batch->column("values").row_splits()[2], 0);
  EXPECT_TRUE(reader->Next(absl::Seconds(20)).ok());
  EXPECT_EQ(reader->Stats().masked_rows, 2u);
}

TEST(ReaderFaults, ASubstitutedRowNamesTheSourceOfItsContent) {
  FakeCluster cluster(1);
  cluster.workers[0]->Behave({.substituted = {{2, 77}, {9, 5}}});
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  const auto offsets = cluster.job.offsets();
  const std::map<uint64_t, uint64_t> sources = {{2, 77}, {9, 5}};
  for (int step = 0; step < 3; ++step) {
    auto batch = reader->Next(absl::Seconds(20));
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(CheckBatch(cluster.job, *batch), "") << "ids and content are those of the row";
    ASSERT_EQ(batch->sources().size(), batch->rows());
    for (size_t i = 0; i < batch->rows(); ++i) {
      const auto source = sources.find(batch->position() + i);
      if (source == sources.end()) {
        EXPECT_EQ(batch->sources()[i], batch->ids()[i]);
        continue;
      }
      const plan::Location at = offsets->Locate(source->second);
      EXPECT_EQ(batch->sources()[i], (RowId{static_cast<int64_t>(at.shard), static_cast<int64_t>(at.record)}));
    }
  }
  EXPECT_EQ(reader->Stats().substituted_rows, 2u);
}

TEST(ReaderFaults, ASubstituteThatDoesNotExistIsRejected) {
  FakeCluster cluster(2);  // records 0 to 99
  cluster.workers[0]->Behave(
      {.substituted = {{0, 100}, {1, 100}, {2, 100}, {3, 100}, {4, 100}, {5, 100}, {6, 100}, {7, UINT64_MAX}}});
  cluster.workers[1]->Behave({});
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  auto batch = reader->Next(absl::Seconds(20));  // the first worker's stream ends, and the second serves its rows
  ASSERT_TRUE(batch.ok()) << batch.status();
  EXPECT_EQ(CheckBatch(cluster.job, *batch), "");
  EXPECT_EQ(batch->sources(), batch->ids());
  EXPECT_GT(reader->Stats().broken_streams, 0u);
}

TEST(ReaderFaults, ARejectedSessionIsReportedWithItsNumbers) {
  FakeCluster cluster(2);
  for (auto& worker : cluster.workers) {
    worker->Behave({.refuse = absl::ResourceExhaustedError("a step takes 900 bytes, 400 are free")});
  }
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  auto batch = reader->Next(absl::Seconds(20));
  EXPECT_EQ(batch.status().code(), absl::StatusCode::kResourceExhausted) << batch.status();
  EXPECT_NE(std::string(batch.status().message()).find("400 are free"), std::string::npos);
  // A worker with enough memory serves everything.
  cluster.workers[1]->Behave({});
  while (!reader->Next(absl::Seconds(20)).ok()) std::this_thread::yield();
}

TEST(ReaderFaults, AMismatchedJobIsReportedAndAnUnknownJobIsRetried) {
  FakeCluster cluster(1);
  cluster.workers[0]->Behave({.refuse = absl::FailedPreconditionError("fingerprint 1 is not 2")});
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->Next(absl::Seconds(20)).status().code(), absl::StatusCode::kFailedPrecondition);

  FakeCluster other(1);
  other.workers[0]->Behave({.refuse = absl::NotFoundError("no such job here yet")});
  auto early = other.Open(other.options());
  ASSERT_NE(early, nullptr);
  EXPECT_EQ(early->Next(absl::Milliseconds(200)).status().code(), absl::StatusCode::kDeadlineExceeded);
  other.workers[0]->Behave({});
  EXPECT_EQ(ReadAll(other.job, early.get()).batches, 12);
}

TEST(ReaderFaults, AWorkerWithoutACommonProtocolIsNamedWithItsRelease) {
  FakeCluster cluster(1);
  cluster.workers[0]->Behave({.old_release = true, .accepts_only = true});
  auto reader = cluster.Open(cluster.options());
  ASSERT_NE(reader, nullptr);
  const absl::Status status = reader->Next(absl::Seconds(20)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_NE(std::string(status.message()).find("is penstock 0.2 or older, which sends no protocol numbers"),
            std::string::npos)
      << status;
}

TEST(ReaderFaults, AJoinedWorkerServesRows) {
  FakeCluster cluster(2);
  cluster.coordinator.SetView({cluster.workers[0]->view()});
  auto reader = cluster.Open(cluster.options(0));
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(ReadAll(cluster.job, reader.get(), 0, 1, nullptr, 10).batches, 10);
  EXPECT_EQ(cluster.workers[1]->rows_sent(), 0u);
  cluster.coordinator.SetView(cluster.Views());
  do {
    ASSERT_EQ(ReadAll(cluster.job, reader.get(), 0, 1, nullptr, 1).batches, 1);
  } while (cluster.workers[1]->rows_sent() == 0);
  EXPECT_EQ(reader->Stats().broken_streams, 0u);
}

TEST(ReaderFaults, TheStreamOfADrainedWorkerClosesWhenItOwesNoRow) {
  FakeCluster cluster(2);
  auto reader = cluster.Open(cluster.options(0));
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(ReadAll(cluster.job, reader.get(), 0, 1, nullptr, 10).batches, 10);
  cluster.coordinator.SetView({cluster.workers[0]->view()});
  cluster.workers[1]->Drain();
  do {
    ASSERT_EQ(ReadAll(cluster.job, reader.get(), 0, 1, nullptr, 1).batches, 1);
  } while (cluster.workers[1]->open_streams() > 0);
  EXPECT_EQ(reader->Stats().broken_streams, 0u);
}

TEST(ReaderFaults, AForgottenSessionIsOpenedAgain) {
  FakeCluster cluster(1);
  auto reader = cluster.Open(cluster.options(0));
  ASSERT_NE(reader, nullptr);
  EXPECT_TRUE(reader->Next(absl::Seconds(20)).ok());
  cluster.coordinator.ForgetSessions();
  cluster.coordinator.WaitForOpened(2);
  EXPECT_EQ(cluster.coordinator.opened()[1].resumes(), "session-1");
  EXPECT_EQ(cluster.coordinator.opened()[1].position(), 8u);
  EXPECT_TRUE(reader->Next(absl::Seconds(20)).ok());
}

TEST(ReaderFaults, AReplacedOrCancelledJobEndsTheReader) {
  FakeCluster cluster(1);
  auto reader = cluster.Open(cluster.options(0));
  ASSERT_NE(reader, nullptr);
  v1::Job job = cluster.coordinator.job();
  job.set_uid(99);
  cluster.coordinator.SetJob(job);
  cluster.workers[0]->Behave({.silent = true});
  ReadEnd result;
  do {
    result = ReadAll(cluster.job, reader.get(), 0, 1, nullptr, 1);
  } while (result.status.ok());
  EXPECT_EQ(result.status.code(), absl::StatusCode::kFailedPrecondition) << result.status;
  EXPECT_NE(std::string(result.status.message()).find("replaced"), std::string::npos);
}

}  // namespace
}  // namespace penstock::client
