#include "pipeline/cache/row_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace penstock {
namespace {

std::shared_ptr<const std::string> Row(size_t bytes, char fill) {
  return std::make_shared<const std::string>(bytes, fill);
}

uint64_t RowCharge(size_t bytes) { return std::string(bytes, 'x').capacity() + RowCache::kEntryOverhead; }

TEST(RowCache, GivesBackWhatWasKeptAndSharedAndCounts) {
  RowCache cache(1 << 20);
  EXPECT_EQ(cache.Find({1, 0, 7}), nullptr);
  EXPECT_TRUE(cache.Keep({1, 0, 7}, Row(100, 'a')));
  EXPECT_TRUE(cache.Share({2, 5, 7}, Row(100, 'b')));
  ASSERT_NE(cache.Find({1, 0, 7}), nullptr);
  EXPECT_EQ(*cache.Find({1, 0, 7}), std::string(100, 'a'));
  EXPECT_EQ(*cache.Find({2, 5, 7}), std::string(100, 'b'));
  EXPECT_EQ(cache.Find({2, 6, 7}), nullptr) << "another epoch";
  EXPECT_EQ(cache.hits(), 3u);
  EXPECT_EQ(cache.misses(), 2u);
  EXPECT_EQ(cache.bytes(), 2 * RowCharge(100));
}

TEST(RowCache, TheOldestSharedRowsMakeRoomForNewOnes) {
  RowCache cache(3 * RowCharge(500));
  for (uint64_t p = 0; p < 10; ++p) {
    EXPECT_TRUE(cache.Share({1, 0, p}, Row(500, 'a')));
    EXPECT_LE(cache.bytes(), cache.limit());
  }
  for (uint64_t p = 0; p < 10; ++p) EXPECT_EQ(cache.Find({1, 0, p}) != nullptr, p >= 7) << p;
}

TEST(RowCache, KeptRowsStayAndDisplaceSharedOnes) {
  RowCache cache(3 * RowCharge(500));
  EXPECT_TRUE(cache.Share({1, 0, 0}, Row(500, 'a')));
  EXPECT_TRUE(cache.Keep({2, 0, 0}, Row(500, 'b')));
  EXPECT_TRUE(cache.Keep({2, 0, 1}, Row(500, 'b')));
  EXPECT_NE(cache.Find({1, 0, 0}), nullptr);
  EXPECT_TRUE(cache.HasRoomToKeep(500));
  EXPECT_TRUE(cache.Keep({2, 0, 2}, Row(500, 'b')));
  EXPECT_EQ(cache.Find({1, 0, 0}), nullptr);
  EXPECT_FALSE(cache.HasRoomToKeep(1));
  EXPECT_FALSE(cache.Keep({2, 0, 3}, Row(500, 'b')));
  EXPECT_FALSE(cache.Share({1, 0, 1}, Row(500, 'a')));
  for (uint64_t record = 0; record < 3; ++record) EXPECT_NE(cache.Find({2, 0, record}), nullptr);
}

TEST(RowCache, ARowThatNeverFitsDisplacesNothing) {
  RowCache cache(3 * RowCharge(500));
  EXPECT_TRUE(cache.Share({1, 0, 0}, Row(500, 'a')));
  EXPECT_FALSE(cache.Share({1, 0, 1}, Row(5000, 'a')));
  EXPECT_FALSE(cache.Keep({1, 0, 1}, Row(5000, 'a')));
  EXPECT_NE(cache.Find({1, 0, 0}), nullptr);
}

TEST(RowCache, DroppingASpaceFreesItsBytesAndLeavesTheOthers) {
  RowCache cache(1 << 20);
  for (uint64_t n = 0; n < 100; ++n) {
    cache.Keep({1, 0, n}, Row(100, 'a'));
    cache.Share({1, 3, n}, Row(100, 'a'));
    cache.Share({2, 0, n}, Row(100, 'b'));
  }
  const auto held = cache.Find({1, 0, 5});
  cache.DropSpace(1);
  EXPECT_EQ(cache.bytes(), 100 * RowCharge(100));
  EXPECT_EQ(cache.Find({1, 0, 5}), nullptr);
  EXPECT_EQ(cache.Find({1, 3, 5}), nullptr);
  EXPECT_NE(cache.Find({2, 0, 5}), nullptr);
  EXPECT_EQ(held->size(), 100u);
}

TEST(RowCache, WithoutALimitTakesNothing) {
  RowCache cache(0);
  EXPECT_FALSE(cache.Keep({1, 0, 1}, Row(1, 'a')));
  EXPECT_FALSE(cache.Share({1, 0, 1}, Row(1, 'a')));
  EXPECT_EQ(cache.Find({1, 0, 1}), nullptr);
  EXPECT_EQ(cache.misses(), 0u);
}

TEST(RowCache, ManyThreadsNeverPassTheLimit) {
  RowCache cache(50 * RowCharge(300));
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (uint64_t i = 0; i < 2000; ++i) {
        const RowKey key{1 + i % 2, i / 100, (i * 7 + t) % 100};
        if (cache.Find(key) == nullptr) {
          if (i % 3 == 0) {
            cache.Keep(key, Row(300, 'x'));
          } else {
            cache.Share(key, Row(300, 'x'));
          }
        }
        EXPECT_LE(cache.bytes(), cache.limit());
        if (i % 500 == 499) cache.DropSpace(1 + t % 2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  cache.DropSpace(1);
  cache.DropSpace(2);
  EXPECT_EQ(cache.bytes(), 0u);
}

}  // namespace
}  // namespace penstock
