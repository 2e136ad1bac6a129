#include "pipeline/loader/local_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tests/pipeline/loader/loaded_rows.h"
#include "tests/support/plain_rows.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::shared_ptr<const LoadJob> JobOf(const support::TestDataset& set) {
  auto job = support::OpenJob(set.job, set.roots);
  PS_CHECK(job.ok());
  return *std::move(job);
}

LoaderOptions Threads(int threads) {
  LoaderOptions options;
  options.threads = threads;
  options.memory_budget_bytes = 16 << 20;
  return options;
}

absl::StatusOr<std::vector<support::PlainStep>> Load(const support::TestDataset& set, const LoaderOptions& options,
                                                     const LocalStepsOptions& steps = {}) {
  const auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  const auto loaded = LoadedSteps(loader->get(), JobOf(set), steps);
  EXPECT_LE((*loader)->Stats().memory_peak_bytes, options.memory_budget_bytes);
  return loaded;
}

// Whether the loader makes the rows of the plain loop.
void ExpectPlainRows(const support::TestDataset& set, const LoaderOptions& options,
                     const support::PlainRead& read = {}) {
  const auto loaded =
      Load(set, options,
           {.world_size = read.world_size, .read = {.rank = read.rank, .start = read.start, .epochs = read.epochs}});
  const auto plain = support::PlainSteps(*JobOf(set), read);
  ASSERT_TRUE(plain.ok()) << plain.status();
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_FALSE(plain->empty());
  EXPECT_TRUE(*loaded == *plain) << options.threads << " threads";
}

support::ImageDatasetOptions SmallImages() {
  support::ImageDatasetOptions options;
  options.shards = 3;
  options.records_per_shard = 11;
  options.width = 48;
  options.height = 40;
  options.crop = 16;
  return options;
}

TEST(LocalSteps, GivesTheRowsOfAPlainLoopWithAnyNumberOfThreads) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeImageDataset(SmallImages(), folder.path());
  for (const int threads : {1, 2, 5}) ExpectPlainRows(set, Threads(threads), {.epochs = 2});
}

TEST(LocalSteps, CachesColdWarmOrFullGiveTheSameRows) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeImageDataset(SmallImages(), folder.path());
  for (const uint64_t records : {0, 30'000, 4'000'000}) {
    for (const uint64_t decoded : {0, 60'000, 4'000'000}) {
      LoaderOptions options = Threads(2);
      options.record_cache_bytes = records;
      options.decoded_cache_bytes = decoded;
      ExpectPlainRows(set, options, {.epochs = 3});
    }
  }
}

TEST(LocalSteps, ReadsNumbersStringsAndRaggedColumnsOfCompressedShards) {
  for (const sources::Compression compression :
       {sources::Compression::kNone, sources::Compression::kGzip, sources::Compression::kZlib}) {
    support::TempFolder folder;
    support::NumberDatasetOptions numbers;
    numbers.compression = compression;
    const support::TestDataset set = support::MakeNumberDataset(numbers, folder.path());
    ExpectPlainRows(set, Threads(3), {.epochs = 2});
    // Each epoch has every id once, and the id column is the record of the plan.
    const auto loaded = Load(set, Threads(3), {.read = {.epochs = 2}});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    std::map<uint64_t, std::set<int64_t>> seen;
    for (const support::PlainStep& step : *loaded) {
      for (const support::PlainRow& row : step.rows) {
        int64_t value;
        std::memcpy(&value, row.columns[0].bytes.data(), sizeof(value));
        EXPECT_EQ(static_cast<uint64_t>(value), row.id.shard * 50 + row.id.record);
        EXPECT_TRUE(seen[step.span.epoch].insert(value).second);
      }
    }
    EXPECT_EQ(seen[0].size(), 200u);
    EXPECT_EQ(seen[1].size(), 200u);
  }
}

TEST(LocalSteps, BoxesAreTheSameWithAnyThreadsAndCaches) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeDetectionDataset(folder.path());
  for (const int threads : {1, 3}) ExpectPlainRows(set, Threads(threads), {.epochs = 2});
  LoaderOptions cached = Threads(2);
  cached.record_cache_bytes = cached.decoded_cache_bytes = 4'000'000;
  ExpectPlainRows(set, cached, {.epochs = 2});
}

TEST(LocalSteps, RanksTogetherGiveTheRowsOfOneRankStepByStep) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  auto whole = support::PlainSteps(*JobOf(set));
  ASSERT_TRUE(whole.ok()) << whole.status();
  std::vector<support::PlainStep> together(whole->size());
  for (uint64_t rank = 0; rank < 4; ++rank) {
    const auto part = Load(set, Threads(1), {.world_size = 4, .read = {.rank = rank}});
    ASSERT_TRUE(part.ok()) << part.status();
    ASSERT_EQ(part->size(), whole->size());
    for (size_t step = 0; step < part->size(); ++step) {
      const std::vector<support::PlainRow>& rows = (*part)[step].rows;
      together[step].span = (*part)[step].span;
      together[step].rows.insert(together[step].rows.end(), rows.begin(), rows.end());
    }
  }
  EXPECT_TRUE(together == *whole);
}

TEST(LocalSteps, StartsAnywhereAndContinuesOverEpochEnds) {
  support::TempFolder folder;
  ExpectPlainRows(support::MakeNumberDataset({}, folder.path()), Threads(2), {.start = {0, 8 * 7}, .epochs = 2});
}

TEST(LocalSteps, PaddingRepeatsTheEpochsStartAndIsNotValid) {
  support::TempFolder folder;
  support::NumberDatasetOptions numbers;
  numbers.shards = 1;
  numbers.records_per_shard = 13;
  support::TestDataset set = support::MakeNumberDataset(numbers, folder.path());
  set.job.mutable_batch()->set_last(v1::PAD);
  ExpectPlainRows(set, Threads(2));
  const auto padded = Load(set, Threads(2));
  ASSERT_TRUE(padded.ok()) << padded.status();
  ASSERT_EQ(padded->size(), 2u);
  const support::PlainStep& last = (*padded)[1];
  ASSERT_EQ(last.rows.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(last.rows[i].valid, i < 5);
  EXPECT_EQ(last.rows[5].id, (*padded)[0].rows[0].id);

  set.job.mutable_batch()->set_last(v1::PARTIAL);
  const auto partial = Load(set, Threads(2), {.read = {.epochs = 2}});
  ASSERT_TRUE(partial.ok()) << partial.status();
  ASSERT_EQ(partial->size(), 4u);
  EXPECT_EQ((*partial)[1].rows.size(), 5u);
  EXPECT_EQ((*partial)[2].rows.size(), 8u);
}

TEST(LocalSteps, ABrokenRecordFollowsTheJobsPolicy) {
  support::TempFolder folder;
  support::TestDataset set = support::MakeImageDataset(SmallImages(), folder.path());
  support::BreakRecord(set.files[1], 4);
  const absl::Status failure = Load(set, Threads(2)).status();
  EXPECT_EQ(failure.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(failure.message()), AllOf(HasSubstr("data-00001"), HasSubstr("record 4")));

  for (const v1::ErrorPolicy policy : {v1::SUBSTITUTE, v1::MASK}) {
    set.job.mutable_errors()->set_policy(policy);
    set.job.mutable_batch()->set_last(v1::PARTIAL);
    const auto result = Load(set, Threads(1));
    ASSERT_TRUE(result.ok()) << result.status();
    int found = 0, rows = 0;
    for (const support::PlainStep& step : *result) {
      for (const support::PlainRow& row : step.rows) {
        ++rows;
        const bool broken = row.id == plan::SetLocation{0, 1, 4};
        found += broken;
        EXPECT_EQ(row.substituted, broken && policy == v1::SUBSTITUTE);
        EXPECT_EQ(row.masked, broken && policy == v1::MASK);
        EXPECT_EQ(row.valid, !row.masked);
        EXPECT_EQ(row.columns[0].bytes == std::string(row.columns[0].bytes.size(), '\0'), row.masked);
      }
    }
    EXPECT_EQ(rows, 33);
    EXPECT_EQ(found, 1);
    for (const int threads : {1, 2, 4}) ExpectPlainRows(set, Threads(threads));
    LoaderOptions cached = Threads(2);
    cached.record_cache_bytes = cached.decoded_cache_bytes = 4'000'000;
    ExpectPlainRows(set, cached);
  }
}

TEST(LocalSteps, AMaskedRowHasEmptyRaggedColumns) {
  support::TempFolder folder;
  support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  support::BreakRecord(set.files[0], 0);
  set.job.mutable_errors()->set_policy(v1::MASK);
  ExpectPlainRows(set, Threads(2));
}

TEST(LocalSteps, AFailureAppearsAtItsStepAndPersists) {
  support::TempFolder folder;
  support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  set.job.mutable_order()->set_shuffle(v1::Order::NONE);
  support::BreakRecord(set.files[0], 20);  // a record of step 2
  const auto loader = Loader::Create(Threads(2));
  ASSERT_TRUE(loader.ok()) << loader.status();
  const auto steps = LocalSteps::Open(loader->get(), JobOf(set), {});
  ASSERT_TRUE(steps.ok()) << steps.status();
  EXPECT_TRUE((*steps)->Next().ok());
  EXPECT_TRUE((*steps)->Next().ok());
  const absl::Status failure = (*steps)->Next().status();
  EXPECT_EQ(failure.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ((*steps)->Next().status(), failure);
}

TEST(LocalSteps, MistakesAreNamed) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  EXPECT_EQ(Load(set, Threads(1), {.world_size = 3}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Load(set, Threads(1), {.world_size = 2, .read = {.rank = 2}}).status().message()),
              HasSubstr("rank 2"));
}

}  // namespace
}  // namespace penstock::loader
