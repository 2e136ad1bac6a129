// The caches of a loader share memory with rows: sizes, releases and entries of jobs, without a loader.
#include "pipeline/loader/loader_caches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/loader_testing.h"

namespace penstock::loader {
namespace {

constexpr uint64_t kShared = 1000 << 10;  // bytes of rows and caches

// The memory of rows: `used` bytes are reserved or in use.
class MadeUpRows final : public LoaderCaches::RowMemory {
 public:
  explicit MadeUpRows(uint64_t total) : total_(total) {}
  void RestartPeak(uint64_t cached) override { cached_at_restart = cached; }
  uint64_t Raise(uint64_t bytes) override { return total_ = std::max(total_, bytes); }
  uint64_t Lower(uint64_t bytes) override { return total_ = std::max(bytes, used); }
  uint64_t total() const { return total_; }

  uint64_t used = 0;
  uint64_t cached_at_restart = 0;

 private:
  uint64_t total_;
};

class LoaderCachesTest : public ::testing::Test {
 protected:
  LoaderCachesTest() {
    options_.bytes = kShared;
    options_.limits.first = {100 << 10, 100 << 10, 0};
  }
  void Make() {
    rows_ = std::make_unique<MadeUpRows>(kShared - options_.limits.first.sum());
    caches_ = std::make_unique<LoaderCaches>(options_, rows_.get());
  }
  void Expect(const tuning::CacheSizes& sizes) {
    EXPECT_EQ(caches_->sizes(), sizes);
    EXPECT_LE(caches_->sizes().sum() + rows_->total(), kShared);
  }
  // Fills the cache of records with entries of this space.
  void Fill(uint64_t space) {
    for (uint64_t record = 0; caches_->records()->HasRoomFor(10'000); ++record) {
      caches_->records()->Insert({space, record}, std::make_shared<const std::string>(10'000, 'x'));
    }
  }

  LoaderCaches::Options options_;
  std::unique_ptr<MadeUpRows> rows_;
  std::unique_ptr<LoaderCaches> caches_;
};

TEST_F(LoaderCachesTest, CachesThatSaveMostPerByteGrowFirst) {
  Make();
  Expect({100 << 10, 100 << 10, 0});
  EXPECT_EQ(caches_->SetSizes({300 << 10, 200 << 10, 100 << 10}),
            (tuning::CacheSizes{300 << 10, 200 << 10, 100 << 10}));
  Expect({300 << 10, 200 << 10, 100 << 10});
  EXPECT_EQ(rows_->total(), 400u << 10);
  // Rows use 600 KiB.
  caches_->SetSizes({0, 0, 0});
  rows_->used = 600 << 10;
  caches_->SetSizes({300 << 10, 200 << 10, 300 << 10});
  Expect({0, 100 << 10, 300 << 10});
}

TEST_F(LoaderCachesTest, ACacheFreesItsMemoryBeforeRowsGetIt) {
  Make();
  caches_->SetSizes({500 << 10, 0, 0});
  Fill(1);
  const uint64_t full = caches_->bytes();
  EXPECT_GT(full, 400u << 10);
  caches_->SetSizes({100 << 10, 0, 0});
  EXPECT_EQ(rows_->cached_at_restart, full);
  EXPECT_LE(caches_->bytes(), 100u << 10);
  EXPECT_EQ(rows_->total(), 900u << 10);
}

TEST_F(LoaderCachesTest, AReleaseTakesTheGainsOfChosenCachesOrNothing) {
  Make();
  caches_->SetSizes({200 << 10, 300 << 10, 100 << 10});
  EXPECT_TRUE(caches_->Release(150 << 10, LoaderCaches::For::kRows));
  Expect({200 << 10, 150 << 10, 100 << 10});
  EXPECT_TRUE(caches_->Release(100 << 10, LoaderCaches::For::kRows));
  Expect({150 << 10, 100 << 10, 100 << 10});
  EXPECT_FALSE(caches_->Release((150 << 10) + 1, LoaderCaches::For::kRows));
  Expect({150 << 10, 100 << 10, 100 << 10});
  options_.limits.records_pinned = options_.limits.decoded_pinned = options_.limits.rows_pinned = true;
  Make();
  caches_->SetSizes({200 << 10, 300 << 10, 100 << 10});
  EXPECT_FALSE(caches_->Release(1, LoaderCaches::For::kRows));
}

TEST_F(LoaderCachesTest, RowsKeepReclaimedMemoryUntilNoSessionIsOpen) {
  Make();
  const tuning::CacheSizes large{500 << 10, 300 << 10, 0};
  caches_->SetSizes(large);
  ASSERT_TRUE(caches_->Release(400 << 10, LoaderCaches::For::kRows));
  EXPECT_EQ(caches_->rows_need(), 600u << 10);
  caches_->SetSizes(large);
  Expect({300 << 10, 100 << 10, 0});
  caches_->NoSessions();
  EXPECT_EQ(caches_->rows_need(), 0u);
  caches_->SetSizes(large);
  Expect(large);
  // The index of the disk cache takes its bytes from the rows, and the caches may grow again.
  ASSERT_TRUE(caches_->Release(400 << 10, LoaderCaches::For::kDiskIndex));
  EXPECT_EQ(caches_->rows_need(), 0u);
  caches_->SetSizes(large);
  Expect(large);
}

TEST_F(LoaderCachesTest, EntriesAreDroppedWithTheirLastJob) {
  Make();
  MemoryJob first = MakeMemoryJob(10, 100, 8), other = MakeMemoryJob(11, 100, 8);
  MemoryJob same = MakeMemoryJob(10, 100, 8);
  ASSERT_EQ(first.job->record_space(), same.job->record_space());
  ASSERT_NE(first.job->record_space(), other.job->record_space());
  for (const MemoryJob* job : {&first, &other, &same}) caches_->AddJob(job->job);
  const cache::CacheKey mine{first.job->record_space(), 1}, others{other.job->record_space(), 1};
  for (const cache::CacheKey& key : {mine, others}) {
    caches_->records()->Insert(key, std::make_shared<const std::string>("record"));
  }
  first.job.reset();
  caches_->Sweep();
  EXPECT_TRUE(caches_->records()->Contains(mine));
  same.job.reset();
  caches_->Sweep();
  EXPECT_FALSE(caches_->records()->Contains(mine));
  EXPECT_TRUE(caches_->records()->Contains(others));
}

TEST_F(LoaderCachesTest, APurgeCountsWhatHasJustBeenDropped) {
  ManualClock clock;
  options_.clock = &clock;
  Make();
  MemoryJob purged = MakeMemoryJob(10, 100, 8), other = MakeMemoryJob(11, 100, 8);
  const uint64_t space = purged.job->record_space();
  const uint64_t decoded = purged.job->decoded_space();
  for (const MemoryJob* job : {&purged, &other}) caches_->AddJob(job->job);
  for (const uint64_t of : {space, other.job->record_space()}) {
    caches_->records()->Insert({of, 1}, std::make_shared<const std::string>("record"));
  }
  caches_->decoded()->Insert({decoded, 1}, std::make_shared<const std::string>(500, 'd'));
  EXPECT_TRUE(absl::IsUnavailable(caches_->Purge(space).status()));
  EXPECT_TRUE(caches_->records()->Contains({space, 1}));

  const uint64_t before = caches_->bytes();
  purged.job.reset();
  caches_->Sweep();  // as each heartbeat does
  clock.Advance(LoaderCaches::kSweptRecently);
  const uint64_t after = caches_->bytes();
  EXPECT_GT(before - after, 500u);
  EXPECT_EQ(caches_->Purge(space)->memory, before - after);
  EXPECT_EQ(caches_->Purge(space)->memory, 0u);  // each byte counts once
  EXPECT_TRUE(caches_->records()->Contains({other.job->record_space(), 1}));

  const uint64_t others = other.job->record_space();
  other.job.reset();
  caches_->Sweep();
  clock.Advance(LoaderCaches::kSweptRecently + 1);
  EXPECT_EQ(caches_->Purge(others)->memory, 0u) << "that was long ago";
}

TEST_F(LoaderCachesTest, StatsNameChosenCachesAndHaveNoNegativeSaving) {
  options_.limits.decoded_pinned = true;
  Make();
  LoaderStats stats;
  caches_->AddTo({.record = 2, .decoded = -1, .row = 3}, &stats);
  EXPECT_EQ(stats.record_cache.saved_seconds, 2);
  EXPECT_EQ(stats.decoded_cache.saved_seconds, 0);
  EXPECT_EQ(stats.row_cache.saved_seconds, 3);
  EXPECT_TRUE(stats.record_cache.chosen);
  EXPECT_FALSE(stats.decoded_cache.chosen);
  EXPECT_EQ(stats.record_cache.limit, 100u << 10);
}

}  // namespace
}  // namespace penstock::loader
