// The shares of a blend are exact in every run of rows, and each row of a data set has one place.
#include "pipeline/plan/blend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "absl/strings/str_join.h"

namespace penstock::plan {
namespace {

using ::testing::HasSubstr;

std::vector<double> RandomWeights(std::mt19937_64* random) {
  const size_t sets = std::uniform_int_distribution<size_t>(1, 40)(*random);
  std::vector<double> weights;
  for (size_t i = 0; i < sets; ++i) weights.push_back(std::exp(std::normal_distribution<double>(0, 2)(*random)));
  return weights;
}

TEST(Blend, CountsAddUpToABlockAndAreWithinOneRowOfTheirShare) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) {
    const std::vector<double> weights = RandomWeights(&random);
    const auto blend = Blend::Create(weights, 3);
    ASSERT_TRUE(blend.ok()) << blend.status();
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    uint64_t sum = 0;
    for (size_t set = 0; set < weights.size(); ++set) {
      sum += blend->count(set);
      const double exact = weights[set] / total * static_cast<double>(blend->block_rows());
      EXPECT_LT(std::abs(static_cast<double>(blend->count(set)) - exact), 1) << absl::StrJoin(weights, " ");
    }
    EXPECT_EQ(sum, blend->block_rows());
  }
}

// An aligned run has a multiple of 64 rows and begins at a multiple of 64.
TEST(Blend, EachSetIsLessThanTwoRowsFromItsShareInEveryAlignedRun) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 12; ++i) {
    const std::vector<double> weights = RandomWeights(&random);
    const auto blend = Blend::Create(weights, i % 2 == 0 ? std::optional<uint64_t>(i) : std::nullopt);
    ASSERT_TRUE(blend.ok()) << blend.status();
    const uint64_t first = blend->block_rows() - 4096;  // the border of two blocks is inside
    std::vector<uint64_t> rows(weights.size(), 0);
    std::vector<double> lowest(weights.size(), 0), highest(weights.size(), 0);
    for (uint64_t place = first; place < first + 8192; ++place) {
      ++rows[blend->At(place).set];
      if ((place + 1) % Blend::kRun != 0) continue;
      for (size_t set = 0; set < weights.size(); ++set) {
        const double share = static_cast<double>(blend->count(set)) / static_cast<double>(blend->block_rows());
        const double off = static_cast<double>(rows[set]) - share * static_cast<double>(place + 1 - first);
        lowest[set] = std::min(lowest[set], off);
        highest[set] = std::max(highest[set], off);
      }
    }
    // The run from one border to another is off by the difference of the borders.
    for (size_t set = 0; set < weights.size(); ++set) EXPECT_LT(highest[set] - lowest[set], 2) << set;
  }
}

TEST(Blend, TheRowsOfASetAreNumberedInTheirOrder) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 6; ++i) {
    const auto blend = Blend::Create(RandomWeights(&random), 7 + i);
    ASSERT_TRUE(blend.ok());
    std::vector<uint64_t> next(blend->sets());
    const uint64_t first = 3 * blend->block_rows() - 1000;
    for (size_t set = 0; set < next.size(); ++set) next[set] = blend->RowsBefore(set, first);
    for (uint64_t place = first; place < first + 3000; ++place) {
      const Blend::Row row = blend->At(place);
      ASSERT_EQ(row.number, next[row.set]++) << place;
      ASSERT_EQ(blend->PlaceOf(row), place);
    }
    for (size_t set = 0; set < next.size(); ++set) EXPECT_EQ(blend->RowsBefore(set, first + 3000), next[set]);
  }
}

TEST(Blend, TheRowsOfAllSetsBeforeAPlaceAreThoseThatItHasGiven) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 8; ++i) {
    const auto blend = Blend::Create(RandomWeights(&random), i % 2 == 0 ? std::optional<uint64_t>(i) : std::nullopt);
    ASSERT_TRUE(blend.ok());
    std::vector<uint64_t> rows(blend->sets(), 0);
    for (uint64_t place = 0; place < blend->block_rows() + 500; ++place) {
      if (place % 97 == 0 || place % blend->block_rows() < 3) {
        ASSERT_EQ(blend->RowsBefore(place), rows) << place;
      }
      ++rows[blend->At(place).set];
    }
  }
}

TEST(Blend, TheRowsOfAThousandSetsAreThoseOfEachAlone) {
  std::vector<double> weights;
  for (int set = 0; set < 1000; ++set) weights.push_back(1 + set % 13);
  const auto blend = Blend::Create(weights, 5);
  ASSERT_TRUE(blend.ok()) << blend.status();
  for (const uint64_t place : {uint64_t{0}, uint64_t{100}, 7 * blend->block_rows() + 12'345, uint64_t{1} << 62}) {
    const std::vector<uint64_t> rows = blend->RowsBefore(place);
    EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), uint64_t{0}), place);
    for (size_t set = 0; set < rows.size(); ++set) ASSERT_EQ(rows[set], blend->RowsBefore(set, place)) << set;
  }
}

TEST(Blend, RunsAreShuffledOnlyWithASeed) {
  const std::vector<double> weights = {1, 1};
  const auto plain = Blend::Create(weights, std::nullopt), one = Blend::Create(weights, 1),
             two = Blend::Create(weights, 2);
  uint64_t differs = 0, from_plain = 0;
  for (uint64_t place = 0; place < 640; ++place) {
    EXPECT_EQ(plain->At(place).set, place % 2) << "the sets alternate";
    differs += one->At(place).set != two->At(place).set;
    from_plain += one->At(place).set != plain->At(place).set;
  }
  EXPECT_GT(differs, 200u);
  EXPECT_GT(from_plain, 200u);
}

TEST(Blend, EachPeriodOfEachBatchHasTheSameRows) {
  std::mt19937_64 random(4);
  const std::pair<std::vector<double>, uint64_t> cases[] = {
      {{7, 3}, 256}, {{5, 2, 1}, 32}, {{1}, 100}, {{1, 1}, 2}, {{5, 3}, 4096}, {{1, 1, 1}, 200}, {{1, 2, 97}, 1000}};
  for (const auto& [weights, batch] : cases) {
    const std::optional<uint64_t> seed = std::uniform_int_distribution<uint64_t>(0, 99)(random);
    const auto blend = Blend::Create(weights, seed, {.rows = batch, .is_batch = true});
    ASSERT_TRUE(blend.ok()) << blend.status();
    ASSERT_EQ(blend->block_rows(), batch);
    const uint64_t period = blend->period_rows();
    ASSERT_EQ(batch % period, 0u);
    std::vector<uint64_t> next(weights.size());
    const uint64_t first = 3 * batch;
    for (size_t set = 0; set < next.size(); ++set) next[set] = blend->RowsBefore(set, first);
    for (uint64_t place = first; place < first + 3 * batch; ++place) {
      const Blend::Row row = blend->At(place);
      ASSERT_EQ(row.number, next[row.set]++) << place;
      ASSERT_EQ(blend->PlaceOf(row), place);
      if ((place + 1) % period != 0) continue;
      for (size_t set = 0; set < next.size(); ++set) {
        ASSERT_EQ(next[set] * batch, (place + 1) * blend->count(set)) << "batch " << batch << ", place " << place;
        ASSERT_EQ(blend->RowsBefore(set, place + 1), next[set]);
      }
    }
  }
  const auto halves = Blend::Create(std::vector<double>{5, 2, 1}, 1, {.rows = 32, .is_batch = true});
  EXPECT_EQ(halves->period_rows(), 8u) << "5, 2 and 1 rows";
}

TEST(Blend, ABatchIsShuffled) {
  for (const uint64_t batch : {8, 64, 100, 1000}) {
    const Blend::Block block{.rows = batch, .is_batch = true};
    const auto one = Blend::Create(std::vector<double>{1, 3}, 1, block),
               two = Blend::Create(std::vector<double>{1, 3}, 2, block);
    uint64_t differs = 0;
    for (uint64_t place = 0; place < 4000; ++place) differs += one->At(place).set != two->At(place).set;
    EXPECT_GT(differs, 800u) << batch;
  }
}

TEST(Blend, ABatchThatIsTooSmallForAShareIsAnError) {
  EXPECT_THAT(
      std::string(Blend::Create(std::vector<double>{19, 1}, 1, {.rows = 8, .is_batch = true}).status().message()),
      HasSubstr("blend.batches: EXACT, and batch.size is 8, but dataset[1] has a share of 0.05; a batch needs "
                "about 20 rows"));
}

TEST(Blend, ASmallShareHasALargerBlock) {
  const auto blend = Blend::Create(std::vector<double>{1, 3e-6}, 1);
  ASSERT_TRUE(blend.ok()) << blend.status();
  EXPECT_EQ(blend->block_rows(), uint64_t{1} << 19);
  EXPECT_GE(blend->count(1), 1u);
}

TEST(Blend, RejectsWeightsWithoutAShare) {
  const auto error = [](const std::vector<double>& weights) {
    return std::string(Blend::Create(weights, 1).status().message());
  };
  EXPECT_THAT(error({}), HasSubstr("0 data sets"));
  EXPECT_THAT(error({0, 0}), HasSubstr("all weights are 0"));
  EXPECT_THAT(error({-1}), HasSubstr("dataset[0].weight is -1"));
  EXPECT_THAT(error({1, std::nan("")}), HasSubstr("dataset[1].weight"));
  EXPECT_THAT(error({1, INFINITY}), HasSubstr("dataset[1].weight"));
  EXPECT_THAT(error({1e308, 1e308}), HasSubstr("too large"));
  EXPECT_THAT(error({1, 1e-9}), HasSubstr("dataset[1].weight: a share of 1e-09"));
  EXPECT_THAT(error(std::vector<double>(16385, 1)), HasSubstr("16385 data sets"));
}

}  // namespace
}  // namespace penstock::plan
