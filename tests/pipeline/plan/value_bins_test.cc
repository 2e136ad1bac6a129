// The parts of a sorted data set: neighbors, with about equal numbers of records.
#include "pipeline/plan/value_bins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string_view>

#include "base/ordered_key.h"

namespace penstock::plan {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Keys(const std::vector<int64_t>& values) {
  std::vector<std::string> keys;
  for (const int64_t value : values) keys.push_back(OrderedKey(value));
  return keys;
}

TEST(ValueBins, HaveNamesInTheOrderOfTheirValues) {
  const std::vector<std::string> keys = Keys({-3, 2, 10, 11});
  const std::vector<uint64_t> records = {1, 1, 1, 1};
  const ValueBins bins = MakeBins(keys, records, {.bins = 2});
  EXPECT_THAT(bins.of_value, ElementsAre(0, 0, 1, 1));
  ASSERT_EQ(bins.names.size(), 2u);
  EXPECT_EQ(BinText(bins.names[0]), "-3 to 2");
  EXPECT_EQ(BinText(bins.names[1]), "10 to 11");
  const ValueBins all = MakeBins(keys, records, {});
  EXPECT_THAT(all.of_value, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(BinText(all.names[0]), "-3");
  EXPECT_TRUE(MakeBins({}, {}, {.bins = 5}).names.empty());
}

TEST(ValueBins, BoundsDivideTheValues) {
  const std::vector<std::string> keys = Keys({-3, 7, 8, 9, 15, 16, 90});
  const std::vector<uint64_t> records(keys.size(), 1);
  const ValueBins bins = MakeBins(keys, records, {.bins = 2, .bounds = {8, 12, 14, 16}});
  EXPECT_THAT(bins.of_value, ElementsAre(0, 0, 1, 1, 2, 3, 3));  // 12 to 14 has no value
  ASSERT_EQ(bins.names.size(), 4u);
  EXPECT_EQ(BinText(bins.names[3]), "16 to 90");
  EXPECT_EQ(GreatestOfBin(bins.names[3]), 90);
  EXPECT_EQ(GreatestOfBin(bins.names[2]), 15);
  EXPECT_EQ(GreatestOfBin("00001 -2.5 to 1e+300"), 1e300);
  for (const char* const bad : {"00001 a to b", "00001 1 to nan", "00001 inf", "00001 ", "00001", ""}) {
    EXPECT_EQ(GreatestOfBin(bad).has_value(), std::string_view(bad) == "00001") << bad;
  }
}

TEST(ValueBins, ACommonValueIsABinAndTheOthersAreEven) {
  std::vector<int64_t> values(2000);
  std::iota(values.begin(), values.end(), 0);
  std::mt19937 random(1);
  for (const uint32_t bins : {1u, 2u, 7u, 64u, 16384u}) {
    std::vector<uint64_t> records(values.size());
    for (uint64_t& count : records) count = 1 + random() % 9;
    records[700] = 30'000;
    const uint64_t total = std::accumulate(records.begin(), records.end(), uint64_t{0});
    const ValueBins made = MakeBins(Keys(values), records, {.bins = bins});
    EXPECT_LE(made.names.size(), bins);
    EXPECT_TRUE(std::is_sorted(made.names.begin(), made.names.end()));
    EXPECT_TRUE(std::is_sorted(made.of_value.begin(), made.of_value.end()));
    EXPECT_EQ(made.of_value.back() + 1, made.names.size());
    std::vector<uint64_t> of_bin(made.names.size(), 0);
    for (size_t i = 0; i < values.size(); ++i) of_bin[made.of_value[i]] += records[i];
    for (size_t bin = 0; bin < of_bin.size(); ++bin) {
      if (bin != made.of_value[700]) {
        EXPECT_LE(of_bin[bin], total / bins + 10) << bins << " bins, bin " << bin;
      }
    }
    EXPECT_GE(of_bin[made.of_value[700]], 30'000u);
    EXPECT_LE(of_bin[made.of_value[700]], 30'000 + total / bins + 10);
  }
}

TEST(ValueBins, AShardHasTheSumsOfItsValues) {
  const ValueBins bins = {{0, 0, 1, 1, 1, 2}, {"a", "b", "c"}};
  ShardGroups shard = {{1, 2, 4, 5}, {10, 3, 4, 1}};
  const ShardGroups before = shard;
  MergeIntoBins(bins, &shard);
  EXPECT_EQ(shard, (ShardGroups{{0, 1, 2}, {10, 7, 1}}));
  EXPECT_TRUE(AreSumsOf(shard.records, before.records));
  EXPECT_TRUE(AreSumsOf(before.records, before.records));
  for (const std::vector<uint32_t>& wrong :
       std::vector<std::vector<uint32_t>>{{10, 7}, {10, 9}, {11, 6, 1}, {10, 7, 1, 1}, {10, 7, 2}, {}}) {
    EXPECT_FALSE(AreSumsOf(wrong, before.records));
  }
  ShardGroups empty;
  MergeIntoBins(bins, &empty);
  EXPECT_EQ(empty, ShardGroups());
  EXPECT_TRUE(AreSumsOf({}, {}));
}

}  // namespace
}  // namespace penstock::plan
