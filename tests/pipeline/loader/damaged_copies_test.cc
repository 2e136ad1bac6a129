// If a read returns wrong bytes of a record, the row uses a later, correct read. Only a decision marks a record as bad.
#include "pipeline/loader/damaged_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/runtime/sim_scheduler.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/row_maker.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/indexes_from.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/pipeline/loader/local_behind.h"
#include "tests/pipeline/loader/slow_reads_testing.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

using testing::HasSubstr;

// Local files. Some reads flip a bit on the way, each in another place or all in the same place.
class FlippingStorage final : public LocalBehind {
 public:
  bool HasLowLatency(const std::string& name) const override { return low_latency; }
  void Open(const std::string& name, const storage::CallOptions& options,
            storage::CallDone<std::unique_ptr<storage::StoredFile>> done) override {
    storage::LocalFiles()->Open(name, options, [this, done = std::move(done)](auto file) mutable {
      if (!file.ok()) return std::move(done)(file.status());
      std::move(done)(std::make_unique<File>(this, *std::move(file)));
    });
  }

  bool low_latency = true;
  bool same_place = false;
  std::atomic<int> cached{0};      // cached reads left that flip a bit
  std::atomic<int> uncached{0};    // uncached reads left that flip a bit
  std::atomic<int> reads{0};       // cached reads so far
  std::atomic<int> reads_past{0};  // uncached reads so far

 private:
  class File final : public LocalFileBehind {
   public:
    File(FlippingStorage* storage, std::unique_ptr<storage::StoredFile> file)
        : LocalFileBehind(std::move(file)), storage_(storage) {}
    absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
      storage_->reads.fetch_add(1);
      return Flip(file_->ReadAt(offset, length, out), &storage_->cached, out);
    }
    absl::StatusOr<size_t> ReadAtPastCaches(uint64_t offset, size_t length, char* out) const override {
      storage_->reads_past.fetch_add(1);
      return Flip(file_->ReadAtPastCaches(offset, length, out), &storage_->uncached, out);
    }
    void Read(uint64_t offset, size_t length, char* out, const storage::CallOptions& options,
              storage::CallDone<size_t> done) const override {
      std::move(done)(ReadAt(offset, length, out));
    }

   private:
    absl::StatusOr<size_t> Flip(absl::StatusOr<size_t> got, std::atomic<int>* left, char* out) const {
      const int before = left->load() > 0 ? left->fetch_sub(1) : 0;
      if (got.ok() && *got > 0 && before > 0) {
        // Byte 12 is the first data byte of a record, or near the start of a compressed stream: there it damages every
        // record that is inflated after it.
        out[storage_->same_place ? std::min<size_t>(12, *got - 1) : before * 7 % *got] ^= 0x10;
      }
      return got;
    }
    FlippingStorage* const storage_;
  };
};

class DamagedCopiesTest : public ::testing::Test {
 protected:
  void Make(v1::ErrorPolicy policy, sources::Compression compression = sources::Compression::kNone) {
    set_ =
        support::MakeNumberDataset({.shards = 1, .records_per_shard = 20, .compression = compression}, folder_.path());
    set_.job.mutable_errors()->set_policy(policy);
    set_.job.mutable_errors()->set_max_bad_fraction(1);
  }
  std::shared_ptr<const LoadJob> Job(DamageVerdict verdict = DamageVerdict::kOwn,
                                     storage::Storage* storage = storage::LocalFiles()) {
    const auto frozen = OpenDataset(storage::LocalFiles(), set_.job, set_.roots, std::nullopt, 1);
    PS_CHECK(frozen.ok());
    if (!snapshot_.has_value()) snapshot_ = (*frozen)->snapshot();
    DatasetReader::Options options;
    options.executor = &sim_;
    options.log_damage = [this](const std::string& line) { log_.push_back(line); };
    auto reader = DatasetReader::Create(
        storage, *snapshot_, set_.roots,
        IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state_.path()), sources::IndexOptions()),
        options);
    PS_CHECK(reader.ok());
    return LoadJob::Create(set_.job, *reader, verdict).value();
  }
  // All rows of the first epoch, by record.
  std::map<uint64_t, RowResult> Rows(const std::shared_ptr<const LoadJob>& job, LoaderOptions options = {},
                                     std::shared_ptr<const DecidedRecords> decided = nullptr) {
    options.threads = 1;
    options.memory_budget_bytes = 16 << 20;
    options.small_records_bytes = 0;  // each record has a read of its own
    options.executor = &sim_;
    options.clock = sim_.clock();
    auto loader = Loader::Create(options).value();
    return RowsBy(loader.get(), job, std::move(decided));
  }
  std::map<uint64_t, RowResult> RowsBy(Loader* loader, const std::shared_ptr<const LoadJob>& job,
                                       std::shared_ptr<const DecidedRecords> decided = nullptr) {
    HoldingSink sink;
    LoaderSessionOptions options;
    options.largest_step_rows = set_.records;
    options.decided = std::move(decided);
    auto session = loader->OpenSession(job, options, &sink).value();
    session->Request(RowsOf(0, set_.records, set_.records));
    sim_.RunAll();
    std::map<uint64_t, RowResult> rows;
    for (RowResult& row : sink.TakeStep(0, set_.records)) {
      row.bytes.reset();
      rows[row.record_id] = std::move(row);
    }
    return rows;
  }
  static int Masked(const std::map<uint64_t, RowResult>& rows) {
    return static_cast<int>(std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.second.masked; }));
  }
  static absl::Status FirstError(const std::map<uint64_t, RowResult>& rows) {
    for (const auto& [record, row] : rows) {
      if (!row.status.ok()) return row.status;
    }
    return absl::OkStatus();
  }

  SimScheduler sim_{1};
  support::TempFolder folder_, state_;
  support::TestDataset set_;
  std::optional<sources::Snapshot> snapshot_;
  FlippingStorage flipping_;
  std::vector<std::string> log_;
};

TEST_F(DamagedCopiesTest, UsesACorrectReadPastCaches) {
  for (const bool low_latency : {true, false}) {
    for (const sources::Compression compression : {sources::Compression::kNone, sources::Compression::kGzip}) {
      SCOPED_TRACE(testing::Message() << (low_latency ? "near, " : "far, ") << "compression "
                                      << static_cast<int>(compression));
      Make(v1::MASK, compression);
      snapshot_.reset();
      const auto job = Job(DamageVerdict::kOwn, &flipping_);
      flipping_.low_latency = low_latency;
      flipping_.reads_past = 0;
      (void)Rows(job);  // opens the files
      flipping_.same_place = true;
      flipping_.cached = 1;
      const auto rows = Rows(job);
      EXPECT_TRUE(FirstError(rows).ok()) << FirstError(rows);
      EXPECT_EQ(Masked(rows), 0);
      EXPECT_EQ(flipping_.cached.load(), 0);
      EXPECT_GT(flipping_.reads_past.load(), 0);
      EXPECT_TRUE(job->reader().DamageLines(8).empty());
    }
  }
}

TEST_F(DamagedCopiesTest, AReadPastCachesIsARemoteRequestOnlyOnRemoteStorage) {
  for (const bool low_latency : {true, false}) {
    Make(v1::MASK);
    snapshot_.reset();
    flipping_.low_latency = low_latency;
    const auto job = Job(DamageVerdict::kOwn, &flipping_);
    (void)Rows(job);  // opens the files
    flipping_.same_place = true;
    flipping_.cached = 1;
    flipping_.reads_past = 0;
    LoaderOptions options;
    options.threads = 1;
    options.small_records_bytes = 0;
    options.executor = &sim_;
    options.clock = sim_.clock();
    const auto loader = Loader::Create(options).value();
    (void)RowsBy(loader.get(), job);
    EXPECT_GT(flipping_.reads_past.load(), 0);
    EXPECT_EQ(loader->Stats().remote_requests > 0, !low_latency);
  }
}

TEST_F(DamagedCopiesTest, DifferentWrongReadsAreRetriedAsAStorageFault) {
  Make(v1::MASK);
  const auto job = Job(DamageVerdict::kOwn, &flipping_);
  (void)Rows(job);
  flipping_.cached = 1;
  flipping_.uncached = 1;
  const auto rows = Rows(job);
  EXPECT_TRUE(FirstError(rows).ok()) << FirstError(rows);
  EXPECT_EQ(Masked(rows), 0);
  EXPECT_EQ(flipping_.uncached.load(), 0);
}

TEST_F(DamagedCopiesTest, ThreeEqualWrongReadsDecideARecordUntilTheJobIsReleased) {
  Make(v1::MASK);
  (void)Job();
  support::BreakRecord(set_.files[0], 7);
  const auto job = Job();
  auto rows = Rows(job);
  EXPECT_EQ(Masked(rows), 1);
  EXPECT_TRUE(rows[7].masked);
  EXPECT_EQ(FaultOf(rows[7].fault), Fault::kWrongCrc);
  EXPECT_THAT(log_, testing::ElementsAre(HasSubstr("record 7 at offset")));
  support::BreakRecord(set_.files[0], 7);  // repairs the file: flips the same bit back
  EXPECT_EQ(Masked(Rows(job)), 1) << "an epoch must not depend on when a file is repaired";
  EXPECT_EQ(Masked(Rows(Job())), 0);
}

TEST_F(DamagedCopiesTest, AKnownDamagedCopyIsNotReadForEachRow) {
  for (const bool low_latency : {true, false}) {
    Make(v1::FAIL);
    snapshot_.reset();
    (void)Job(DamageVerdict::kGiven);
    support::BreakRecord(set_.files[0], 7);
    flipping_.low_latency = low_latency;
    const auto job = Job(DamageVerdict::kGiven, &flipping_);
    LoaderOptions options;
    options.ranges_under_way = 0;
    ASSERT_TRUE(Rows(job, options)[7].damaged_record.has_value());
    const int reads = flipping_.reads.load(), reads_past = flipping_.reads_past.load();
    auto rows = Rows(job, options);
    EXPECT_TRUE(rows[7].damaged_record.has_value());
    EXPECT_EQ(flipping_.reads - reads, 19) << "one read for each other record; low latency: " << low_latency;
    EXPECT_EQ(flipping_.reads_past, reads_past);
  }
}

TEST_F(DamagedCopiesTest, ADamagedCopyFailsItsRowUnderEachPolicyUntilTheRecordIsDecided) {
  for (const v1::ErrorPolicy policy : {v1::FAIL, v1::SUBSTITUTE, v1::MASK}) {
    Make(policy);
    snapshot_.reset();
    const auto intact = Job(DamageVerdict::kGiven);
    support::BreakRecord(set_.files[0], 7);
    const auto job = Job(DamageVerdict::kGiven);
    auto rows = Rows(job);
    ASSERT_TRUE(rows[7].damaged_record.has_value()) << rows[7].status;
    EXPECT_EQ(*rows[7].damaged_record, 7u);
    EXPECT_TRUE(absl::IsDataLoss(rows[7].status));
    EXPECT_THAT(std::string(rows[7].status.message()), HasSubstr("record 7 at offset"));
    EXPECT_TRUE(rows[7].fault.ok()) << "a damaged copy is not a bad record";
    for (const auto& [record, row] : rows) EXPECT_TRUE(record == 7 || row.status.ok()) << row.status;
    EXPECT_THAT(job->reader().DamageLines(8), testing::ElementsAre(HasSubstr("the copy of 1 record is damaged")));

    job->decided()->Add(std::vector<uint64_t>{7});
    rows = Rows(job);
    EXPECT_FALSE(rows[7].damaged_record.has_value());
    EXPECT_EQ(FaultOf(policy == v1::FAIL ? rows[7].status : rows[7].fault), Fault::kWrongCrc);
    EXPECT_EQ(rows[7].masked, policy == v1::MASK);
    EXPECT_EQ(rows[7].substituted, policy == v1::SUBSTITUTE);
  }
}

TEST_F(DamagedCopiesTest, ADecisionAppliesToIntactCopiesAndCachedRows) {
  Make(v1::MASK);
  const auto job = Job(DamageVerdict::kGiven);
  LoaderOptions options = OptionsIn(&sim_);
  options.threads = 1;
  options.memory_budget_bytes = 16 << 20;
  options.record_cache_bytes = 1 << 20;
  options.row_cache_bytes = 1 << 20;
  const auto loader = Loader::Create(options).value();
  EXPECT_EQ(Masked(RowsBy(loader.get(), job)), 0);
  const auto of_session = std::make_shared<DecidedRecords>(job->decided());
  of_session->Add(std::vector<uint64_t>{3});
  const auto rows = RowsBy(loader.get(), job, of_session);
  EXPECT_EQ(Masked(rows), 1);
  EXPECT_TRUE(rows.at(3).masked);
  EXPECT_EQ(Masked(RowsBy(loader.get(), job)), 0)
      << "a decision that the coordinator did not store does not bind another session";
  job->decided()->Add(std::vector<uint64_t>{5});
  EXPECT_EQ(Masked(RowsBy(loader.get(), job)), 1);
  EXPECT_EQ(Masked(RowsBy(loader.get(), job, of_session)), 2);
}

TEST_F(DamagedCopiesTest, ASubstituteWithADamagedCopyIsNotSkipped) {
  Make(v1::SUBSTITUTE);
  (void)Job();
  const uint64_t stand_in = SubstitutesOf(*snapshot_, SampleKey{set_.job.order().seed(), 0, 0, 7}, 7)[0];
  support::BreakRecord(set_.files[0], stand_in);
  const auto job = Job(DamageVerdict::kGiven);
  job->decided()->Add(std::vector<uint64_t>{7});
  auto rows = Rows(job);
  ASSERT_TRUE(rows[7].damaged_record.has_value()) << "another worker may have an intact copy of the substitute";
  EXPECT_EQ(*rows[7].damaged_record, stand_in);
  job->decided()->Add(std::vector<uint64_t>{stand_in});
  rows = Rows(job);
  EXPECT_TRUE(rows[7].substituted);
  EXPECT_EQ(rows[7].source_record, SubstitutesOf(*snapshot_, SampleKey{set_.job.order().seed(), 0, 0, 7}, 7)[1]);
}

TEST_F(DamagedCopiesTest, ADamagedCopyIsRememberedUntilItsFileChanges) {
  Make(v1::MASK);
  const auto whole = Job();
  support::BreakRecord(set_.files[0], 7);
  const auto job = Job(DamageVerdict::kGiven, &flipping_);
  EXPECT_TRUE(Rows(job)[7].damaged_record.has_value());
  const int reads = flipping_.reads_past.load();
  EXPECT_EQ(reads, 2);
  EXPECT_TRUE(Rows(job)[7].damaged_record.has_value());
  EXPECT_EQ(flipping_.reads_past.load(), reads);

  // Replaces the file under its name. The open file is still the damaged one.
  const std::string copy = absl::StrCat(set_.files[0], ".new");
  std::filesystem::copy_file(set_.files[0], copy);
  support::BreakRecord(copy, 7);
  std::filesystem::last_write_time(copy, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  std::filesystem::rename(copy, set_.files[0]);
  sim_.RunFor(DamagedCopies::kTrustedFor - 1);
  EXPECT_TRUE(Rows(job)[7].damaged_record.has_value());
  sim_.RunFor(1);
  EXPECT_FALSE(Rows(job)[7].damaged_record.has_value());
  EXPECT_TRUE(job->reader().DamageLines(8).empty());
  EXPECT_THAT(log_.back(), HasSubstr("has changed"));
}

}  // namespace
}  // namespace penstock::loader
