#include "pipeline/loader/dataset_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "base/check.h"
#include "base/open_files.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/indexes_from.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

std::shared_ptr<DatasetReader> OpenOrDie(const support::TestDataset& set) {
  auto reader = OpenDataset(storage::LocalFiles(), set.job, set.roots, std::nullopt, 1);
  PS_CHECK(reader.ok());
  return *reader;
}

support::NumberDatasetOptions Shards(int shards, int records,
                                     sources::Compression compression = sources::Compression::kNone) {
  support::NumberDatasetOptions options;
  options.shards = shards;
  options.records_per_shard = records;
  options.compression = compression;
  return options;
}

TEST(DatasetReader, NumbersRecordsThroughTheShardsInSortedOrder) {
  for (const sources::Compression compression :
       {sources::Compression::kNone, sources::Compression::kGzip, sources::Compression::kZlib}) {
    support::TempFolder folder;
    const support::TestDataset set = support::MakeNumberDataset(Shards(3, 10, compression), folder.path());
    const auto reader = OpenOrDie(set);
    EXPECT_EQ(reader->snapshot().total_records(), 30u);
    for (uint64_t record : {0, 9, 10, 29, 5}) {
      std::string bytes;
      ASSERT_TRUE(reader->ReadRecord(record, &bytes).ok());
      EXPECT_NE(bytes.find("record-" + std::to_string(record)), std::string::npos);
      EXPECT_EQ(reader->RecordBytes(record).value(), bytes.size());
    }
  }
}

TEST(DatasetReader, ABrokenRecordIsDataLossWithFileRecordAndOffset) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeNumberDataset(Shards(2, 10), folder.path());
  support::BreakRecord(set.files[1], 3);
  const auto reader = OpenOrDie(set);
  std::string bytes;
  const absl::Status status = reader->ReadRecord(13, &bytes);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("data-00001"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("record 3"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("offset"), absl::string_view::npos) << status;
  EXPECT_TRUE(reader->ReadRecord(12, &bytes).ok());
  EXPECT_TRUE(reader->ReadRecord(14, &bytes).ok());
}

TEST(DatasetReader, AChangedFileStopsTheJobAndIsNamed) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeNumberDataset(Shards(2, 10), folder.path());
  const auto reader = OpenOrDie(set);
  std::string bytes;
  ASSERT_TRUE(reader->ReadRecord(3, &bytes).ok());
  support::WriteShard(set.files[0], {"other", "records"});
  support::WriteShard(set.files[1], {"other", "records"});
  const absl::Status not_open_yet = reader->ReadRecord(13, &bytes);
  EXPECT_EQ(not_open_yet.code(), absl::StatusCode::kFailedPrecondition) << not_open_yet;
  EXPECT_NE(not_open_yet.message().find("data-00001"), absl::string_view::npos) << not_open_yet;
}

TEST(DatasetReader, AnIndexOfOtherGroupsIsRejected) {
  support::TempFolder folder, other;
  const support::TestDataset set = support::MakeNumberDataset(Shards(1, 10), folder.path());
  std::vector<sources::SnapshotShard> shards = OpenOrDie(set)->snapshot().shards();
  shards[0].groups = {{0, 1}, {4, 6}};
  auto reader = DatasetReader::Create(
      storage::LocalFiles(), *sources::Snapshot::Create(shards, {}, {"a", "b"}), set.roots,
      IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), other.path()), sources::IndexOptions()), {});
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto bytes = (*reader)->RecordBytes(0);
  EXPECT_TRUE(absl::IsFailedPrecondition(bytes.status())) << bytes.status();
  EXPECT_NE(bytes.status().message().find("its index has other groups of records"), absl::string_view::npos);
}

TEST(DatasetReader, AnIndexOfAnotherContentIsRejected) {
  support::TempFolder folder, other;
  const support::TestDataset set = support::MakeNumberDataset(Shards(1, 10), folder.path());
  const auto snapshot = OpenOrDie(set)->snapshot();
  support::NumberDatasetOptions changed = Shards(1, 10);
  changed.seed = 2;
  changed.max_values = 9;
  support::MakeNumberDataset(changed, folder.path());
  auto reader = DatasetReader::Create(
      storage::LocalFiles(), snapshot, set.roots,
      IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), other.path()), sources::IndexOptions()), {});
  ASSERT_TRUE(reader.ok());
  const auto bytes = (*reader)->RecordBytes(0);
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(bytes.status().message().find("--replace"), absl::string_view::npos) << bytes.status();
}

TEST(DatasetReader, AMissingFileIsUnavailableAndNamedOnce) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeNumberDataset(Shards(2, 10), folder.path());
  const auto reader = OpenOrDie(set);
  std::filesystem::remove(set.files[1]);
  std::string bytes;
  const absl::Status status = reader->ReadRecord(15, &bytes);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), set.files[1])) << status;
  EXPECT_EQ(status.message().find(set.files[1], 1), absl::string_view::npos) << "named twice: " << status;
}

// Commands with absolute globs use this root.
TEST(DatasetReader, AShardBelowTheFileSystemRootIsNamedByItsPath) {
  support::TempFolder folder;
  support::TestDataset set = support::MakeNumberDataset(Shards(1, 3), folder.path());
  set.roots = {{"/", "/"}};
  set.job.mutable_dataset(0)->set_files(0, set.files[0]);
  EXPECT_TRUE(OpenOrDie(set)->Describe(2).starts_with(set.files[0] + ", record 2")) << OpenOrDie(set)->Describe(2);
}

TEST(DatasetReader, AShardOfAnUnknownRootIsRejected) {
  support::TempFolder folder;
  const support::TestDataset set = support::MakeNumberDataset(Shards(1, 3), folder.path());
  const auto reader = DatasetReader::Create(
      storage::LocalFiles(), OpenOrDie(set)->snapshot(), {{"elsewhere", folder.path()}},
      IndexesFrom(sources::IndexStore::BesideShards(storage::LocalFiles()), sources::IndexOptions()), {});
  EXPECT_EQ(reader.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(reader.status().message().find("\"data\""), absl::string_view::npos) << reader.status();
  EXPECT_NE(reader.status().message().find("elsewhere"), absl::string_view::npos) << reader.status();
}

TEST(DatasetReader, AShardWithARecordAboveTheLimitIsRejected) {
  support::TempFolder folder, state;
  const support::TestDataset set = support::MakeNumberDataset(Shards(1, 3), folder.path());
  DatasetReader::Options options;
  options.max_record_bytes = 10;
  auto reader = DatasetReader::Create(
      storage::LocalFiles(), OpenOrDie(set)->snapshot(), set.roots,
      IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state.path()), sources::IndexOptions()),
      options);
  ASSERT_TRUE(reader.ok());
  const auto bytes = (*reader)->RecordBytes(0);
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(bytes.status().message().find("max_record_bytes"), absl::string_view::npos) << bytes.status();
}

TEST(DatasetReader, ManyThreadsReadThroughFewOpenShards) {
  support::TempFolder folder, state;
  const support::TestDataset set = support::MakeNumberDataset(Shards(12, 10), folder.path());
  DatasetReader::Options options;
  options.max_open_shards = 2;
  options.max_index_bytes = 100;
  auto reader = DatasetReader::Create(
      storage::LocalFiles(), OpenOrDie(set)->snapshot(), set.roots,
      IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state.path()), sources::IndexOptions()),
      options);
  ASSERT_TRUE(reader.ok());
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::string bytes;
      for (uint64_t i = 0; i < 240; ++i) {
        const uint64_t record = (i * 37 + t * 11) % 120;
        ASSERT_TRUE((*reader)->ReadRecord(record, &bytes).ok());
        ASSERT_NE(bytes.find("record-" + std::to_string(record)), std::string::npos);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The window of an epoch alternates between 1024 chunks, and each chunk may be in another shard.
TEST(DatasetReader, KeepsTheShardsOfAWindowOpenIfTheSystemPermits) {
  RaiseOpenFileLimit();
  constexpr int kShards = 400;
  if (OpenFileLimit() < 8 * kShards) GTEST_SKIP() << "this system lets a process open " << OpenFileLimit() << " files";
  support::TempFolder folder, state;
  const support::TestDataset set = support::MakeNumberDataset(Shards(kShards, 2), folder.path());
  auto reader = DatasetReader::Create(
      storage::LocalFiles(), OpenOrDie(set)->snapshot(), set.roots,
      IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state.path()), sources::IndexOptions()), {});
  ASSERT_TRUE(reader.ok());
  std::string bytes;
  for (uint64_t s = 0; s < kShards; ++s) ASSERT_TRUE((*reader)->ReadRecord(2 * s, &bytes).ok());
  int open = 0;
  std::error_code error;
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    open += std::filesystem::read_symlink(fd.path(), error).string().starts_with(folder.path());
  }
  EXPECT_EQ(open, kShards);
}

}  // namespace
}  // namespace penstock::loader
