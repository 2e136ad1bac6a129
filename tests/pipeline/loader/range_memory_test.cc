// Blocks of ranges: they do not overlap, hold their budget, and have no pages after their release.
#include "pipeline/loader/read_ahead/range_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace penstock::loader {
namespace {

uint64_t Page() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }

uint64_t PagesOf(const RangeMemory::Block& block) {
  std::vector<unsigned char> there(block.bytes / Page());
  EXPECT_EQ(mincore(block.data, block.bytes, there.data()), 0);
  uint64_t pages = 0;
  for (const unsigned char page : there) pages += page & 1;
  return pages;
}

class RangeMemoryTest : public testing::Test {
 protected:
  struct Budget : BudgetLease::Owner {
    void Release(uint64_t, uint64_t bytes) override { held -= bytes; }
    uint64_t held = 0;
  };

  RangeMemory::Block Acquire(uint64_t bytes) {
    const uint64_t size = RangeMemory::Takes(bytes);
    budget_->held += size;
    return memory_.Acquire(bytes, std::make_unique<BudgetLease>(budget_, 0, size));
  }
  RangeMemory::Block Filled(uint64_t bytes) {
    RangeMemory::Block block = Acquire(bytes);
    std::memset(block.data, 1, block.bytes);
    return block;
  }
  // The place of a block, for use after its owner released it.
  static RangeMemory::Block Place(const RangeMemory::Block& block) { return {block.data, block.bytes, nullptr}; }

  const std::shared_ptr<Budget> budget_ = std::make_shared<Budget>();
  RangeMemory memory_;
};

TEST_F(RangeMemoryTest, ABlockTakesWholePagesAndAtMostAnEighthMore) {
  uint64_t before = 0;
  for (uint64_t pages = 1; pages < 5000; ++pages) {
    const uint64_t bytes = pages * Page(), takes = RangeMemory::Takes(bytes);
    ASSERT_GE(takes, bytes);
    ASSERT_LE(takes, bytes + bytes / 8);
    ASSERT_EQ(takes % Page(), 0u);
    ASSERT_EQ(RangeMemory::Takes(takes), takes);
    ASSERT_EQ(RangeMemory::Takes(bytes - Page() + 1), takes);
    ASSERT_GE(takes, before);
    before = takes;
  }
  EXPECT_EQ(RangeMemory::Takes(0), Page());
}

TEST_F(RangeMemoryTest, KeptBlocksAreReusedWithTheirPagesAndBudget) {
  RangeMemory::Block block = Filled(100'000);
  const RangeMemory::Block place = Place(block);
  memory_.Release(std::move(block));
  EXPECT_EQ(memory_.kept(), place.bytes);
  EXPECT_EQ(budget_->held, place.bytes);
  EXPECT_EQ(memory_.AcquireKept(60'000).data, nullptr) << "the kept block is much larger";
  EXPECT_EQ(memory_.AcquireKept(110'000).data, nullptr);
  block = memory_.AcquireKept(90'000);
  EXPECT_EQ(block.data, place.data);
  EXPECT_EQ(block.bytes, place.bytes);
  EXPECT_EQ(block.lease->bytes(), place.bytes);
  EXPECT_EQ(block.data[place.bytes - 1], 1);
  EXPECT_EQ(memory_.kept(), 0u);
  EXPECT_EQ(memory_.AcquireKept(90'000).data, nullptr);
}

TEST_F(RangeMemoryTest, TheOldestKeptBlockIsReleasedFirst) {
  constexpr uint64_t kSize = 64 << 10;
  std::vector<RangeMemory::Block> places;
  for (const uint64_t bytes : {kSize, 2 * kSize, kSize}) {
    RangeMemory::Block block = Filled(bytes);
    places.push_back(Place(block));
    memory_.Release(std::move(block));
  }
  EXPECT_EQ(memory_.ReleaseKept(1), kSize);
  EXPECT_EQ(PagesOf(places[0]), 0u);
  EXPECT_EQ(PagesOf(places[1]), 2 * kSize / Page());
  EXPECT_EQ(budget_->held, 3 * kSize);
  EXPECT_EQ(memory_.ReleaseKept(UINT64_MAX), 3 * kSize);
  EXPECT_EQ(PagesOf(places[1]) + PagesOf(places[2]), 0u);
  EXPECT_EQ(budget_->held, 0u);
  EXPECT_EQ(memory_.ReleaseKept(1), 0u);
  // Its address is used again.
  EXPECT_EQ(Acquire(2 * kSize).data, places[1].data);
}

TEST_F(RangeMemoryTest, CloseReleasesAllMemory) {
  RangeMemory::Block kept = Filled(10'000), out = Filled(10'000);
  const RangeMemory::Block of_kept = Place(kept), of_out = Place(out);
  memory_.Release(std::move(kept));
  memory_.Close();
  EXPECT_EQ(PagesOf(of_kept), 0u);
  memory_.Release(std::move(out));
  EXPECT_EQ(PagesOf(of_out), 0u);
  EXPECT_EQ(memory_.kept(), 0u);
  EXPECT_EQ(budget_->held, 0u);
}

TEST_F(RangeMemoryTest, BlocksNeverOverlap) {
  std::mt19937 random(5);
  std::map<char*, RangeMemory::Block> taken;
  uint64_t bytes = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (taken.size() < 200 && random() % 2 == 0) {
      const uint64_t wanted = 1 + random() % (random() % 8 == 0 ? 500'000 : 9000);
      RangeMemory::Block block = memory_.AcquireKept(wanted);
      if (block.data == nullptr) block = Acquire(wanted);
      ASSERT_NE(block.data, nullptr);
      ASSERT_GE(block.bytes, wanted);
      const auto next = taken.lower_bound(block.data);
      if (next != taken.end()) {
        ASSERT_LE(block.data + block.bytes, next->first);
      }
      if (next != taken.begin()) {
        ASSERT_LE(std::prev(next)->first + std::prev(next)->second.bytes, block.data);
      }
      block.data[0] = block.data[block.bytes - 1] = static_cast<char>(i);
      bytes += block.bytes;
      char* const data = block.data;
      taken.emplace(data, std::move(block));
    } else if (!taken.empty()) {
      const auto it = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      bytes -= it->second.bytes;
      memory_.Release(std::move(it->second));
      taken.erase(it);
    }
    if (memory_.kept() > (1 << 20)) memory_.ReleaseKept(memory_.kept() - (1 << 20));
    ASSERT_EQ(budget_->held, bytes + memory_.kept());
  }
  for (auto& [data, block] : taken) memory_.Release(std::move(block));
  memory_.Close();
  EXPECT_EQ(budget_->held, 0u);
}

}  // namespace
}  // namespace penstock::loader
