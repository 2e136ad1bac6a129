#include "pipeline/plan/batch_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "pipeline/plan/batch_limits.h"
#include "pipeline/plan/batch_sequence.h"

namespace penstock::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<uint64_t> SizesOf(const BatchCut& cut) {
  std::vector<uint64_t> sizes;
  for (uint64_t batch = 0; batch < cut.batches(); ++batch) sizes.push_back(cut.At(batch).rows);
  return sizes;
}

TEST(BatchCut, ABatchEndsWhereAGroupWithALowerLimitBegins) {
  const BatchCut cut(std::vector<uint64_t>{10, 7, 3}, std::vector<uint64_t>{4, 3, 1}, 1);
  // 4, 4, and 2 rows of the first group with one of the second; 3, 3; then the last group row by row.
  EXPECT_THAT(SizesOf(cut), ElementsAre(4, 4, 3, 3, 3, 1, 1, 1));
  EXPECT_EQ(cut.rest(), 0u);
  EXPECT_EQ(cut.largest(), 4u);
}

TEST(BatchCut, RowsBelowTheMultipleJoinTheNextGroup) {
  const BatchCut cut(std::vector<uint64_t>{7, 5, 3}, std::vector<uint64_t>{6, 4, 2}, 2);
  EXPECT_THAT(SizesOf(cut), ElementsAre(6, 4, 2, 2));
  EXPECT_EQ(cut.rest(), 1u);
  EXPECT_EQ(BatchCut(std::vector<uint64_t>{1}, std::vector<uint64_t>{2}, 2).batches(), 0u);
}

TEST(BatchCut, BatchesCoverTheRowsAndKeepTheLimits) {
  std::mt19937_64 random(17);
  for (int trial = 0; trial < 3000; ++trial) {
    const auto below = [&](uint64_t n) { return random() % n; };
    const uint64_t multiple = 1 + below(4);
    std::vector<uint64_t> rows, limits;
    for (uint64_t group = 0, groups = 1 + below(9); group < groups; ++group) {
      rows.push_back(below(40));
      limits.push_back(multiple * (1 + below(8)));
    }
    // The limits of a budget descend, those of bounds need not.
    if (below(2) == 0) std::sort(limits.rbegin(), limits.rend());
    const BatchCut cut(rows, limits, multiple);
    std::vector<size_t> group_of;
    for (size_t group = 0; group < rows.size(); ++group) group_of.insert(group_of.end(), rows[group], group);
    ASSERT_EQ(cut.rows(), group_of.size());
    uint64_t next = 0, largest = 0;
    for (uint64_t number = 0; number < cut.batches(); ++number) {
      const BatchCut::Batch batch = cut.At(number);
      ASSERT_EQ(batch.begin, next);
      ASSERT_GT(batch.rows, 0u);
      ASSERT_EQ(batch.rows % multiple, 0u);
      for (uint64_t row = batch.begin; row < batch.begin + batch.rows; ++row) {
        ASSERT_EQ(cut.BatchOf(row), number);
        ASSERT_LE(batch.rows, limits[group_of[row]]);
      }
      next += batch.rows;
      largest = std::max(largest, batch.rows);
    }
    EXPECT_EQ(cut.rest(), group_of.size() - next);
    EXPECT_LT(cut.rest(), multiple);
    EXPECT_EQ(cut.largest(), largest);
  }
}

TEST(BatchLimits, RowsTimesTheGreatestValueAreWithinTheBudget) {
  const std::vector<std::string_view> names = {"00000 0", "00001 3 to 7", "00002 8 to 1000"};
  EXPECT_THAT(*BatchLimits(names, {.budget = 1024}, 100), ElementsAre(100, 100, 1));
  EXPECT_THAT(*BatchLimits(names, {.budget = 8000, .multiple = 8}, 1 << 20), ElementsAre(1 << 20, 1136, 8));
  EXPECT_THAT(*BatchLimits(names, {.budget = 1e6, .is_quadratic = true}, 1 << 20), ElementsAre(1 << 20, 20408, 1));
  const BatchRule bounds{.bounds = {8, 500}, .sizes = {64, 32, 16}};
  EXPECT_THAT(*BatchLimits(names, bounds, 1 << 20), ElementsAre(64, 64, 16));
}

TEST(BatchLimits, AValueThatExceedsTheBudgetIsNamed) {
  const std::vector<std::string_view> names = {"00000 5", "00001 6 to 2000.5"};
  EXPECT_THAT(std::string(BatchLimits(names, {.budget = 2000}, 64).status().message()),
              HasSubstr("the budget of 2000 has no room for 1 row with the value 2000.5"));
  EXPECT_THAT(std::string(BatchLimits(names, {.budget = 8002, .multiple = 8}, 64).status().message()),
              HasSubstr("no room for 8 rows"));
  for (const std::string_view bad : {"00000 de", "00000 nan", "00000 inf", "00000 "}) {
    EXPECT_THAT(std::string(BatchLimits(std::vector{bad}, {.budget = 1}, 64).status().message()),
                HasSubstr("need numbers"))
        << bad;
  }
}

TEST(BatchLimits, ARuleWithoutSizesIsRejected) {
  const std::vector<std::string_view> names = {"00000 5"};
  for (const BatchRule& rule :
       {BatchRule{}, BatchRule{.budget = std::nan("")}, BatchRule{.bounds = {1}, .sizes = {8}}}) {
    EXPECT_EQ(BatchLimits(names, rule, 64).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(BatchSequence, EachEpochHasEachBatchOnceAndThenTheRest) {
  for (const std::optional<uint64_t> seed : {std::optional<uint64_t>(), std::optional<uint64_t>(17)}) {
    const BatchSequence sequence(BatchCut(std::vector<uint64_t>{100, 55, 24, 2}, std::vector<uint64_t>{16, 8, 4, 2}, 2),
                                 seed);
    ASSERT_EQ(sequence.cut().rest(), 1u);
    std::vector<std::vector<uint64_t>> orders;
    for (const uint64_t epoch : std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 9}) {  // more than are kept
      std::vector<bool> seen(sequence.positions(), false);
      std::vector<uint64_t> order;
      uint64_t position = 0;
      for (uint64_t number = 0; number < sequence.batches(); ++number) {
        const BatchSequence::Batch batch = sequence.At(epoch, number);
        ASSERT_EQ(batch.number, number);
        ASSERT_EQ(batch.position, position);
        for (uint64_t row = 0; row < batch.rows; ++row) {
          ASSERT_FALSE(seen[batch.begin + row]);
          seen[batch.begin + row] = true;
          ASSERT_EQ(sequence.WithPosition(epoch, position + row), batch);
          ASSERT_EQ(sequence.WithRow(epoch, batch.begin + row), batch);
        }
        position += batch.rows;
        order.push_back(batch.begin);
      }
      ASSERT_EQ(position, sequence.positions());
      EXPECT_EQ(order.back(), sequence.positions() - 1);  // the rest
      orders.push_back(order);
    }
    EXPECT_EQ(orders[0] == orders[1], !seed.has_value());
    EXPECT_EQ(orders[10], orders[0]);
    EXPECT_EQ(orders[11], orders[9]);
    EXPECT_EQ(std::is_sorted(orders[0].begin(), orders[0].end()), !seed.has_value());
  }
}

}  // namespace
}  // namespace penstock::plan
