#include "pipeline/cache/byte_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace penstock::cache {
namespace {

std::shared_ptr<const std::string> Value(size_t bytes, char fill) {
  return std::make_shared<const std::string>(bytes, fill);
}

uint64_t ChargeOf(size_t bytes) { return std::string(bytes, 'x').capacity() + ByteCache::kEntryOverhead; }

TEST(ByteCache, ReturnsInsertedValuesAndCountsHitsAndMisses) {
  ByteCache cache(1 << 20);
  EXPECT_EQ(cache.Find({1, 7}), nullptr);
  EXPECT_TRUE(cache.Insert({1, 7}, Value(100, 'a')));
  const auto found = cache.Find({1, 7});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(*found, std::string(100, 'a'));
  EXPECT_EQ(cache.Find({2, 7}), nullptr);  // another space
  EXPECT_EQ(cache.hits(), 1u);
  EXPECT_EQ(cache.misses(), 2u);
  EXPECT_EQ(cache.bytes(), ChargeOf(100));
}

TEST(ByteCache, TheLimitIsExact) {
  ByteCache cache(3 * ChargeOf(1000));
  EXPECT_TRUE(cache.Insert({1, 0}, Value(1000, 'a')));
  EXPECT_TRUE(cache.Insert({1, 1}, Value(1000, 'a')));
  EXPECT_TRUE(cache.HasRoomFor(std::string(1000, 'x').capacity()));
  EXPECT_TRUE(cache.Insert({1, 2}, Value(1000, 'a')));  // fills the cache to the last byte
  EXPECT_EQ(cache.bytes(), cache.limit());
  EXPECT_FALSE(cache.HasRoomFor(0));
  EXPECT_FALSE(cache.Insert({1, 3}, Value(1, 'a')));
  EXPECT_EQ(cache.Find({1, 3}), nullptr);
}

TEST(ByteCache, ACyclicScanOfTwiceItsSizeHitsHalf) {
  ByteCache cache(100 * ChargeOf(500));
  uint64_t hits = 0;
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (uint64_t record = 0; record < 200; ++record) {
      if (cache.Find({1, record}) != nullptr) {
        ++hits;
      } else {
        cache.Insert({1, record}, Value(500, 'r'));
      }
    }
  }
  EXPECT_EQ(hits, 3u * 100u);
}

TEST(ByteCache, InsertingTwiceKeepsTheFirstAndChargesOnce) {
  ByteCache cache(1 << 20);
  EXPECT_TRUE(cache.Insert({1, 1}, Value(100, 'a')));
  EXPECT_TRUE(cache.Insert({1, 1}, Value(100, 'b')));
  EXPECT_EQ(cache.Find({1, 1})->front(), 'a');
  EXPECT_EQ(cache.bytes(), ChargeOf(100));
}

TEST(ByteCache, DroppingASpaceFreesItsBytesAndLeavesTheOthers) {
  ByteCache cache(1 << 20);
  for (uint64_t record = 0; record < 200; ++record) {
    cache.Insert({1, record}, Value(100, 'a'));
    cache.Insert({2, record}, Value(100, 'b'));
  }
  const auto held = cache.Find({1, 5});
  EXPECT_EQ(cache.DropSpace(1), 200 * ChargeOf(100));
  EXPECT_EQ(cache.bytes(), 200 * ChargeOf(100));
  EXPECT_EQ(cache.Find({1, 5}), nullptr);
  EXPECT_NE(cache.Find({2, 5}), nullptr);
  EXPECT_EQ(held->size(), 100u);  // a reader keeps its value after the eviction
}

TEST(ByteCache, ALimitOfZeroKeepsNothing) {
  ByteCache cache(0);
  EXPECT_FALSE(cache.Insert({1, 1}, Value(1, 'a')));
  EXPECT_EQ(cache.Find({1, 1}), nullptr);
  EXPECT_EQ(cache.misses(), 0u);
}

TEST(ByteCache, ALowerLimitEvictsOnlyTheExcessAndAHigherLimitAdmits) {
  ByteCache cache(100 * ChargeOf(100));
  for (uint64_t record = 0; record < 100; ++record) cache.Insert({1, record}, Value(100, 'a'));
  cache.SetLimit(60 * ChargeOf(100) + 5);
  EXPECT_EQ(cache.bytes(), 60 * ChargeOf(100));
  size_t found = 0;
  for (uint64_t record = 0; record < 100; ++record) found += cache.Find({1, record}) != nullptr ? 1 : 0;
  EXPECT_EQ(found, 60u);
  EXPECT_FALSE(cache.Insert({2, 1}, Value(100, 'b')));
  cache.SetLimit(70 * ChargeOf(100));
  EXPECT_TRUE(cache.Insert({2, 1}, Value(100, 'b')));
  cache.SetLimit(0);
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_EQ(cache.Find({2, 1}), nullptr);
}

TEST(ByteCache, StaysWithinALimitThatChangesUnderManyThreads) {
  ByteCache cache(50 * ChargeOf(300));
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&cache, &done, t] {
      for (uint64_t i = 0; !done.load(); ++i) {
        const CacheKey key{1, (i * 7 + t) % 200};
        if (cache.Find(key) == nullptr) cache.Insert(key, Value(300, 'x'));
      }
    });
  }
  for (uint64_t i = 0; i < 2000; ++i) cache.SetLimit((i * 37 % 100) * ChargeOf(300));
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.bytes(), cache.limit());
}

TEST(ByteCache, ManyThreadsNeverExceedTheLimit) {
  ByteCache cache(50 * ChargeOf(300));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (uint64_t i = 0; i < 2000; ++i) {
        const CacheKey key{1 + i % 2, (i * 7 + t) % 100};
        const auto found = cache.Find(key);
        if (found == nullptr) cache.Insert(key, Value(300, 'x'));
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
}  // namespace penstock::cache
