#include "base/philox.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <set>
#include <vector>

namespace penstock {
namespace {

using Words4 = std::array<uint32_t, 4>;
using Words2 = std::array<uint32_t, 2>;

// "philox4x32 10" of kat_vectors in the authors' Random123 library.
TEST(Philox, MatchesTheTestVectorsOfItsAuthors) {
  EXPECT_EQ(Philox4x32(Words4{0, 0, 0, 0}, Words2{0, 0}), (Words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32(Words4{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, Words2{0xffffffff, 0xffffffff}),
            (Words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32(Words4{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, Words2{0xa4093822, 0x299f31d0}),
            (Words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(SampleRandom, TheCounterConsistsOfRecordBlockAndRepeat) {
  const uint64_t key = 0x299f31d0a4093822, record = 0x85a308d3243f6a88;
  SampleRandom random(key, record, 0x4567);
  for (uint32_t block = 0; block < 3; ++block) {
    const Words4 expected = Philox4x32(Words4{0x243f6a88, 0x85a308d3, block, 0x4567}, Words2{0xa4093822, 0x299f31d0});
    for (const uint32_t word : expected) EXPECT_EQ(random.Next32(), word);
  }
}

TEST(SampleRandom, DrawsDifferByKeyRecordAndRepeat) {
  std::set<uint32_t> first;
  for (uint64_t key = 0; key < 10; ++key) {
    for (uint64_t record = 0; record < 10; ++record) {
      for (uint16_t repeat = 0; repeat < 10; ++repeat) {
        first.insert(SampleRandom(key, record, repeat).Next32());
      }
    }
  }
  EXPECT_EQ(first.size(), 1000u);
}

TEST(SampleRandom, UniformIsBelowOneAndEvenlyDistributed) {
  SampleRandom random(1, 2, 3);
  std::vector<int> bins(10), bins_double(10);
  for (int i = 0; i < 100'000; ++i) {
    const float x = random.Uniform();
    const double y = random.UniformDouble();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    ASSERT_GE(y, 0);
    ASSERT_LT(y, 1);
    ++bins[static_cast<size_t>(x * 10)];
    ++bins_double[static_cast<size_t>(y * 10)];
  }
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_NEAR(bins[i], 10'000, 500);
    EXPECT_NEAR(bins_double[i], 10'000, 500);
  }
  for (int i = 0; i < 1000; ++i) {
    const double z = random.Uniform(-3, 5);
    ASSERT_GE(z, -3);
    ASSERT_LT(z, 5);
  }
}

TEST(SampleRandom, BelowIsUnbiasedForEveryN) {
  SampleRandom random(4, 5, 6);
  for (const uint32_t n : {1u, 2u, 3u, 7u, 10u}) {
    std::vector<int> counts(n);
    for (int i = 0; i < 50'000; ++i) ++counts[random.Below(n)];
    for (const int count : counts) EXPECT_NEAR(count, 50'000.0 / n, 5 * 224.0);
  }
  // For n = 3 * 2^30, one word in four is rejected. Both halves stay equally likely.
  int low = 0;
  for (int i = 0; i < 50'000; ++i) low += random.Below(3u << 30) < (3u << 29);
  EXPECT_NEAR(low, 25'000, 600);
}

TEST(SampleRandom, ChanceIsExactAtZeroAndOneAndProportionalBetween) {
  SampleRandom random(7, 8, 9);
  int hits = 0;
  for (int i = 0; i < 20'000; ++i) {
    EXPECT_FALSE(random.Chance(0));
    EXPECT_TRUE(random.Chance(1));
    hits += random.Chance(0.25);
  }
  EXPECT_NEAR(hits, 5000, 310);
}

}  // namespace
}  // namespace penstock
