// A session that borrows finished rows reads them in the cache, without a copy, and gets the same rows.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "base/shared_row_files.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

using Borrow = LoaderSessionOptions::Borrow;
constexpr int64_t kBorrowedRow = 20'000;
constexpr uint64_t kBorrowedRecords = 30;

// Keeps the rows by position.
class KeepingSink final : public RowSink {
 public:
  void OnRow(RowResult row) override {
    EXPECT_TRUE(row.status.ok()) << row.status;
    MutexLock lock(&mutex_);
    const uint64_t position = row.request.position;
    rows_.insert_or_assign(position, std::move(row));
    ++count_;
    changed_.NotifyAll();
  }
  void WaitFor(size_t rows) {
    MutexLock lock(&mutex_);
    while (count_ < rows) changed_.Wait(&mutex_);
  }
  std::map<uint64_t, RowResult> Take() {
    MutexLock lock(&mutex_);
    return std::move(rows_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, RowResult> rows_ ABSL_GUARDED_BY(mutex_);
};

class BorrowedRows : public testing::Test {
 protected:
  void Open(std::shared_ptr<SharedRowFiles> files) {
    job_ = MakeMemoryJob(kBorrowedRecords, 200, kBorrowedRow);
    job_.pipeline->deterministic = true;
    LoaderOptions options;
    options.threads = 2;
    options.memory_budget_bytes = 32 << 20;
    options.row_cache_bytes = 8 << 20;
    options.shared_row_files = std::move(files);
    auto loader = Loader::Create(options);
    PS_CHECK(loader.ok());
    loader_ = *std::move(loader);
  }
  std::map<uint64_t, RowResult> Read(Borrow borrow, uint64_t epoch) {
    KeepingSink sink;
    LoaderSessionOptions options;
    options.largest_step_rows = 10;
    options.borrow = borrow;
    auto session = loader_->OpenSession(job_.job, options, &sink);
    PS_CHECK(session.ok());
    std::vector<RowRequest> rows;
    for (uint64_t p = 0; p < kBorrowedRecords; ++p) rows.push_back({.epoch = epoch, .position = p, .step = p / 10});
    (*session)->Request(rows);
    sink.WaitFor(kBorrowedRecords);
    return sink.Take();
  }
  static std::string Bytes(const RowResult& row) {
    return {reinterpret_cast<const char*>(row.fixed.get()), kBorrowedRow};
  }
  // Keyed by record, because the same position of another epoch is another record.
  static std::map<uint64_t, std::string> ByRecord(const std::map<uint64_t, RowResult>& rows) {
    std::map<uint64_t, std::string> bytes;
    for (const auto& [position, row] : rows) bytes[row.record_id] = Bytes(row);
    return bytes;
  }

  MemoryJob job_;
  std::unique_ptr<Loader> loader_;
};

TEST_F(BorrowedRows, LieInSharedFilesAndEqualTheMadeRows) {
  const auto files = std::make_shared<SharedRowFiles>();
  Open(files);
  const auto made = Read(Borrow::kNone, 0);
  const auto shared = Read(Borrow::kSharedFiles, 1);
  const auto any = Read(Borrow::kAny, 2);
  const auto copied = Read(Borrow::kNone, 3);
  for (const auto& [position, row] : shared) EXPECT_NE(files->FileOf(row.fixed.get(), kBorrowedRow), nullptr);
  for (const auto& [position, row] : any) EXPECT_NE(files->FileOf(row.fixed.get(), kBorrowedRow), nullptr);
  for (const auto& [position, row] : copied) EXPECT_EQ(files->FileOf(row.fixed.get(), kBorrowedRow), nullptr);
  EXPECT_EQ(ByRecord(shared), ByRecord(made));
  EXPECT_EQ(ByRecord(any), ByRecord(made));
  EXPECT_EQ(ByRecord(copied), ByRecord(made));
  EXPECT_EQ(loader_->Stats().row_cache.hits, 3 * kBorrowedRecords);
}

TEST_F(BorrowedRows, OnTheHeapAreLentOnlyToSessionsThatBorrowAny) {
  Open(nullptr);
  const auto made = Read(Borrow::kNone, 0);
  const auto first = Read(Borrow::kAny, 1), second = Read(Borrow::kAny, 1);
  const auto copied = Read(Borrow::kSharedFiles, 1);
  for (uint64_t p = 0; p < kBorrowedRecords; ++p) {
    EXPECT_EQ(first.at(p).fixed.get(), second.at(p).fixed.get());
    EXPECT_NE(first.at(p).fixed.get(), copied.at(p).fixed.get());
  }
  EXPECT_EQ(ByRecord(first), ByRecord(made));
  EXPECT_EQ(ByRecord(copied), ByRecord(made));
}

TEST_F(BorrowedRows, RemainValidAfterTheirJobAndLoader) {
  Open(std::make_shared<SharedRowFiles>());
  const auto made = ByRecord(Read(Borrow::kNone, 0));
  const auto shared = Read(Borrow::kSharedFiles, 1);
  job_ = MemoryJob();
  EXPECT_GT(loader_->Stats().memory_bytes, 0u) << "borrowed rows hold their bytes of the budget";
  loader_.reset();
  EXPECT_EQ(ByRecord(shared), made);
}

}  // namespace
}  // namespace penstock::loader
