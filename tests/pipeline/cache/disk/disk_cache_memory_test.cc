// The memory of the disk cache: its index and the records that wait to be written.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "pipeline/cache/disk/disk_cache.h"
#include "tests/pipeline/cache/disk/disk_cache_testing.h"

namespace penstock::cache {
namespace {

TEST_F(DiskCacheTest, TheMemoryOfTheIndexIsBounded) {
  index_bytes_ = 5 * DiskSpace::kEntryMemory;
  {
    const auto cache = OpenCache();
    const auto use = cache->Use(kSpace, "a data set");
    Fill(cache.get(), 0, 30);
    EXPECT_EQ(Held(cache.get(), 0, 30), 5u);
  }
  index_bytes_ = 3 * DiskSpace::kEntryMemory;
  const auto cache = OpenCache();
  const auto use = cache->Use(kSpace, "a data set");
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 30), 3u);
}

// Grants memory while it has some.
class Grants final : public DiskIndexMemory {
 public:
  explicit Grants(uint64_t bytes) : left_(bytes) {}
  bool ReserveIndex(uint64_t bytes) override {
    MutexLock lock(&mutex_);
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }
  void ReleaseIndex(uint64_t bytes) override { Add(bytes); }
  void Add(uint64_t bytes) {
    MutexLock lock(&mutex_);
    left_ += bytes;
  }
  uint64_t left() {
    MutexLock lock(&mutex_);
    return left_;
  }

 private:
  Mutex mutex_;
  uint64_t left_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(DiskCacheTest, TheIndexGrowsWithGrantedMemoryAndReturnsIt) {
  index_bytes_ = 5 * DiskSpace::kEntryMemory;
  const auto grants = std::make_shared<Grants>(2 * kStep);
  {
    const auto cache = OpenCache();
    cache->GrowIndexWith(grants);
    auto use = cache->Use(kSpace, "a data set");
    Fill(cache.get(), 0, 30);
    EXPECT_EQ(Held(cache.get(), 0, 30), 25u) << "5 records, and 10 for each of the two steps";
    EXPECT_EQ(grants->left(), 0u);
    // After a refusal the cache asks again a second later.
    grants->Add(kStep);
    Fill(cache.get(), 25, 30);
    EXPECT_EQ(Held(cache.get(), 0, 30), 25u);
    clock_.Advance(kSecond);
    Fill(cache.get(), 25, 30);
    EXPECT_EQ(Held(cache.get(), 0, 30), 30u);
    use.reset();
    cache->Flush();
    EXPECT_EQ(grants->left(), 3 * kStep);
  }
  {
    // Memory of an owner that is gone is not returned to the next one.
    const auto cache = OpenCache();
    auto gone = std::make_shared<Grants>(3 * kStep);
    cache->GrowIndexWith(gone);
    auto use = cache->Use(kSpace, "a data set");
    cache->Flush();
    gone.reset();
    cache->GrowIndexWith(grants);
    use.reset();
    cache->Flush();
    EXPECT_EQ(grants->left(), 3 * kStep);
  }
  // A cache that is opened again asks for the memory of the records that it has.
  const auto cache = OpenCache();
  cache->GrowIndexWith(grants);
  const auto use = cache->Use(kSpace, "a data set");
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 30), 30u);
  EXPECT_EQ(grants->left(), 0u);
}

TEST_F(DiskCacheTest, TheMemoryOfQueuedRecordsIsBounded) {
  queue_bytes_ = 999;
  const auto cache = OpenCache();
  const auto use = cache->Use(kSpace, "a data set");
  Fill(cache.get(), 0, 5);
  EXPECT_EQ(Held(cache.get(), 0, 5), 0u) << "each record is larger than the queue";
}

}  // namespace
}  // namespace penstock::cache
