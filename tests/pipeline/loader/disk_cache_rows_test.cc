// The cache on disk below the loader: the rows are the same if it is cold, warm, reopened, too small or damaged, with
// storage that answers at once and with storage that does not.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/check.h"
#include "pipeline/cache/disk/disk_cache.h"
#include "pipeline/storage/files.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/loaded_rows.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/support/plain_rows.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

struct Pass {
  std::string digest;
  LoaderStats stats;
};

class DiskCacheRows : public ::testing::TestWithParam<bool> {
 protected:
  DiskCacheRows() {
    support::ImageDatasetOptions images;
    images.shards = 3;
    images.records_per_shard = 11;
    images.width = 48;
    images.height = 40;
    images.crop = 16;
    std::filesystem::create_directory(folder_.File("data"));
    set_ = support::MakeImageDataset(images, folder_.File("data"));
    if (GetParam()) remote_ = std::make_unique<storage::RemoteFiles>(4, storage::LocalFiles());
  }
  std::shared_ptr<const LoadJob> Open() {
    auto job = support::OpenJob(set_.job, set_.roots, remote_ != nullptr ? remote_->storage() : storage::LocalFiles());
    PS_CHECK(job.ok());
    return *std::move(job);
  }
  std::shared_ptr<cache::DiskCache> OpenCache(uint64_t limit) {
    cache::DiskCacheOptions options;
    options.folder = folder_.File("cache");
    options.limit_bytes = limit;
    options.index_bytes = index_bytes_;
    options.index_step = index_step_;
    auto cache = cache::DiskCache::Open(std::move(options));
    PS_CHECK(cache.ok());
    return *std::move(cache);
  }
  // Reads `epochs` epochs of the job with a cache of `disk_bytes` on disk.
  Pass Read(uint64_t epochs, uint64_t disk_bytes, uint64_t memory_bytes = 0) {
    const std::shared_ptr<const LoadJob> job = Open();
    LoaderOptions options;
    options.threads = 2;
    options.record_cache_bytes = memory_bytes;
    options.memory_budget_bytes = 16 << 20;
    options.disk_cache = OpenCache(disk_bytes);
    const std::shared_ptr<const void> use = options.disk_cache->Use(job->record_space(), "a data set");
    options.disk_cache->Flush();  // waits until the cache has loaded its existing records
    const auto loader = Loader::Create(options);
    PS_CHECK(loader.ok());
    const auto steps =
        LoadedSteps(loader->get(), job, {.read = {.epochs = epochs}}, [&] { options.disk_cache->Flush(); });
    EXPECT_TRUE(steps.ok()) << steps.status();
    return {steps.ok() ? support::DigestOf(*steps) : "", (*loader)->Stats()};
  }

  uint64_t RecordsOnDisk() const {
    const auto spaces = cache::ListDiskCache(folder_.File("cache"));
    PS_CHECK(spaces.ok());
    return spaces->empty() ? 0 : spaces->front().records;
  }

  uint64_t index_bytes_ = cache::DiskCacheOptions().index_bytes, index_step_ = cache::DiskCacheOptions().index_step;
  support::TempFolder folder_;
  support::TestDataset set_;
  std::unique_ptr<storage::RemoteFiles> remote_;
};

constexpr uint64_t kPlenty = 64 << 20;

TEST_P(DiskCacheRows, AreTheSameColdWarmAndAfterARestart) {
  const std::string expected = support::PlainDigest(set_, set_.job, 3);
  const Pass cold = Read(3, kPlenty);
  EXPECT_EQ(cold.digest, expected);
  EXPECT_GE(cold.stats.storage_reads, 32u);
  EXPECT_GT(cold.stats.disk_cache.hits, 0u);
  const Pass warm = Read(3, kPlenty);
  EXPECT_EQ(warm.digest, expected);
  EXPECT_LE(warm.stats.storage_reads, 1u) << "an epoch of 32 rows leaves out one of 33 records";
  EXPECT_GE(warm.stats.disk_cache.hits, 3 * 32u - 1);
}

TEST_P(DiskCacheRows, AreTheSameIfOnlyAPartFits) {
  const std::string expected = support::PlainDigest(set_, set_.job, 2);
  for (const uint64_t bytes : {3'000, 20'000}) {
    std::filesystem::remove_all(folder_.File("cache"));
    const Pass pass = Read(2, bytes, 5'000);
    EXPECT_EQ(pass.digest, expected) << bytes;
    EXPECT_LE(pass.stats.disk_cache.bytes, bytes);
  }
}

TEST_P(DiskCacheRows, AreTheSameWhileTheIndexTakesMemoryOfRows) {
  const std::string expected = support::PlainDigest(set_, set_.job, 3);
  index_bytes_ = 0;
  index_step_ = 4 * cache::DiskSpace::kEntryMemory;
  const Pass grown = Read(3, kPlenty);
  EXPECT_EQ(grown.digest, expected);
  EXPECT_GE(RecordsOnDisk(), 32u);
  std::filesystem::remove_all(folder_.File("cache"));
  index_step_ = 64 << 20;  // more than there is
  EXPECT_EQ(Read(1, kPlenty).stats.disk_cache.hits, 0u);
  EXPECT_EQ(RecordsOnDisk(), 0u);
}

TEST_P(DiskCacheRows, AreTheSameAfterFilesWereDamaged) {
  const std::string expected = support::PlainDigest(set_, set_.job, 2);
  Read(1, kPlenty);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.File("cache"))) {
    if (entry.path().filename() != "records") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (uint64_t at = 100; at < entry.file_size(); at += 500) {
      file.seekp(static_cast<std::streamoff>(at));
      file << "damage";
    }
  }
  const Pass pass = Read(2, kPlenty);
  EXPECT_EQ(pass.digest, expected);
  EXPECT_GT(pass.stats.storage_reads, 0u);
}

TEST_P(DiskCacheRows, AreTheSameAfterTheCacheWasCleared) {
  const std::string expected = support::PlainDigest(set_, set_.job, 2);
  Read(1, kPlenty);
  ASSERT_TRUE(cache::ClearDiskCache(folder_.File("cache")).ok());
  const Pass pass = Read(2, kPlenty);
  EXPECT_EQ(pass.digest, expected);
  EXPECT_GE(pass.stats.storage_reads, 32u);
}

// Its index would otherwise keep memory that a session which fits needs.
TEST_P(DiskCacheRows, ARejectedSessionUsesNoDataSetOfTheCache) {
  const std::shared_ptr<const LoadJob> job = Open();
  LoaderOptions options;
  options.threads = 1;
  options.memory_budget_bytes = 16 << 20;
  options.disk_cache = OpenCache(kPlenty);
  const auto loader = Loader::Create(options);
  ASSERT_TRUE(loader.ok()) << loader.status();
  HoldingSink sink;
  LoaderSessionOptions rows;
  rows.largest_step_rows = 1'000'000;
  EXPECT_TRUE(absl::IsResourceExhausted((*loader)->OpenSession(job, rows, &sink).status()));
  options.disk_cache->Flush();
  EXPECT_TRUE(cache::ListDiskCache(folder_.File("cache")).value().empty());
  rows.largest_step_rows = 1;
  EXPECT_TRUE((*loader)->OpenSession(job, rows, &sink).ok());
  options.disk_cache->Flush();
  EXPECT_EQ(cache::ListDiskCache(folder_.File("cache")).value().size(), 1u);
}

TEST_P(DiskCacheRows, AHeldRowDoesNotKeepTheFolderInUse) {
  const std::shared_ptr<const LoadJob> job = Open();
  HoldingSink sink;
  {
    LoaderOptions options;
    options.threads = 1;
    options.memory_budget_bytes = 16 << 20;
    options.disk_cache = OpenCache(kPlenty);
    const auto loader = Loader::Create(options);
    ASSERT_TRUE(loader.ok()) << loader.status();
    options.disk_cache.reset();
    LoaderSessionOptions one;
    one.largest_step_rows = 1;
    const auto session = (*loader)->OpenSession(job, one, &sink);
    ASSERT_TRUE(session.ok()) << session.status();
    (*session)->Request(RowsOf(0, 1, 1));
    sink.WaitFor(1);
  }
  ASSERT_EQ(sink.held(), 1u);
  EXPECT_GT(OpenCache(kPlenty)->Stats().limit_bytes, 0u);
}

// The content of a data set identifies its cached records: other content in files of the same names is another data
// set.
TEST_P(DiskCacheRows, OfOtherContentNeverComeFromTheOldContent) {
  Read(1, kPlenty);
  support::ImageDatasetOptions other;
  other.shards = 3;
  other.records_per_shard = 11;
  other.width = 48;
  other.height = 40;
  other.crop = 16;
  other.seed = 2;
  std::filesystem::remove_all(folder_.File("data"));
  std::filesystem::create_directory(folder_.File("data"));
  set_ = support::MakeImageDataset(other, folder_.File("data"));
  const std::string expected = support::PlainDigest(set_, set_.job, 1);
  const Pass pass = Read(1, kPlenty);
  EXPECT_EQ(pass.digest, expected);
  EXPECT_EQ(pass.stats.disk_cache.hits, 0u);
}

INSTANTIATE_TEST_SUITE_P(FromStorage, DiskCacheRows, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "ThatAnswersLater" : "ThatAnswersAtOnce"; });

}  // namespace
}  // namespace penstock::loader
