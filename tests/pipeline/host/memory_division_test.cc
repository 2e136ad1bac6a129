#include "pipeline/host/memory_division.h"

#include <gtest/gtest.h>

namespace penstock::host {
namespace {

constexpr uint64_t kOneMiB = uint64_t{1} << 20;

TEST(MemoryDivision, WithoutADiskCacheAndRingsTheLoaderHasTheBudget) {
  const MemoryDivision parts = DivideMemory({.budget_bytes = 100 * kOneMiB, .cache_bytes = 99 * kOneMiB});
  EXPECT_EQ(parts.loader, 100 * kOneMiB);
  EXPECT_EQ(parts.disk_index + parts.disk_queue + parts.rings + parts.ring, 0u);
}

TEST(MemoryDivision, TheDiskCachesPartsComeFirst) {
  const MemoryDivision parts = DivideMemory({.budget_bytes = 64 * kOneMiB, .disk_cache = true, .rings = true});
  EXPECT_EQ(parts.disk_index, 1 * kOneMiB);
  EXPECT_EQ(parts.disk_queue, 2 * kOneMiB);
  EXPECT_EQ(parts.rings, 61 * kOneMiB / 8);
  EXPECT_EQ(parts.ring, parts.rings / 4);
}

TEST(MemoryDivision, LargeBudgetsHaveLimits) {
  const MemoryDivision parts = DivideMemory({.budget_bytes = uint64_t{1} << 40, .disk_cache = true, .rings = true});
  EXPECT_EQ(parts.disk_queue, 16 * kOneMiB);
  EXPECT_EQ(parts.rings, 512 * kOneMiB);
  EXPECT_EQ(parts.ring, 32 * kOneMiB);
}

TEST(MemoryDivision, RingsGetAtMostAQuarterOfTheMemoryThatCachesLeave) {
  EXPECT_EQ(DivideMemory({.budget_bytes = 80 * kOneMiB, .cache_bytes = 72 * kOneMiB, .rings = true}).rings,
            2 * kOneMiB);
  EXPECT_EQ(DivideMemory({.budget_bytes = 80 * kOneMiB, .cache_bytes = 90 * kOneMiB, .rings = true}).rings, 0u);
}

TEST(MemoryDivision, ThePartsSumUpToTheBudget) {
  for (const uint64_t budget : {uint64_t{0}, uint64_t{1}, 7 * kOneMiB + 13, uint64_t{3} << 33}) {
    for (const bool disk_cache : {false, true}) {
      for (const bool rings : {false, true}) {
        const MemoryDivision parts = DivideMemory({budget, budget / 3, disk_cache, rings});
        EXPECT_EQ(parts.disk_index + parts.disk_queue + parts.rings + parts.loader, budget);
        EXPECT_LE(parts.ring, parts.rings);
      }
    }
  }
}

}  // namespace
}  // namespace penstock::host
