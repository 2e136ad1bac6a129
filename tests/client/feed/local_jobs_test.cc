#include "client/feed/local_jobs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "base/file.h"
#include "base/mutex.h"
#include "pipeline/storage/forwarding_storage.h"
#include "tests/pipeline/storage/memory_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::feed {
namespace {

const std::vector<sources::DataRoot>& Roots() {
  static const auto* const roots = new std::vector<sources::DataRoot>{{"data", "mem://bucket"}};
  return *roots;
}

// Returns a data set below Roots().
support::TestDataset StoreDataset(storage::MemoryStorage* memory) {
  support::TempFolder folder;
  support::TestDataset set = support::MakeNumberDataset({}, folder.path());
  for (const std::string& file : set.files) {
    const std::string name = "mem://bucket/" + std::filesystem::path(file).filename().string();
    EXPECT_TRUE(memory->Put(name, ReadWholeFile(file).value()).ok());
  }
  set.job.mutable_dataset(0)->set_files(0, "data-*");
  return set;
}

// Blocks calls that open a file while the test holds them.
class HoldingStorage final : public storage::ForwardingStorage {
 public:
  explicit HoldingStorage(storage::Storage* files) : files_(files) {}

  absl::StatusOr<std::unique_ptr<storage::StoredFile>> OpenAndWait(const std::string& name,
                                                                   const storage::CallOptions& options) override {
    {
      MutexLock lock(&mutex_);
      ++inside_;
      changed_.NotifyAll();
      while (held_) changed_.Wait(&mutex_);
    }
    auto opened = files_->OpenAndWait(name, options);
    MutexLock lock(&mutex_);
    --inside_;
    return opened;
  }
  void Hold(bool held) {
    MutexLock lock(&mutex_);
    held_ = held;
    changed_.NotifyAll();
  }
  void AwaitInside(int calls) {
    MutexLock lock(&mutex_);
    while (inside_ < calls) changed_.Wait(&mutex_);
  }
  int inside() {
    MutexLock lock(&mutex_);
    return inside_;
  }

 private:
  storage::Storage* Of(const std::string& name) const override { return files_; }

  storage::Storage* const files_;
  Mutex mutex_;
  CondVar changed_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;  // calls in OpenAndWait
};

TEST(LocalJobs, ReadFromTheGivenStorage) {
  storage::MemoryStorage memory;
  const support::TestDataset set = StoreDataset(&memory);
  const std::vector<sources::DataRoot>& roots = Roots();
  LocalJobs jobs({.host = {.storage = &memory}});
  EXPECT_FALSE(jobs.Stats().has_value());
  const auto job = jobs.Load(set.job, roots);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)->job->positions(), set.records);
  EXPECT_EQ(*jobs.Load(set.job, roots), *job);
  EXPECT_EQ(*jobs.host(), *jobs.host());
  EXPECT_TRUE(jobs.Stats().has_value());
}

TEST(LocalJobs, ConcurrentLoadsOfEqualJobsReturnOneObject) {
  storage::MemoryStorage memory;
  const support::TestDataset set = StoreDataset(&memory);
  HoldingStorage storage(&memory);
  LocalJobsOptions options;
  options.host.storage = &storage;
  options.host.loader.threads = 1;
  LocalJobs jobs(options);
  storage.Hold(true);
  std::vector<absl::StatusOr<std::shared_ptr<const LoadedJob>>> loaded(2);
  std::vector<std::thread> loads;
  for (auto& job : loaded) loads.emplace_back([&] { job = jobs.Load(set.job, Roots()); });
  storage.AwaitInside(2);  // each load opens one file at a time
  storage.Hold(false);
  for (std::thread& load : loads) load.join();
  for (const auto& job : loaded) ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(*loaded[0], *loaded[1]);
}

TEST(LocalJobs, StopAfterTheLoadsOfShardsThatUseTheStorage) {
  storage::MemoryStorage memory;
  const support::TestDataset set = StoreDataset(&memory);
  HoldingStorage storage(&memory);
  LocalJobs jobs({.host = {.storage = &storage}});
  auto job = jobs.Load(set.job, Roots(), /*allow_missing=*/true);  // reads no record
  ASSERT_TRUE(job.ok()) << job.status();
  storage.Hold(true);
  loader::DatasetReader& reader = (*job)->job->reader();
  ASSERT_EQ(reader.snapshot().shards().size(), size_t{host::LoaderHost::kSlowThreads});
  uint64_t record = 0;
  for (const sources::SnapshotShard& shard : reader.snapshot().shards()) {
    reader.WillRead(record);
    record += shard.record_count;
  }
  storage.AwaitInside(host::LoaderHost::kSlowThreads);
  job = absl::CancelledError("the trainer needs no more rows");
  // All threads are in loads, so this task never starts. The stop drops it, and the loads continue.
  bool started = false;
  (*jobs.host())->slow_work()->Post([&started, release = absl::MakeCleanup([&storage] { storage.Hold(false); })] {
    started = true;
  });
  EXPECT_TRUE(jobs.StopReadsBy(std::numeric_limits<Nanos>::max() / 2));
  EXPECT_FALSE(started);
  EXPECT_EQ(storage.inside(), 0);
}

}  // namespace
}  // namespace penstock::feed
