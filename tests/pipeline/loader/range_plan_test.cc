// Which records form one range: properties, for random shards and wanted records.
#include "pipeline/loader/read_ahead/range_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace penstock::loader {
namespace {

sources::ShardIndex IndexOf(const std::vector<uint32_t>& lengths) {
  sources::ShardIndex index;
  for (const uint32_t length : lengths) index.AppendRecord(length);
  return index;
}

TEST(RangePlan, AdjacentWantedRecordsAreOneRangeUpToMostBytes) {
  const sources::ShardIndex index = IndexOf(std::vector<uint32_t>(100, 1000));
  RangeLimits limits;
  const auto all = [](uint64_t) { return true; };
  EXPECT_EQ(PlanRange(index, 40, all, limits), (RecordRange{0, 100, 100, index.RangeBytes(0, 100)}));
  limits.most_bytes = index.RangeBytes(0, 30);
  EXPECT_EQ(PlanRange(index, 40, all, limits), (RecordRange{40, 30, 30, limits.most_bytes}));
  EXPECT_EQ(PlanRange(index, 90, all, limits), (RecordRange{70, 30, 30, limits.most_bytes}));
}

TEST(RangePlan, RangesIncludeSmallGapsAndNoLargeGaps) {
  const sources::ShardIndex index = IndexOf(std::vector<uint32_t>(100, 1000));
  const RangeLimits limits;
  const auto most = [](uint64_t record) { return record % 10 != 5; };
  EXPECT_EQ(PlanRange(index, 0, most, limits).wanted, 90u);
  const auto few = [](uint64_t record) { return record % 10 == 0; };
  EXPECT_EQ(PlanRange(index, 50, few, limits), (RecordRange{50, 1, 1, index.StoredBytes(50)}));
  RangeLimits narrow;
  narrow.most_gap_bytes = 3000;
  const auto hole = [](uint64_t record) { return record < 50 || record >= 54; };
  EXPECT_EQ(PlanRange(index, 0, hole, narrow).count, 50u);
  EXPECT_EQ(PlanRange(index, 0, hole, limits).count, 100u);
}

// For any wanted records: the range has the record, its ends are wanted, its counts are right, and it is within the
// limits.
TEST(RangePlan, KeepsItsContractForAnyWantedRecords) {
  std::mt19937 random(17);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint32_t> lengths(1 + random() % 200);
    for (uint32_t& length : lengths) length = random() % 5000;
    const sources::ShardIndex index = IndexOf(lengths);
    std::set<uint64_t> wishes;
    const unsigned part = 1 + random() % 8;
    for (uint64_t k = 0; k < lengths.size(); ++k) {
      if (random() % part == 0) wishes.insert(k);
    }
    RangeLimits limits;
    limits.most_bytes = 1 + random() % 300'000;
    limits.most_gap_bytes = random() % 20'000;
    limits.waste_share = 1 + random() % 8;
    limits.most_looked = random() % 300;
    const uint64_t record = random() % lengths.size();
    wishes.insert(record);
    uint64_t looked = 0;
    const RecordRange range = PlanRange(
        index, record, [&](uint64_t k) { return ++looked, wishes.contains(k); }, limits);
    SCOPED_TRACE(testing::Message() << "round " << round);
    EXPECT_LE(looked, limits.most_looked);
    ASSERT_LE(range.first, record);
    ASSERT_GT(range.first + range.count, record);
    EXPECT_TRUE(wishes.contains(range.first));
    EXPECT_TRUE(wishes.contains(range.first + range.count - 1));
    EXPECT_EQ(range.bytes, index.RangeBytes(range.first, range.count));
    uint64_t wanted = 0, waste = 0;
    for (uint64_t k = range.first; k < range.first + range.count; ++k) {
      wanted += wishes.contains(k) ? 1 : 0;
      waste += wishes.contains(k) ? 0 : index.StoredBytes(k);
    }
    EXPECT_EQ(range.wanted, wanted);
    EXPECT_LE(waste * limits.waste_share, range.bytes);
    EXPECT_TRUE(range.count == 1 || range.bytes <= limits.most_bytes);
  }
}

}  // namespace
}  // namespace penstock::loader
