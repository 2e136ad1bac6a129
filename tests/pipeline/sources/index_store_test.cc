#include "pipeline/sources/index_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

TEST(IndexStore, BuildsOnceAndThenLoads) {
  support::TempFolder folder;
  const std::string path = folder.File("train-0");
  WriteShard(path, {"a", "b"}, Compression::kZlib);
  for (const IndexStore& store : {IndexStore::InStateDir(storage::LocalFiles(), folder.File("state")),
                                  IndexStore::BesideShards(storage::LocalFiles())}) {
    EXPECT_TRUE(absl::IsNotFound(store.Load(path).status()));
    const auto first = store.LoadOrBuild(path);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_TRUE(first->built);
    EXPECT_TRUE(first->save_status.ok()) << first->save_status;
    EXPECT_TRUE(std::filesystem::exists(store.SidecarPath(path)));
    const auto second = store.LoadOrBuild(path);
    ASSERT_TRUE(second.ok());
    EXPECT_FALSE(second->built);
    EXPECT_EQ(*second->index, *first->index);
  }
  EXPECT_EQ(IndexStore::BesideShards(storage::LocalFiles()).SidecarPath(path), path + ".psidx");
}

TEST(IndexStore, RemovesOnlyItsOwnSidecars) {
  support::TempFolder folder;
  const std::string path = folder.File("train-0");
  WriteShard(path, {"a", "b"});
  const IndexStore own = IndexStore::InStateDir(storage::LocalFiles(), folder.File("state"));
  const IndexStore beside = IndexStore::BesideShards(storage::LocalFiles());
  ASSERT_TRUE(own.LoadOrBuild(path).ok());
  ASSERT_TRUE(beside.LoadOrBuild(path).ok());
  EXPECT_EQ(*own.Remove(path), std::filesystem::file_size(beside.SidecarPath(path)));
  EXPECT_FALSE(std::filesystem::exists(own.SidecarPath(path)));
  EXPECT_EQ(*own.Remove(path), 0u);
  EXPECT_EQ(*beside.Remove(path), 0u);
  EXPECT_TRUE(std::filesystem::exists(beside.SidecarPath(path)));
}

TEST(IndexStore, TrustsASidecarOnlyWhileSizeAndMtimeMatch) {
  support::TempFolder folder;
  const std::string path = folder.File("s");
  const IndexStore store = IndexStore::InStateDir(storage::LocalFiles(), folder.File("state"));
  WriteShard(path, {"a", "b"});
  ASSERT_TRUE(store.LoadOrBuild(path).ok());
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::nanoseconds(1000));
  EXPECT_TRUE(absl::IsNotFound(store.Load(path).status()));
  EXPECT_TRUE(store.LoadOrBuild(path)->built);
  EXPECT_FALSE(store.LoadOrBuild(path)->built);
  WriteShard(path, {"a", "b", "c"});
  const auto rebuilt = store.LoadOrBuild(path);
  EXPECT_TRUE(rebuilt->built);
  EXPECT_EQ(rebuilt->index->record_count(), 3u);
}

TEST(IndexStore, BuildsAgainWhenTheSidecarIsDamagedOrServesOtherOptions) {
  support::TempFolder folder;
  const std::string path = folder.File("s");
  const IndexStore store = IndexStore::InStateDir(storage::LocalFiles(), folder.File("state"));
  WriteShard(path, {"a", "long enough"}, Compression::kGzip);
  ASSERT_TRUE(store.LoadOrBuild(path).ok());
  std::string blob = Slurp(store.SidecarPath(path));
  blob[blob.size() / 2] ^= 1;
  WriteBytes(store.SidecarPath(path), blob);
  EXPECT_TRUE(absl::IsDataLoss(store.Load(path).status()));
  EXPECT_TRUE(store.LoadOrBuild(path)->built);
  EXPECT_FALSE(store.LoadOrBuild(path, {.compression = Compression::kGzip})->built);
  EXPECT_FALSE(store.LoadOrBuild(path, {.compression = Compression::kNone}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(store.LoadOrBuild(path, {.max_record_bytes = 4}).status()));
  EXPECT_TRUE(store.LoadOrBuild(path, {.verify_data = true})->built);
  EXPECT_FALSE(store.LoadOrBuild(path, {.container = ContainerKind::kTfRecord})->built);
  EXPECT_TRUE(absl::IsInvalidArgument(store.LoadOrBuild(path, {.container = ContainerKind::kTar}).status()));
}

TEST(IndexStore, AnIndexThatCannotBeSavedIsStillReturned) {
  support::TempFolder folder;
  WriteShard(folder.File("s"), {"a"});
  WriteBytes(folder.File("state"), "a file where the folder should be");
  const auto loaded = IndexStore::InStateDir(storage::LocalFiles(), folder.File("state")).LoadOrBuild(folder.File("s"));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->index->record_count(), 1u);
  EXPECT_FALSE(loaded->save_status.ok());
  EXPECT_NE(std::string(loaded->save_status.message()).find(folder.File("state")), std::string::npos);
}

TEST(IndexStore, DistinguishesShardsOfTheSameName) {
  const IndexStore store = IndexStore::InStateDir(storage::LocalFiles(), "/state");
  EXPECT_NE(store.SidecarPath("/a/train-0"), store.SidecarPath("/b/train-0"));
  EXPECT_EQ(store.SidecarPath("/a/train-0"), store.SidecarPath("/a/x/../train-0"));
}

TEST(BuildIndexes, KeepsOrderAndContinuesAfterABrokenShard) {
  support::TempFolder folder;
  std::vector<std::string> paths;
  uint64_t bytes = 0;
  for (size_t i = 0; i < 12; ++i) {
    paths.push_back(folder.File("s" + std::to_string(i)));
    WriteShard(paths.back(), std::vector<std::string>(i, TestBytes(1000, i)));
    bytes += std::filesystem::file_size(paths.back());
  }
  WriteBytes(paths[5], "no TFRecord file at all");
  bytes += std::filesystem::file_size(paths[5]) - 5 * 1016;
  paths.push_back(folder.File("missing"));
  const IndexStore store = IndexStore::InStateDir(storage::LocalFiles(), folder.File("state"));
  for (const int threads : {3, 1}) {
    IndexProgress last;
    const auto results =
        BuildIndexes(store, paths, IndexOptions(), threads, [&](const IndexProgress& progress) { last = progress; });
    ASSERT_EQ(results.size(), 13u);
    for (size_t i = 0; i < 12; ++i) {
      if (i == 5) continue;
      ASSERT_TRUE(results[i].ok()) << results[i].status();
      EXPECT_EQ(results[i]->index->record_count(), i);
      EXPECT_EQ(results[i]->built, threads == 3);
    }
    EXPECT_TRUE(absl::IsDataLoss(results[5].status())) << results[5].status();
    EXPECT_TRUE(absl::IsNotFound(results[12].status())) << results[12].status();
    EXPECT_EQ(last.files_done, 13u);
    EXPECT_EQ(last.files_total, 13u);
    EXPECT_EQ(last.bytes_done, bytes);
    EXPECT_EQ(last.bytes_total, bytes);
  }
  EXPECT_TRUE(BuildIndexes(store, {}, IndexOptions(), 4).empty());
}

}  // namespace
}  // namespace penstock::sources
