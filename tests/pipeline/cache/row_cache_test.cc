#include "pipeline/cache/row_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace penstock::cache {
namespace {

std::string Row(size_t bytes, char fill) { return std::string(bytes, fill); }

uint64_t RowCharge(size_t bytes) { return std::string(bytes, 'x').capacity() + RowCache::kEntryOverhead; }

TEST(RowCache, ReturnsKeptAndSharedRowsAndCountsHitsAndMisses) {
  RowCache cache(1 << 20);
  EXPECT_EQ(cache.Find({1, 0, 7}), nullptr);
  EXPECT_TRUE(cache.Keep({1, 0, 7}, Row(100, 'a')));
  EXPECT_TRUE(cache.Share({2, 5, 7}, Row(100, 'b'), 1));
  ASSERT_NE(cache.Find({1, 0, 7}), nullptr);
  EXPECT_EQ(cache.Find({1, 0, 7})->bytes, std::string(100, 'a'));
  EXPECT_EQ(cache.Find({2, 5, 7})->bytes, std::string(100, 'b'));
  EXPECT_EQ(cache.Find({2, 6, 7}), nullptr) << "another epoch";
  EXPECT_EQ(cache.hits(), 3u);
  EXPECT_EQ(cache.misses(), 2u);
  EXPECT_EQ(cache.bytes(), 2 * RowCharge(100));
}

TEST(RowCache, NewSharedRowsEvictTheOldestSharedRows) {
  RowCache cache(3 * RowCharge(500));
  for (uint64_t p = 0; p < 10; ++p) {
    EXPECT_TRUE(cache.Share({1, 0, p}, Row(500, 'a'), 1));
    EXPECT_LE(cache.bytes(), cache.limit());
  }
  for (uint64_t p = 0; p < 10; ++p) EXPECT_EQ(cache.Find({1, 0, p}) != nullptr, p >= 7) << p;
}

TEST(RowCache, KeptRowsStayAndEvictSharedRows) {
  RowCache cache(3 * RowCharge(500));
  EXPECT_TRUE(cache.Share({1, 0, 0}, Row(500, 'a'), 1));
  EXPECT_TRUE(cache.Keep({2, 0, 0}, Row(500, 'b')));
  EXPECT_TRUE(cache.Keep({2, 0, 1}, Row(500, 'b')));
  EXPECT_NE(cache.Find({1, 0, 0}), nullptr);
  EXPECT_TRUE(cache.HasRoomToKeep(500));
  EXPECT_TRUE(cache.Keep({2, 0, 2}, Row(500, 'b')));
  EXPECT_EQ(cache.Find({1, 0, 0}), nullptr);
  EXPECT_FALSE(cache.HasRoomToKeep(1));
  EXPECT_FALSE(cache.Keep({2, 0, 3}, Row(500, 'b')));
  EXPECT_FALSE(cache.Share({1, 0, 1}, Row(500, 'a'), 1));
  for (uint64_t record = 0; record < 3; ++record) EXPECT_NE(cache.Find({2, 0, record}), nullptr);
}

TEST(RowCache, ASharedRowIsEvictedAfterItsLastReaderAndAKeptRowStays) {
  RowCache cache(1 << 20);
  ASSERT_TRUE(cache.Share({1, 0, 0}, Row(500, 'a'), 2));
  ASSERT_TRUE(cache.Keep({2, 0, 0}, Row(500, 'b')));
  const auto held = cache.Find({1, 0, 0});
  EXPECT_NE(cache.Find({1, 0, 0}), nullptr) << "Find() does not report the row as taken";
  cache.ReportTaken({1, 0, 0});
  EXPECT_NE(cache.Find({1, 0, 0}), nullptr) << "one more reader wants the row";
  cache.ReportTaken({1, 0, 0});
  EXPECT_EQ(cache.Find({1, 0, 0}), nullptr);
  EXPECT_EQ(held->bytes, std::string(500, 'a')) << "the holder keeps the row";
  cache.ReportTaken({1, 0, 0});
  for (int i = 0; i < 3; ++i) cache.ReportTaken({2, 0, 0});
  EXPECT_NE(cache.Find({2, 0, 0}), nullptr);
  EXPECT_EQ(cache.bytes(), RowCharge(500));
}

TEST(RowCache, ARowThatNeverFitsEvictsNothing) {
  RowCache cache(3 * RowCharge(500));
  EXPECT_TRUE(cache.Share({1, 0, 0}, Row(500, 'a'), 1));
  EXPECT_FALSE(cache.Share({1, 0, 1}, Row(5000, 'a'), 1));
  EXPECT_FALSE(cache.Keep({1, 0, 1}, Row(5000, 'a')));
  EXPECT_NE(cache.Find({1, 0, 0}), nullptr);
}

TEST(RowCache, DroppingASpaceFreesItsBytesAndLeavesTheOthers) {
  RowCache cache(1 << 20);
  for (uint64_t n = 0; n < 100; ++n) {
    cache.Keep({1, 0, n}, Row(100, 'a'));
    cache.Share({1, 3, n}, Row(100, 'a'), 1);
    cache.Share({2, 0, n}, Row(100, 'b'), 1);
  }
  const auto held = cache.Find({1, 0, 5});
  EXPECT_EQ(cache.DropSpace(1), 200 * RowCharge(100));
  EXPECT_EQ(cache.bytes(), 100 * RowCharge(100));
  EXPECT_EQ(cache.Find({1, 0, 5}), nullptr);
  EXPECT_EQ(cache.Find({1, 3, 5}), nullptr);
  EXPECT_NE(cache.Find({2, 0, 5}), nullptr);
  EXPECT_EQ(held->bytes.size(), 100u);
}

TEST(RowCache, ALimitOfZeroKeepsNothing) {
  RowCache cache(0);
  EXPECT_FALSE(cache.Keep({1, 0, 1}, Row(1, 'a')));
  EXPECT_FALSE(cache.Share({1, 0, 1}, Row(1, 'a'), 1));
  EXPECT_EQ(cache.Find({1, 0, 1}), nullptr);
  EXPECT_EQ(cache.misses(), 0u);
}

TEST(RowCache, ManyThreadsNeverExceedTheLimit) {
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
            cache.Share(key, Row(300, 'x'), 1);
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

// ---- Rows in shared row files ------------------------------------------------------------------------------------

constexpr size_t kLarge = 20'000;

TEST(LentRows, OnlyLargeKeptRowsLieInFilesOfTheirSpace) {
  const auto files = std::make_shared<SharedRowFiles>();
  RowCache cache(64 << 20, files);
  ASSERT_TRUE(cache.Keep({1, 0, 1}, Row(kLarge, 'a')));
  ASSERT_TRUE(cache.Keep({1, 0, 2}, Row(kLarge, 'b')));
  ASSERT_TRUE(cache.Keep({2, 0, 1}, Row(kLarge, 'c')));
  ASSERT_TRUE(cache.Keep({1, 0, 3}, Row(100, 'd')));
  ASSERT_TRUE(cache.Share({3, 0, 1}, Row(kLarge, 'e'), 1));
  const auto file_of = [&](const RowKey& key) {
    const auto row = cache.Find(key);
    const auto file = files->FileOf(row->bytes.data(), row->bytes.size());
    EXPECT_EQ(row->in_shared_file, file != nullptr);
    return file;
  };
  EXPECT_NE(file_of({1, 0, 1}), nullptr);
  EXPECT_EQ(file_of({1, 0, 1}), file_of({1, 0, 2}));
  EXPECT_NE(file_of({2, 0, 1}), nullptr);
  EXPECT_NE(file_of({2, 0, 1}), file_of({1, 0, 1})) << "rows of two jobs share no file";
  EXPECT_EQ(file_of({1, 0, 3}), nullptr) << "small rows are joined in messages anyway";
  EXPECT_EQ(file_of({3, 0, 1}), nullptr) << "shared rows are short-lived";
  EXPECT_EQ(cache.Find({1, 0, 2})->bytes, Row(kLarge, 'b'));
  EXPECT_EQ(cache.Find({2, 0, 1})->bytes, Row(kLarge, 'c'));
}

TEST(LentRows, RowsOfSeveralFilesStayWithinTheLimit) {
  const auto files = std::make_shared<SharedRowFiles>();
  RowCache cache(40 << 20, files);
  const size_t row = 3 << 20;
  int kept = 0;
  for (uint64_t k = 0; k < 20; ++k) kept += cache.Keep({1, 0, k}, Row(row, static_cast<char>(k)));
  EXPECT_EQ(kept, 13);
  EXPECT_LE(cache.bytes(), cache.limit());
  for (uint64_t k = 0; k < 13; ++k) EXPECT_EQ(cache.Find({1, 0, k})->bytes, Row(row, static_cast<char>(k)));
  cache.DropSpace(1);
  EXPECT_EQ(cache.bytes(), 0u);
}

// A trainer may still read a row after its stream has ended, and receives no notification.
TEST(LentRows, ALentRowIsUnchangedAfterItsSpaceIsDropped) {
  const auto files = std::make_shared<SharedRowFiles>();
  RowCache cache(8 << 20, files);
  ASSERT_TRUE(cache.Keep({1, 0, 1}, Row(kLarge, 'a')));
  const auto row = cache.Find({1, 0, 1});
  const auto mapped = SealedMemory::Open(OwnedFd(dup(files->FileOf(row->bytes.data(), 1)->fd())),
                                         files->FileOf(row->bytes.data(), 1)->size());
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  const size_t from = row->bytes.data() - reinterpret_cast<const char*>(files->FileOf(row->bytes.data(), 1)->data());
  const std::string_view seen(reinterpret_cast<const char*>(mapped->data()) + from, kLarge);
  for (int round = 0; round < 3; ++round) {
    cache.DropSpace(1);
    for (uint64_t k = 0; k < 100; ++k) ASSERT_TRUE(cache.Keep({1, 0, k}, Row(kLarge, 'z')));
    EXPECT_EQ(row->bytes, Row(kLarge, 'a'));
    EXPECT_EQ(seen, Row(kLarge, 'a')) << "a place that was lent is never written again";
  }
}

TEST(RowCache, ALowerLimitEvictsSharedRowsBeforeKeptRows) {
  RowCache cache(100 * (1000 + RowCache::kEntryOverhead) + 100 * 64);
  for (uint64_t k = 0; k < 20; ++k) ASSERT_TRUE(cache.Keep({1, 0, k}, Row(1000, 'a')));
  for (uint64_t k = 0; k < 20; ++k) ASSERT_TRUE(cache.Keep({2, 0, k}, Row(1000, 'b')));
  const uint64_t kept = cache.bytes();
  for (uint64_t k = 0; k < 20; ++k) ASSERT_TRUE(cache.Share({3, 1, k}, Row(1000, 'c'), 1));
  cache.SetLimit(kept + 5 * (1000 + RowCache::kEntryOverhead) + 500);
  EXPECT_EQ(cache.Find({3, 1, 0}), nullptr);
  EXPECT_NE(cache.Find({3, 1, 19}), nullptr) << "the latest row stays";
  EXPECT_NE(cache.Find({1, 0, 3}), nullptr);
  EXPECT_NE(cache.Find({2, 0, 3}), nullptr);
  cache.SetLimit(kept - 1);
  EXPECT_EQ(cache.Find({3, 1, 19}), nullptr);
  EXPECT_EQ(cache.bytes(), kept - RowCharge(1000));
  cache.SetLimit(kept / 4);
  EXPECT_EQ(cache.bytes(), kept / 4);
  cache.SetLimit(2 * kept);
  EXPECT_TRUE(cache.Keep({4, 0, 1}, Row(1000, 'd')));
}

TEST(LentRows, ALowerLimitKeepsItsShareOfRowsAndHits) {
  const auto files = std::make_shared<SharedRowFiles>();
  RowCache cache(64 << 20, files);
  const uint64_t rows = 3000;
  for (uint64_t k = 0; k < rows; ++k) ASSERT_TRUE(cache.Keep({1 + k % 2, 0, k}, Row(kLarge, 'a')));
  const uint64_t full = cache.bytes();
  // Bytes of the files that still have pages: those with at least one row.
  const auto held = [&] {
    std::map<const SharedRowFile*, uint64_t> sizes;
    uint64_t sum = 0;
    for (uint64_t k = 0; k < rows; ++k) {
      const auto row = cache.Find({1 + k % 2, 0, k});
      if (row == nullptr) continue;
      const auto file = files->FileOf(row->bytes.data(), row->bytes.size());
      sizes[file.get()] = file->size();
    }
    for (const auto& [file, size] : sizes) sum += size;
    return sum;
  };
  for (const double part : {0.8, 0.5, 0.2}) {
    cache.SetLimit(static_cast<uint64_t>(part * static_cast<double>(full)));
    EXPECT_LE(cache.bytes(), cache.limit());
    EXPECT_GE(cache.bytes() + (5 << 20), cache.limit()) << "evicts at most one file too many";
    const uint64_t hits = cache.hits();
    for (uint64_t k = 0; k < rows; ++k) cache.Find({1 + k % 2, 0, k});
    const double rate = static_cast<double>(cache.hits() - hits) / static_cast<double>(rows);
    EXPECT_NEAR(rate, part, 0.08);
    EXPECT_LE(held(), cache.limit() + (9 << 20)) << "evicted rows release their memory, except one open file per job";
  }
  // The cache fills again.
  cache.SetLimit(full);
  for (uint64_t k = 0; k < rows; ++k) cache.Keep({1 + k % 2, 0, k}, Row(kLarge, 'a'));
  EXPECT_EQ(cache.bytes(), full);
}

TEST(LentRows, ALimitThatIsLoweredDuringInsertionsHoldsAfterwards) {
  RowCache cache(32 << 20, std::make_shared<SharedRowFiles>());
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&cache, t] {
      for (uint64_t k = 0; k < 3000; ++k) {
        const RowKey key{1, 0, (k * 7 + static_cast<uint64_t>(t)) % 1500};
        cache.Keep(key, Row(kLarge, static_cast<char>(key.number)));
        if (const auto row = cache.Find(key); row != nullptr) {
          EXPECT_EQ(row->bytes, Row(kLarge, static_cast<char>(key.number)));
        }
        if (t == 0 && k % 50 == 0) cache.SetLimit(((k / 50) % 8 + 1) << 22);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  cache.SetLimit(5 << 20);
  EXPECT_LE(cache.bytes(), uint64_t{5} << 20);
}

TEST(LentRows, AHeldRowIsUnchangedAfterTheLimitIsLowered) {
  RowCache cache(4 << 20, std::make_shared<SharedRowFiles>());
  for (uint64_t k = 0; k < 50; ++k) ASSERT_TRUE(cache.Keep({1, 0, k}, Row(kLarge, 'a')));
  const auto row = cache.Find({1, 0, 7});
  cache.SetLimit(0);
  EXPECT_EQ(cache.bytes(), 0u);
  EXPECT_EQ(row->bytes, Row(kLarge, 'a'));
}

TEST(LentRows, ManyThreadsWriteEachRowOnce) {
  const auto files = std::make_shared<SharedRowFiles>();
  RowCache cache(4 << 20, files);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int k = 0; k < 2000; ++k) {
        const uint64_t number = (k * 7 + t) % 100;
        cache.Keep({1, 0, number}, Row(kLarge, static_cast<char>(number)));
        const auto row = cache.Find({1, 0, number});
        if (t == 0 && k % 500 == 499) cache.DropSpace(1);
        if (row == nullptr) continue;
        EXPECT_EQ(row->bytes, Row(kLarge, static_cast<char>(number)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.bytes(), cache.limit());
}

}  // namespace
}  // namespace penstock::cache
