// The loader under memory pressure: slow trainers, several sessions, large images.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "pipeline/loader/loader.h"
#include "tests/pipeline/loader/loader_testing.h"

namespace penstock::loader {
namespace {

constexpr uint64_t kBudget = 64'000;  // 60,000 of it for rows with any number of threads
constexpr int64_t kBudgetRowBytes = 1000;
constexpr size_t kBudgetRecordBytes = 100;

std::unique_ptr<Loader> MakeBudgetLoader(int threads, uint64_t budget = kBudget) {
  LoaderOptions options;
  options.threads = threads;
  options.memory_budget_bytes = budget;
  auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  return *std::move(loader);
}

LoaderSessionOptions BudgetSteps(uint32_t rows) {
  LoaderSessionOptions options;
  options.largest_step_rows = rows;
  return options;
}

TEST(LoaderBudget, MemoryStaysWithinTheBudgetWithASlowTrainer) {
  MemoryJob job = MakeMemoryJob(400, kBudgetRecordBytes, kBudgetRowBytes);
  auto loader = MakeBudgetLoader(4);
  HoldingSink sink;
  auto session = loader->OpenSession(job.job, BudgetSteps(10), &sink);
  ASSERT_TRUE(session.ok()) << session.status();
  (*session)->Request(RowsOf(0, 400, 10));
  sink.WaitFor(40);
  for (uint64_t step = 0; step < 40; ++step) {
    (*session)->SetHead(step);
    const std::vector<RowResult> rows = sink.TakeStep(step, 10);
    for (const RowResult& row : rows) EXPECT_TRUE(row.status.ok()) << row.status;
    EXPECT_LE(loader->Stats().memory_bytes, kBudget);
  }
  EXPECT_LE(loader->Stats().memory_peak_bytes, kBudget);
  EXPECT_EQ(loader->Stats().rows, 400u);
}

TEST(LoaderBudget, TheHeadStepsOfASecondSessionProgressWhileTheFirstHoldsAllMemory) {
  MemoryJob job = MakeMemoryJob(400, kBudgetRecordBytes, kBudgetRowBytes);
  auto loader = MakeBudgetLoader(2);
  HoldingSink slow, quick;
  auto first = loader->OpenSession(job.job, BudgetSteps(10), &slow);
  ASSERT_TRUE(first.ok());
  slow.session = first->get();
  (*first)->Request(RowsOf(0, 400, 10));
  slow.WaitFor(55);  // all rows that fit

  auto second = loader->OpenSession(job.job, BudgetSteps(10), &quick);
  ASSERT_TRUE(second.ok()) << second.status();
  quick.session = second->get();
  (*second)->Request(RowsOf(0, 200, 10));
  for (uint64_t step = 0; step < 20; ++step) {
    (*second)->SetHead(step);
    EXPECT_EQ(quick.TakeStep(step, 10).size(), 10u);
  }
  EXPECT_GT(slow.revocations(), 0);
  // The loader makes revoked rows again: the slow trainer gets every row.
  for (uint64_t step = 0; step < 40; ++step) {
    slow.KeepUpTo(step);
    (*first)->SetHead(step);
    EXPECT_EQ(slow.TakeStep(step, 10).size(), 10u);
  }
  EXPECT_LE(loader->Stats().memory_peak_bytes, kBudget);
}

// Keeps requesting rows while its session closes.
class AskingSink final : public RowSink {
 public:
  void OnRow(RowResult row) override {
    MutexLock lock(&mutex_);
    rows_.push_back(std::move(row));
    changed_.NotifyAll();
  }
  size_t Revoke(size_t, bool) override {
    std::vector<RowResult> dropped;
    {
      MutexLock lock(&mutex_);
      dropped.swap(rows_);
      revoked_ = true;
      changed_.NotifyAll();
      while (!closes_) changed_.Wait(&mutex_);
    }
    size_t freed = 0;
    for (const RowResult& row : dropped) freed += row.bytes->bytes();
    for (int i = 0; i < 20'000; ++i) session->Request(RowsOf(0, 1, 10));
    return freed;
  }
  void WaitFor(size_t rows) {
    MutexLock lock(&mutex_);
    while (rows_.size() < rows) changed_.Wait(&mutex_);
  }
  void WaitUntilRevoked() {
    MutexLock lock(&mutex_);
    while (!revoked_) changed_.Wait(&mutex_);
  }
  void LetGo() {
    MutexLock lock(&mutex_);
    closes_ = true;
    changed_.NotifyAll();
  }

  Loader::Session* session = nullptr;

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<RowResult> rows_ ABSL_GUARDED_BY(mutex_);
  bool revoked_ ABSL_GUARDED_BY(mutex_) = false, closes_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST(LoaderBudget, ASinkMayRequestRowsWhileItsSessionCloses) {
  MemoryJob job = MakeMemoryJob(400, kBudgetRecordBytes, kBudgetRowBytes);
  auto loader = MakeBudgetLoader(2);
  AskingSink sink;
  auto session = loader->OpenSession(job.job, BudgetSteps(10), &sink);
  ASSERT_TRUE(session.ok());
  sink.session = session->get();
  (*session)->Request(RowsOf(100, 400, 10));
  sink.WaitFor(55);
  std::vector<RowRequest> late = RowsOf(0, 10, 10);
  for (RowRequest& row : late) row.urgent = true;
  (*session)->Request(late);
  sink.WaitUntilRevoked();
  sink.LetGo();
  std::promise<void> quiet;
  (*session)->Close([&quiet] { quiet.set_value(); });
  quiet.get_future().wait();
}

TEST(LoaderBudget, AHeadStepRevokesLaterRowsOfItsOwnSession) {
  MemoryJob job = MakeMemoryJob(400, kBudgetRecordBytes, kBudgetRowBytes);
  auto loader = MakeBudgetLoader(2);
  HoldingSink sink;
  auto session = loader->OpenSession(job.job, BudgetSteps(10), &sink);
  ASSERT_TRUE(session.ok());
  sink.session = session->get();
  (*session)->Request(RowsOf(100, 400, 10));
  sink.WaitFor(55);
  // A late fetch: its step precedes every prepared step.
  std::vector<RowRequest> fetched = RowsOf(0, 10, 10);
  for (RowRequest& row : fetched) row.urgent = true;
  (*session)->Request(fetched);
  EXPECT_EQ(sink.TakeStep(0, 10).size(), 10u);
  EXPECT_GT(sink.revocations(), 0);
  EXPECT_LE(loader->Stats().memory_peak_bytes, kBudget);
}

TEST(LoaderBudget, ARowThatCanNeverFitFailsWithItsSizeAndTheBudgetUnderEveryPolicy) {
  for (const v1::ErrorPolicy policy : {v1::FAIL, v1::SUBSTITUTE, v1::MASK}) {
    MemoryJob job = MakeMemoryJob(20, kBudgetRecordBytes, kBudgetRowBytes, policy);
    job.pipeline->scratch = [](uint64_t record) -> uint64_t { return record == 7 ? 1'000'000 : 0; };
    auto loader = MakeBudgetLoader(2);
    HoldingSink sink;
    auto session = loader->OpenSession(job.job, BudgetSteps(10), &sink);
    ASSERT_TRUE(session.ok());
    (*session)->Request(RowsOf(0, 20, 20));
    for (const RowResult& row : sink.TakeStep(0, 20)) {
      if (row.record_id != 7) {
        EXPECT_TRUE(row.status.ok()) << row.status;
        continue;
      }
      EXPECT_EQ(row.status.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_NE(row.status.message().find("record 7"), absl::string_view::npos) << row.status;
      EXPECT_NE(row.status.message().find("64000"), absl::string_view::npos) << row.status;
      EXPECT_NE(row.status.message().find("memory_budget_bytes"), absl::string_view::npos) << row.status;
    }
  }
}

TEST(LoaderBudget, LargeRowsTakeTurnsAndNeverDeadlock) {
  MemoryJob job = MakeMemoryJob(200, kBudgetRecordBytes, kBudgetRowBytes);
  // Two of the large rows do not fit together.
  job.pipeline->scratch = [](uint64_t record) -> uint64_t { return record % 3 == 0 ? 35'000 : 0; };
  auto loader = MakeBudgetLoader(4);
  HoldingSink sink;
  auto session = loader->OpenSession(job.job, BudgetSteps(10), &sink);
  ASSERT_TRUE(session.ok());
  sink.session = session->get();
  (*session)->Request(RowsOf(0, 200, 10));
  for (uint64_t step = 0; step < 20; ++step) {
    sink.KeepUpTo(step);
    (*session)->SetHead(step);
    for (const RowResult& row : sink.TakeStep(step, 10)) EXPECT_TRUE(row.status.ok()) << row.status;
  }
  EXPECT_LE(loader->Stats().memory_peak_bytes, kBudget);
}

TEST(LoaderBudget, ASessionWhoseLargestStepDoesNotFitIsRejectedWithTheNumbers) {
  MemoryJob job = MakeMemoryJob(400, kBudgetRecordBytes, kBudgetRowBytes);
  auto loader = MakeBudgetLoader(1);
  HoldingSink sink;
  const auto refused = loader->OpenSession(job.job, BudgetSteps(60), &sink);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(refused.status().message().find("60000"), absl::string_view::npos) << refused.status();
  auto first = loader->OpenSession(job.job, BudgetSteps(40), &sink);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(loader->OpenSession(job.job, BudgetSteps(40), &sink).ok());
  first->reset();  // releases its reserve
  EXPECT_TRUE(loader->OpenSession(job.job, BudgetSteps(40), &sink).ok());
}

TEST(LoaderBudget, RowsReleaseTheirBytesEvenAfterTheirSessionAndLoader) {
  MemoryJob job = MakeMemoryJob(20, kBudgetRecordBytes, kBudgetRowBytes);
  auto loader = MakeBudgetLoader(2);
  HoldingSink sink;
  auto session = loader->OpenSession(job.job, BudgetSteps(20), &sink);
  ASSERT_TRUE(session.ok());
  (*session)->Request(RowsOf(0, 20, 10));
  std::vector<RowResult> kept = sink.TakeStep(0, 10);
  sink.WaitFor(10);
  session->reset();
  const uint64_t held = loader->Stats().memory_bytes;
  sink.Clear();
  EXPECT_EQ(loader->Stats().memory_bytes, held - 10 * kBudgetRowBytes);
  loader.reset();
  kept.clear();
}

TEST(LoaderBudget, CachesThatLeaveNoRoomAreRejectedWithTheNumbers) {
  LoaderOptions options;
  options.threads = 2;
  options.memory_budget_bytes = 1000;
  options.record_cache_bytes = 600;
  options.decoded_cache_bytes = 400;
  const auto loader = Loader::Create(options);
  EXPECT_EQ(loader.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(loader.status().message().find("record_cache_bytes 600"), absl::string_view::npos) << loader.status();
}

}  // namespace
}  // namespace penstock::loader
