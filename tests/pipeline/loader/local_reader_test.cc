#include "pipeline/loader/local_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "pipeline/loader/row_maker.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock {
namespace {

struct ReadResult {
  std::string digest;
  uint64_t rows = 0;
  absl::Status status;  // status of the failed step
  std::vector<LocalBatch> batches;
};

ReadResult ReadLocally(const TestDataset& set, const LocalReaderOptions& options) {
  ReadResult result;
  auto reader = LocalReader::Open(LocalFiles(), set.job, set.roots, options);
  if (!reader.ok()) {
    result.status = reader.status();
    return result;
  }
  BatchDigest digest;
  while (true) {
    auto batch = (*reader)->Next();
    if (!batch.ok()) {
      result.status = batch.status();
      break;
    }
    if (!batch->has_value()) break;
    (*batch)->AddTo(&digest);
    result.batches.push_back(*std::move(*batch));
  }
  result.digest = digest.Hex();
  result.rows = digest.rows();
  EXPECT_LE((*reader)->Stats().memory_peak_bytes, options.memory_budget_bytes);
  return result;
}

LocalReaderOptions Threads(int threads, uint64_t epochs = 1) {
  LocalReaderOptions options;
  options.threads = threads;
  options.epochs = epochs;
  options.memory_budget_bytes = 16 << 20;
  return options;
}

// Digest of the job's rows, computed one by one with plan, reader and pipeline only.
std::string PlainDigest(const TestDataset& set, uint64_t epochs) {
  auto dataset = OpenDataset(LocalFiles(), set.job, set.roots, "", 1);
  PS_CHECK(dataset.ok());
  auto job = LoadJob::Create(set.job, *dataset);
  PS_CHECK(job.ok());
  const Pipeline& pipeline = (*job)->pipeline();
  const RowSchema& schema = pipeline.schema();
  std::vector<std::byte> fixed((*job)->fixed_bytes());
  BatchDigest digest;
  RowScratch scratch;
  const uint64_t batch = set.job.batch().size();
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const EpochPlan plan = (*job)->PlanOf(epoch);
    for (uint64_t p = 0; p < plan.num_positions() / batch * batch; ++p) {
      RowSlot slot;
      PointInto(schema, fixed.data(), &slot);
      const uint64_t record = plan.RecordAt(p);
      std::string bytes;
      PS_CHECK((*dataset)->ReadRecord(record, &bytes).ok());
      const SampleKey key{set.job.order().seed(), epoch, plan.RepeatAt(p), record};
      PS_CHECK(pipeline.MakeRow(bytes, key, &slot, &scratch).ok());
      const Location id = plan.LocationAt(p);
      std::vector<BatchDigest::Column> columns;
      for (size_t c = 0; c < schema.columns.size(); ++c) {
        const ColumnSpec& column = schema.columns[c];
        if (column.ragged) {
          columns.push_back({slot.ragged[c], true});
        } else {
          columns.push_back({{reinterpret_cast<const char*>(slot.fixed[c]), column.Bytes()}, false});
        }
      }
      digest.AddRow(static_cast<int64_t>(id.shard), static_cast<int64_t>(id.record), true, columns);
    }
  }
  return digest.Hex();
}

ImageDatasetOptions SmallImages() {
  ImageDatasetOptions options;
  options.shards = 3;
  options.records_per_shard = 11;
  options.width = 48;
  options.height = 40;
  options.crop = 16;
  return options;
}

TEST(LocalReader, GivesTheRowsOfAPlainLoopWithAnyNumberOfThreads) {
  TempFolder folder;
  const TestDataset set = MakeImageDataset(SmallImages(), folder.path());
  const std::string expected = PlainDigest(set, 2);
  for (const int threads : {1, 2, 5}) EXPECT_EQ(ReadLocally(set, Threads(threads, 2)).digest, expected) << threads;
}

TEST(LocalReader, CachesColdWarmOrFullGiveTheSameRows) {
  TempFolder folder;
  const TestDataset set = MakeImageDataset(SmallImages(), folder.path());
  const std::string expected = PlainDigest(set, 3);
  for (const uint64_t records : {0, 30'000, 4'000'000}) {
    for (const uint64_t decoded : {0, 60'000, 4'000'000}) {
      LocalReaderOptions options = Threads(2, 3);
      options.record_cache_bytes = records;
      options.decoded_cache_bytes = decoded;
      EXPECT_EQ(ReadLocally(set, options).digest, expected) << records << " " << decoded;
    }
  }
}

TEST(LocalReader, NumbersStringsAndRaggedColumnsOfCompressedShards) {
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    TempFolder folder;
    NumberDatasetOptions numbers;
    numbers.compression = compression;
    const TestDataset set = MakeNumberDataset(numbers, folder.path());
    const ReadResult result = ReadLocally(set, Threads(3, 2));
    EXPECT_EQ(result.digest, PlainDigest(set, 2));
    EXPECT_EQ(result.rows, 400u);
    // Each epoch has every id once, and the id column is the record of the plan.
    std::map<uint64_t, std::set<int64_t>> seen;
    for (const LocalBatch& batch : result.batches) {
      const int id = batch.schema().Find("id");
      for (size_t i = 0; i < batch.size(); ++i) {
        int64_t value;
        std::memcpy(&value, batch.Fixed(static_cast<size_t>(id), i).data(), sizeof(value));
        EXPECT_EQ(static_cast<uint64_t>(value), batch.row(i).id.shard * 50 + batch.row(i).id.record);
        EXPECT_TRUE(seen[batch.step().epoch].insert(value).second);
      }
    }
    EXPECT_EQ(seen[0].size(), 200u);
    EXPECT_EQ(seen[1].size(), 200u);
  }
}

TEST(LocalReader, RanksTogetherGiveTheRowsOfOneRankStepByStep) {
  TempFolder folder;
  const TestDataset set = MakeNumberDataset({}, folder.path());
  const ReadResult whole = ReadLocally(set, Threads(2));
  std::vector<ReadResult> parts;
  for (uint64_t rank = 0; rank < 4; ++rank) {
    LocalReaderOptions options = Threads(1);
    options.rank = rank;
    options.world_size = 4;
    parts.push_back(ReadLocally(set, options));
  }
  BatchDigest digest;
  for (size_t step = 0; step < whole.batches.size(); ++step) {
    for (const ReadResult& part : parts) part.batches.at(step).AddTo(&digest);
  }
  EXPECT_EQ(digest.Hex(), whole.digest);
}

TEST(LocalReader, StartsAnywhereAndGoesOnOverEpochEnds) {
  TempFolder folder;
  const TestDataset set = MakeNumberDataset({}, folder.path());
  const ReadResult whole = ReadLocally(set, Threads(2, 2));
  LocalReaderOptions options = Threads(2, 2);
  options.start = {0, 8 * 7};
  const ReadResult rest = ReadLocally(set, options);
  BatchDigest digest;
  for (size_t step = 7; step < whole.batches.size(); ++step) whole.batches[step].AddTo(&digest);
  EXPECT_EQ(rest.digest, digest.Hex());
}

TEST(LocalReader, PaddingRepeatsTheEpochsStartAndIsNotValid) {
  TempFolder folder;
  NumberDatasetOptions numbers;
  numbers.shards = 1;
  numbers.records_per_shard = 13;
  TestDataset set = MakeNumberDataset(numbers, folder.path());
  set.job.mutable_batch()->set_last(v1::PAD);
  const ReadResult result = ReadLocally(set, Threads(2));
  ASSERT_EQ(result.batches.size(), 2u);
  const LocalBatch& last = result.batches[1];
  ASSERT_EQ(last.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(last.row(i).valid, i < 5);
  EXPECT_EQ(last.row(5).id, result.batches[0].row(0).id);

  set.job.mutable_batch()->set_last(v1::PARTIAL);
  const ReadResult partial = ReadLocally(set, Threads(2));
  ASSERT_EQ(partial.batches.size(), 2u);
  EXPECT_EQ(partial.batches[1].size(), 5u);
}

TEST(LocalReader, ABrokenRecordGetsTheJobsPolicy) {
  TempFolder folder;
  TestDataset set = MakeImageDataset(SmallImages(), folder.path());
  BreakRecord(set.files[1], 4);
  const ReadResult fail = ReadLocally(set, Threads(2));
  EXPECT_EQ(fail.status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(fail.status.message().find("data-00001"), absl::string_view::npos) << fail.status;
  EXPECT_NE(fail.status.message().find("record 4"), absl::string_view::npos) << fail.status;

  for (const v1::ErrorPolicy policy : {v1::SUBSTITUTE, v1::MASK}) {
    set.job.mutable_errors()->set_policy(policy);
    set.job.mutable_batch()->set_last(v1::PARTIAL);
    const ReadResult result = ReadLocally(set, Threads(1));
    ASSERT_TRUE(result.status.ok()) << result.status;
    EXPECT_EQ(result.rows, 33u);
    int found = 0;
    for (const LocalBatch& batch : result.batches) {
      for (size_t i = 0; i < batch.size(); ++i) {
        const LocalBatch::Row& row = batch.row(i);
        if (row.id != Location{1, 4}) {
          EXPECT_TRUE(row.valid);
          continue;
        }
        ++found;
        EXPECT_EQ(row.substituted, policy == v1::SUBSTITUTE);
        EXPECT_EQ(row.masked, policy == v1::MASK);
        EXPECT_EQ(row.valid, policy == v1::SUBSTITUTE);
        const std::string zeros(batch.Fixed(0, i).size(), '\0');
        EXPECT_EQ(batch.Fixed(0, i) == zeros, policy == v1::MASK);
      }
    }
    EXPECT_EQ(found, 1);
    for (const int threads : {2, 4}) EXPECT_EQ(ReadLocally(set, Threads(threads)).digest, result.digest);
    LocalReaderOptions cached = Threads(2);
    cached.record_cache_bytes = cached.decoded_cache_bytes = 4'000'000;
    EXPECT_EQ(ReadLocally(set, cached).digest, result.digest);
  }
}

TEST(LocalReader, AMaskedRowHasEmptyRaggedColumns) {
  TempFolder folder;
  TestDataset set = MakeNumberDataset({}, folder.path());
  BreakRecord(set.files[0], 0);
  set.job.mutable_errors()->set_policy(v1::MASK);
  const ReadResult result = ReadLocally(set, Threads(2));
  ASSERT_TRUE(result.status.ok()) << result.status;
  for (const LocalBatch& batch : result.batches) {
    for (size_t i = 0; i < batch.size(); ++i) {
      if (!batch.row(i).masked) continue;
      EXPECT_EQ(batch.Ragged(static_cast<size_t>(batch.schema().Find("values")), i), std::string(4, '\0'));
      EXPECT_EQ(batch.Ragged(static_cast<size_t>(batch.schema().Find("name")), i), std::string("\1\0\0\0\0\0\0\0", 8));
    }
  }
}

TEST(LocalReader, AFailureComesWhenItsStepIsDueAndStays) {
  TempFolder folder;
  TestDataset set = MakeNumberDataset({}, folder.path());
  set.job.mutable_order()->set_shuffle(v1::Order::NONE);
  BreakRecord(set.files[0], 20);  // a record of step 2
  auto reader = LocalReader::Open(LocalFiles(), set.job, set.roots, Threads(2));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)->Next().ok());
  EXPECT_TRUE((*reader)->Next().ok());
  const absl::Status failure = (*reader)->Next().status();
  EXPECT_EQ(failure.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ((*reader)->Next().status(), failure);
}

TEST(LocalReader, ABatchOutlivesItsReader) {
  TempFolder folder;
  const TestDataset set = MakeNumberDataset({}, folder.path());
  std::optional<LocalBatch> kept;
  {
    auto reader = LocalReader::Open(LocalFiles(), set.job, set.roots, Threads(2));
    ASSERT_TRUE(reader.ok());
    auto batch = (*reader)->Next();
    ASSERT_TRUE(batch.ok());
    kept = *std::move(batch);
  }
  BatchDigest digest;
  kept->AddTo(&digest);
  EXPECT_EQ(digest.rows(), 8u);
}

TEST(LocalReader, KeepsIndexesInTheFolderThatItIsGiven) {
  TempFolder folder, state;
  const TestDataset set = MakeNumberDataset({}, folder.path());
  LocalReaderOptions options = Threads(1);
  options.index_dir = state.path();
  const ReadResult first = ReadLocally(set, options);
  EXPECT_FALSE(std::filesystem::is_empty(state.path()));
  EXPECT_EQ(ReadLocally(set, options).digest, first.digest);
}

TEST(LocalReader, MistakesAreNamed) {
  TempFolder folder;
  TestDataset set = MakeNumberDataset({}, folder.path());
  LocalReaderOptions options = Threads(1);
  options.world_size = 3;
  EXPECT_EQ(ReadLocally(set, options).status.code(), absl::StatusCode::kInvalidArgument);
  options.world_size = 2;
  options.rank = 2;
  EXPECT_NE(ReadLocally(set, options).status.message().find("rank 2"), absl::string_view::npos);
  options = Threads(1);
  set.job.mutable_dataset(0)->set_files(0, folder.path() + "/none-*");
  EXPECT_EQ(ReadLocally(set, options).status.code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace penstock
