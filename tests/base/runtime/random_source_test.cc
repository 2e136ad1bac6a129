#include "base/runtime/random_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace penstock {
namespace {

TEST(RandomSourceTest, HexIdsHave128Bits) {
  std::set<std::string> ids, first_halves, second_halves;
  for (int i = 0; i < 100; ++i) {
    const std::string id = RandomHexId(RandomSource::Real());
    EXPECT_THAT(id, ::testing::MatchesRegex("[0-9a-f]{32}"));
    ids.insert(id);
    first_halves.insert(id.substr(0, 16));
    second_halves.insert(id.substr(16));
  }
  EXPECT_EQ(ids.size(), 100u);
  EXPECT_EQ(first_halves.size(), 100u);
  EXPECT_EQ(second_halves.size(), 100u);
}

TEST(RandomSourceTest, TheSameSeedGivesTheSameNumbers) {
  SeededRandom a(7), b(7), other(8);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t number = a.Next();
    EXPECT_EQ(number, b.Next());
    EXPECT_NE(number, other.Next());
    EXPECT_TRUE(seen.insert(number).second);
  }
}

}  // namespace
}  // namespace penstock
