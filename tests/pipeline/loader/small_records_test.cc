// Small records that are read with their neighbors: the rows are those of records read alone, with few reads, and
// within the memory that they may have.
#include "pipeline/loader/read_ahead/small_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/file.h"
#include "pipeline/loader/open_dataset.h"
#include "tests/pipeline/loader/loaded_rows.h"
#include "tests/pipeline/loader/local_behind.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

// Local files that count reads.
class CountingStorage final : public LocalBehind {
 public:
  bool HasLowLatency(const std::string& name) const override { return true; }
  void Open(const std::string& name, const storage::CallOptions& options,
            storage::CallDone<std::unique_ptr<storage::StoredFile>> done) override {
    storage::LocalFiles()->Open(name, options, [this, done = std::move(done)](auto file) mutable {
      if (!file.ok()) return std::move(done)(file.status());
      std::move(done)(std::make_unique<File>(this, *std::move(file)));
    });
  }

  std::atomic<uint64_t> reads{0}, longest{0};

 private:
  class File final : public LocalFileBehind {
   public:
    File(CountingStorage* storage, std::unique_ptr<storage::StoredFile> file)
        : LocalFileBehind(std::move(file)), storage_(storage) {}
    absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
      ++storage_->reads;
      if (length > storage_->longest) storage_->longest = length;
      return file_->ReadAt(offset, length, out);
    }
    void Read(uint64_t offset, size_t length, char* out, const storage::CallOptions& options,
              storage::CallDone<size_t> done) const override {
      std::move(done)(ReadAt(offset, length, out));
    }

   private:
    CountingStorage* const storage_;
  };
};

class SmallRecordsTest : public ::testing::Test {
 protected:
  void Make(int shards, int records) {
    set_ = support::MakeNumberDataset({.shards = shards, .records_per_shard = records}, folder_.path());
    set_.job.mutable_order()->clear_repeats();
    set_.job.mutable_order()->clear_chunk_records();
    set_.job.mutable_order()->clear_window_chunks();
    set_.job.mutable_batch()->set_size(16);
    set_.job.mutable_batch()->set_last(v1::PARTIAL);
  }
  std::shared_ptr<const LoadJob> Job() {
    auto dataset = OpenDataset(&storage_, set_.job, set_.roots, std::nullopt, 1);
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    auto job = LoadJob::Create(set_.job, *std::move(dataset));
    PS_CHECK(job.ok());
    return *job;
  }
  // Reads all rows of `epochs` epochs. `small_bytes` is the limit for small records.
  std::vector<support::PlainStep> Rows(uint64_t small_bytes, uint64_t epochs = 1, uint64_t budget = 64 << 20) {
    LoaderOptions options;
    options.threads = 2;
    options.memory_budget_bytes = budget;
    options.small_records_bytes = small_bytes;
    const auto job = Job();
    storage_.reads = storage_.longest = 0;
    const auto loader = Loader::Create(options).value();
    LocalStepsOptions steps;
    steps.read.epochs = epochs;
    auto rows = LoadedSteps(loader.get(), job, steps);
    PS_CHECK(rows.ok());
    EXPECT_LE(loader->Stats().memory_peak_bytes, budget);
    EXPECT_EQ(loader->Stats().rows_bytes, 0u) << "a closed session leaves no records in memory";
    return *std::move(rows);
  }

  support::TempFolder folder_;
  CountingStorage storage_;
  support::TestDataset set_;
};

constexpr uint64_t kEnough = 1 << 20;

TEST_F(SmallRecordsTest, RowsAreThoseOfRecordsThatAreReadAlone) {
  Make(3, 150);
  for (const auto shuffle : {v1::Order::CHUNKED, v1::Order::NONE, v1::Order::FULL}) {
    for (const uint32_t chunk : {0, 1, 10, 64, 1000}) {
      SCOPED_TRACE(absl::StrCat(v1::Order::Shuffle_Name(shuffle), ", chunks of ", chunk));
      set_.job.mutable_order()->set_shuffle(shuffle);
      set_.job.mutable_order()->set_chunk_records(chunk);
      const auto alone = Rows(0, 2);
      EXPECT_EQ(storage_.reads, 900u);
      const auto together = Rows(kEnough, 2);
      EXPECT_EQ(support::DigestOf(together), support::DigestOf(alone));
      if (shuffle != v1::Order::FULL && chunk == 0) {
        // Two makers may read the same neighbors once each.
        EXPECT_LE(storage_.reads, 2u * 2 * 3 * 4) << "3 or 4 groups of neighbors in a shard";
        EXPECT_LE(storage_.longest, SmallRecords::kMostRecords * SmallRecords::kMostBytes);
      }
      if (shuffle == v1::Order::FULL || (shuffle == v1::Order::CHUNKED && chunk == 1)) {
        EXPECT_EQ(storage_.reads, 900u) << "the order scatters neighbors";
      }
    }
  }
}

TEST_F(SmallRecordsTest, OtherContainersAndSelectionsGiveTheSameRows) {
  std::string table = "id,name\n", lines;
  for (int i = 0; i < 300; ++i) {
    absl::StrAppend(&table, i, ",\"row ", i, i % 3 == 0 ? ", with a\nline" : "", "\"\n");
    absl::StrAppend(&lines, "{\"id\": ", i, ", \"name\": \"row ", i, "\"}\n");
  }
  PS_CHECK(WriteFileAtomically(folder_.path() + "/a.csv", table).ok());
  PS_CHECK(WriteFileAtomically(folder_.path() + "/a.jsonl", lines).ok());
  Make(1, 1);
  set_.job.mutable_features()->erase(set_.job.features().begin() + 1, set_.job.features().end());
  for (const auto& [file, source] : {std::pair("a.csv", v1::Source::CSV), std::pair("a.jsonl", v1::Source::JSONL)}) {
    for (const char* filter : {"", "id % 2 == 0", "id % 30 == 0"}) {
      SCOPED_TRACE(absl::StrCat(file, " ", filter));
      v1::Dataset& dataset = *set_.job.mutable_dataset(0);
      dataset.set_files(0, file);
      dataset.set_source(source);
      dataset.clear_select();
      if (*filter != '\0') dataset.add_select()->set_filter(filter);
      const std::string alone = support::DigestOf(Rows(0));
      const uint64_t reads = storage_.reads;
      EXPECT_EQ(support::DigestOf(Rows(kEnough)), alone);
      EXPECT_LE(storage_.reads, reads);
    }
  }
}

TEST_F(SmallRecordsTest, ADamagedRecordIsBadAndItsNeighborsAreNot) {
  Make(1, 150);
  set_.job.mutable_errors()->set_policy(v1::MASK);
  set_.job.mutable_errors()->set_max_bad_fraction(1);
  Rows(0);  // makes the index
  support::BreakRecord(set_.files[0], 70);
  const auto rows = Rows(kEnough);
  size_t masked = 0, all = 0;
  for (const support::PlainStep& step : rows) {
    for (const support::PlainRow& row : step.rows) {
      ++all;
      masked += row.masked ? 1 : 0;
      EXPECT_EQ(row.masked, row.id.record == 70);
    }
  }
  EXPECT_EQ(masked, 1u);
  EXPECT_EQ(all, 150u);
  EXPECT_EQ(support::DigestOf(rows), support::DigestOf(Rows(0)));
}

TEST_F(SmallRecordsTest, LittleMemoryIsEnough) {
  Make(3, 150);
  const std::string alone = support::DigestOf(Rows(0, 2));
  for (const uint64_t small_bytes : {1, 4096, 100'000}) {
    EXPECT_EQ(support::DigestOf(Rows(small_bytes, 2)), alone) << small_bytes;
  }
  EXPECT_EQ(support::DigestOf(Rows(kEnough, 2, 6 << 20)), alone);
}

// Calls without a loader.
class SmallRecordsCalls : public SmallRecordsTest {
 protected:
  // Counts the bytes that are reserved.
  class Owner final : public BudgetLease::Owner {
   public:
    void Release(uint64_t account, uint64_t bytes) override { reserved -= bytes; }
    std::atomic<uint64_t> reserved{0};
  };

  SmallRecords Records(uint64_t most_bytes) {
    return SmallRecords(most_bytes, [this](uint64_t session, uint64_t bytes) -> std::unique_ptr<BudgetLease> {
      if (refuses_) return nullptr;
      owner_->reserved += bytes;
      return std::make_unique<BudgetLease>(owner_, session, bytes);
    });
  }

  const std::shared_ptr<Owner> owner_ = std::make_shared<Owner>();
  bool refuses_ = false;
};

TEST_F(SmallRecordsCalls, ARecordIsHereAfterANeighborWasRead) {
  Make(2, 100);
  const auto job = Job();
  SmallRecords records = Records(kEnough);
  records.OpenSession(1);
  sources::RecordBuffer buffer;
  for (const uint64_t neighbor : {3, 70, 130}) {  // three of the groups that begin at 0, 64, 100, 128 and 192
    EXPECT_FALSE(records.Take(1, *job, neighbor, &buffer).has_value());
    ASSERT_TRUE(records.Read(1, *job, neighbor, &buffer).has_value());
  }
  for (uint64_t record = 0; record < 200; ++record) {
    if (record == 3 || record == 70 || record == 130) continue;  // their rows have them
    const auto taken = records.Take(1, *job, record, &buffer);
    const bool is_read = record < 100 || (record >= 128 && record < 192);
    std::string alone;
    ASSERT_TRUE(job->reader().ReadRecord(record, &alone).ok());
    EXPECT_EQ(taken.value_or("none"), is_read ? alone : "none") << record;
  }
  EXPECT_EQ(owner_->reserved, 0u) << "neighbors whose records were all taken are gone";
}

TEST_F(SmallRecordsCalls, ReleaseAndTheEndOfASessionFreeMemory) {
  Make(1, 640);
  const auto job = Job();
  SmallRecords records = Records(kEnough);
  records.OpenSession(1);
  records.OpenSession(2);
  sources::RecordBuffer buffer;
  for (uint64_t record = 0; record < 640; record += 64) {
    ASSERT_TRUE(records.Read(1 + record / 64 % 2, *job, record, &buffer).has_value());
  }
  const uint64_t all = owner_->reserved;
  EXPECT_GT(all, 0u);
  const uint64_t freed = records.Release(1);
  EXPECT_GT(freed, 0u);
  EXPECT_EQ(owner_->reserved, all - freed);
  records.CloseSession(1);
  EXPECT_GT(owner_->reserved, 0u) << "the other session has its own";
  EXPECT_FALSE(records.Read(1, *job, 1, &buffer).has_value()) << "a closed session leaves nothing";
  records.CloseSession(2);
  EXPECT_EQ(owner_->reserved, 0u);
  refuses_ = true;
  records.OpenSession(3);
  EXPECT_FALSE(records.Read(3, *job, 1, &buffer).has_value()) << "no memory: the record is read alone";
}

TEST_F(SmallRecordsCalls, TheOldestNeighborsMakeRoom) {
  Make(1, 64 * 200);
  const auto job = Job();
  constexpr uint64_t kMost = 256 << 10;
  SmallRecords records = Records(kMost);
  records.OpenSession(1);
  sources::RecordBuffer buffer;
  for (uint64_t record = 0; record < 64 * 200; record += 64) {
    ASSERT_TRUE(records.Read(1, *job, record, &buffer).has_value());
    EXPECT_LE(owner_->reserved, kMost);
  }
  EXPECT_TRUE(records.Take(1, *job, 64 * 199 + 1, &buffer).has_value()) << "the newest are here";
  int here = 0;
  for (uint64_t record = 1; record < 64 * 200; record += 64) here += records.Take(1, *job, record, &buffer) ? 1 : 0;
  EXPECT_GT(here, 16);
  EXPECT_LT(here, 100);
  records.CloseSession(1);
}

TEST_F(SmallRecordsCalls, ASessionThatNeedsFewOfTheNeighborsReadsItsRecordsAlone) {
  // A file of numbers, each a record.
  constexpr uint64_t kGroups = 2 * SmallRecords::kTrial, kRecords = kGroups * SmallRecords::kMostRecords;
  PS_CHECK(WriteFileAtomically(folder_.path() + "/numbers.bin", std::string(2 * kRecords, 'x')).ok());
  Make(1, 1);
  set_.job.mutable_dataset(0)->set_files(0, "numbers.bin");
  set_.job.mutable_dataset(0)->set_source(v1::Source::UINT16);
  set_.job.mutable_features()->erase(set_.job.features().begin() + 1, set_.job.features().end());
  set_.job.mutable_dataset(0)->mutable_window()->set_size(1);
  set_.job.mutable_features(0)->set_key("row");
  set_.job.mutable_features(0)->set_type(v1::Feature::BYTES);
  set_.job.mutable_features(0)->set_decode_raw(v1::UINT16);
  const auto job = Job();
  SmallRecords records = Records(uint64_t{1} << 30);
  records.OpenSession(1);
  records.OpenSession(2);
  sources::RecordBuffer buffer;
  uint64_t read = 0, of_other = 0;
  for (uint64_t group = 0; group < kGroups; ++group) {
    const uint64_t first = group * SmallRecords::kMostRecords;
    read += records.Read(1, *job, first, &buffer).has_value() ? 1 : 0;
    // The other session needs all of them.
    if (!records.Take(2, *job, first + 1, &buffer).has_value()) {
      of_other += records.Read(2, *job, first + 1, &buffer).has_value() ? 1 : 0;
    }
    for (uint64_t k = 2; k < SmallRecords::kLeastTaken + 2; ++k) records.Take(2, *job, first + k, &buffer);
  }
  EXPECT_GT(read, SmallRecords::kTrial / 2);
  EXPECT_LT(read, SmallRecords::kTrial * 3 / 2);
  EXPECT_EQ(read + of_other, kGroups);
  records.CloseSession(1);
  records.CloseSession(2);
}

}  // namespace
}  // namespace penstock::loader
