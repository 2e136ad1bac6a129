// The loader requests remote records while threads make the rows before them.
#include "base/mutex.h"
#include "tests/pipeline/loader/slow_reads_testing.h"

namespace penstock::loader {
namespace {

// Accepts as many rows as Let() allows. The thread that delivers a further row blocks.
class TurnstileSink final : public RowSink {
 public:
  void OnRow(RowResult row) override {
    MutexLock lock(&mutex_);
    EXPECT_TRUE(row.status.ok()) << row.status;
    ++came_;
    changed_.NotifyAll();
    while (came_ > let_) changed_.Wait(&mutex_);
  }
  void Let(size_t rows) {
    MutexLock lock(&mutex_);
    let_ += rows;
    changed_.NotifyAll();
  }
  void WaitFor(size_t rows) {
    MutexLock lock(&mutex_);
    while (came_ < rows) changed_.Wait(&mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t came_ ABSL_GUARDED_BY(mutex_) = 0, let_ ABSL_GUARDED_BY(mutex_) = 0;
};

using ReadsAheadTest = SlowReadsTest;

TEST_F(ReadsAheadTest, RecordsOfLaterRowsAreReadWhileThreadsMakeRows) {
  Make();
  OpenFiles();
  storage_.Hold(true);
  auto loader = LoaderOf(1);
  TurnstileSink sink;
  auto session = SessionOf(loader.get(), job_, &sink);
  session->Request(RowsOf(0, 8, 8));
  storage_.WaitForReads(8);
  storage_.Let(8);
  sink.WaitFor(1);
  session->Request(RowsOf(8, 40, 8));
  sink.Let(1);
  // Eight records have arrived. The loader makes the second row. The records of six more rows are present.
  sink.WaitFor(2);
  storage_.WaitForReads(1);
  sink.Let(2);
  sink.WaitFor(4);
  EXPECT_EQ(storage_.waiting(), 32u) << "all requested records";
  storage_.Hold(false);
  sink.Let(40);
  sink.WaitFor(40);
  session.reset();
}

// Records read ahead take only the memory that the rows before them leave.
TEST_F(ReadsAheadTest, RecordsReadAheadLeaveMemoryForEarlierRows) {
  Make();
  OpenFiles();
  for (const uint64_t memory : {1200 << 10, 1400 << 10, 2 << 20}) {
    auto loader = LoaderOf(2, /*reads_under_way=*/64, memory);
    const auto rows = AllRows(job_, loader.get(), 40);
    EXPECT_EQ(rows, AllRows(job_, LoaderOf(2).get(), 40));
    EXPECT_LE(loader->Stats().memory_peak_bytes, memory);
  }
}

}  // namespace
}  // namespace penstock::loader
