#include "pipeline/host/loader_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/runtime/sim_scheduler.h"
#include "pipeline/cache/disk/cache_folder.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/loaded_rows.h"
#include "tests/pipeline/storage/memory_storage.h"
#include "tests/support/plain_rows.h"
#include "tests/support/test_dataset.h"

namespace penstock::host {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

class LoaderHostTest : public ::testing::Test {
 protected:
  LoaderHostTest() {
    std::filesystem::create_directory(folder_.File("data"));
    set_ = support::MakeImageDataset({.shards = 3, .records_per_shard = 11, .width = 48, .height = 40, .crop = 16},
                                     folder_.File("data"));
    set_.job.mutable_dataset(0)->set_files(0, "data-*");
  }
  static LoaderHostOptions OptionsOn(storage::Storage* storage) {
    LoaderHostOptions options;
    options.storage = storage;
    options.loader.threads = 2;
    options.loader.memory_budget_bytes = 64 * kMiB;
    return options;
  }
  static std::unique_ptr<LoaderHost> Create(const LoaderHostOptions& options) {
    auto host = LoaderHost::Create(options);
    EXPECT_TRUE(host.ok()) << host.status();
    return *std::move(host);
  }
  // Expects that the host makes the rows of the plain loop, within its budget.
  void ExpectPlainRows(const LoaderHost& host, const std::vector<sources::DataRoot>& roots) const {
    const auto job = support::OpenJob(set_.job, roots, host.storage());
    ASSERT_TRUE(job.ok()) << job.status();
    const auto steps = loader::LoadedSteps(host.loader(), *job, {.read = {.epochs = 2}});
    ASSERT_TRUE(steps.ok()) << steps.status();
    EXPECT_EQ(support::DigestOf(*steps), support::PlainDigest(set_, set_.job, 2));
    EXPECT_LE(host.loader()->Stats().memory_peak_bytes, host.memory().loader);
  }

  support::TempFolder folder_;
  support::TestDataset set_;
};

TEST_F(LoaderHostTest, ReadsTheGivenStorage) {
  storage::MemoryStorage memory;
  for (const std::string& file : set_.files) {
    const std::string name = "mem://bucket/" + std::filesystem::path(file).filename().string();
    ASSERT_TRUE(memory.Put(name, ReadWholeFile(file).value()).ok());
  }
  const std::unique_ptr<LoaderHost> host = Create(OptionsOn(&memory));
  ExpectPlainRows(*host, {{"data", "mem://bucket"}});
}

TEST_F(LoaderHostTest, RowsAreTheSameWithEverySetting) {
  for (const std::optional<int> read_threads : {std::optional<int>(), std::optional<int>(0), std::optional<int>(3)}) {
    for (const bool tuned : {false, true}) {
      LoaderHostOptions options = OptionsOn(storage::LocalFiles());
      options.read_threads = read_threads;
      options.rings = tuned;
      options.loader.choose_record_cache = options.loader.choose_decoded_cache = tuned;
      options.loader.row_cache_bytes = tuned ? 4 * kMiB : 0;
      options.disk_cache.folder = folder_.File("cache");
      const std::unique_ptr<LoaderHost> host = Create(options);
      EXPECT_EQ(host->tuning().Get().setting.read_threads, read_threads.value_or(0));
      EXPECT_EQ(host->tuning().limits().read_threads_pinned, read_threads.has_value());
      ExpectPlainRows(*host, set_.roots);
    }
  }
  const auto spaces = cache::ListDiskCache(folder_.File("cache"));
  ASSERT_TRUE(spaces.ok()) << spaces.status();
  ASSERT_EQ(spaces->size(), 1u);
  EXPECT_EQ((*spaces)[0].records, 33u);
}

TEST_F(LoaderHostTest, OnlyRingsNeedSharedFiles) {
  LoaderHostOptions options = OptionsOn(storage::LocalFiles());
  EXPECT_EQ(Create(options)->shared_row_files(), nullptr);
  options.rings = true;
  options.loader.row_cache_bytes = 56 * kMiB;
  const std::unique_ptr<LoaderHost> host = Create(options);
  EXPECT_NE(host->shared_row_files(), nullptr);
  EXPECT_EQ(host->memory().rings, 2 * kMiB);
  EXPECT_EQ(host->memory().loader, 62 * kMiB);
}

TEST_F(LoaderHostTest, ErrorsNameTheBudgetAndTheFolder) {
  LoaderHostOptions options = OptionsOn(storage::LocalFiles());
  options.disk_cache.folder = folder_.File("cache");
  options.loader.record_cache_bytes = 61 * kMiB;  // all that the disk cache leaves
  EXPECT_THAT(std::string(LoaderHost::Create(options).status().message()), HasSubstr("memory_budget_bytes 63963136"));
  options.loader.record_cache_bytes = 0;
  const std::unique_ptr<LoaderHost> first = Create(options);
  const absl::Status second = LoaderHost::Create(options).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr(folder_.File("cache")));
}

TEST_F(LoaderHostTest, TunesOnTheGivenExecutorUntilItStops) {
  SimScheduler scheduler(1);
  int looks = 0;
  LoaderHostOptions options = OptionsOn(storage::LocalFiles());
  options.tuning.executor = &scheduler;
  options.tuning.host_cpu = [&looks] {
    ++looks;
    return HostCpu();
  };
  const std::unique_ptr<LoaderHost> host = Create(options);
  const int begun = looks;
  scheduler.RunFor(4 * tuning::TuningController::kWindow);
  EXPECT_EQ(looks, begun + 4);
  EXPECT_TRUE(host->StopBy(std::numeric_limits<Nanos>::max() / 2));
  EXPECT_EQ(scheduler.waiting(), 0u);
  EXPECT_FALSE(scheduler.RunOne());
}

TEST_F(LoaderHostTest, PinnedSettingsNeedNoTuning) {
  SimScheduler scheduler(1);
  LoaderHostOptions options = OptionsOn(storage::LocalFiles());
  options.tuning.executor = &scheduler;
  options.threads_pinned = true;
  options.read_threads = 0;
  const std::unique_ptr<LoaderHost> host = Create(options);
  EXPECT_EQ(scheduler.waiting(), 0u);
  EXPECT_EQ(host->tuning().Get().setting, (tuning::TuningSetting{2, 0}));
}

}  // namespace
}  // namespace penstock::host
