// A blend whose weights change: exact places of the changes, and rows of a set that continue through them.
#include "pipeline/plan/blend_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<double> kWeights = {7, 3};

BlendSchedule Make(const std::vector<WeightChange>& changes, uint64_t batch = 0,
                   const std::vector<double>& weights = kWeights) {
  const auto schedule = BlendSchedule::Create(weights, changes, 5, {.rows = batch, .is_batch = batch > 0});
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *schedule;
}

// Counts the rows of set 0 in [begin, end), and checks that places and rows are inverse and continue.
uint64_t CheckRows(const BlendSchedule& schedule, uint64_t begin, uint64_t end) {
  std::vector<uint64_t> next = schedule.RowsBefore(begin);
  const uint64_t before = next[0];
  for (uint64_t place = begin; place < end; ++place) {
    const Blend::Row row = schedule.At(place);
    EXPECT_EQ(row.number, next[row.set]++) << place;
    EXPECT_EQ(schedule.PlaceOf(row), place);
  }
  EXPECT_EQ(schedule.RowsBefore(end), next);
  EXPECT_EQ(schedule.RowsBefore(0, end), next[0]);
  return next[0] - before;
}

TEST(BlendSchedule, WithoutChangesIsTheBlend) {
  const BlendSchedule schedule = Make({});
  const auto blend = Blend::Create(kWeights, 5);
  for (uint64_t place = 0; place < 1000; ++place) ASSERT_EQ(schedule.At(place), blend->At(place));
}

TEST(BlendSchedule, AChangeAtOnceHasTheOldSharesBeforeAndTheNewOnesAfter) {
  const BlendSchedule schedule =
      Make({{.at_rows = 100'000, .weights = {1, 3}}, {.at_rows = 300'000, .weights = {1, 1}}});
  EXPECT_THAT(schedule.begins(), ElementsAre(0, 99'968, 299'968));  // multiples of 64
  EXPECT_NEAR(static_cast<double>(CheckRows(schedule, 0, 99'968)), 0.7 * 99'968, 2);
  EXPECT_NEAR(static_cast<double>(CheckRows(schedule, 99'968, 299'968)), 0.25 * 200'000, 2);
  EXPECT_NEAR(static_cast<double>(CheckRows(schedule, 299'968, 310'016)), 0.5 * 10'048, 2);
  EXPECT_EQ(schedule.BlendAt(99'967).count(0), Blend::Create(kWeights, 5)->count(0));
}

TEST(BlendSchedule, ARampMovesInEqualSteps) {
  const BlendSchedule schedule = Make({{.at_rows = 64'000, .over_rows = 16'384, .weights = {3, 7}}});
  ASSERT_EQ(schedule.begins().size(), 1 + BlendSchedule::kRampSteps + 1);
  EXPECT_EQ(schedule.begins().back(), 64'000u + 16'384);
  double last = 0.7;
  for (size_t part = 1; part < schedule.begins().size(); ++part) {
    const Blend& blend = schedule.part(part);
    const double share = static_cast<double>(blend.count(0)) / static_cast<double>(blend.block_rows());
    EXPECT_LT(share, last);
    last = share;
  }
  EXPECT_NEAR(last, 0.3, 1e-4);
  EXPECT_NEAR(static_cast<double>(CheckRows(schedule, 64'000, 80'384)), 0.5 * 16'384, 32);
}

TEST(BlendSchedule, AShortRampHasFewerSteps) {
  EXPECT_THAT(Make({{.at_rows = 640, .over_rows = 130, .weights = {3, 7}}}).begins(), ElementsAre(0, 640, 704, 768));
  EXPECT_THAT(Make({{.at_rows = 640, .over_rows = 3, .weights = {3, 7}}}).begins(), ElementsAre(0, 640));
}

TEST(BlendSchedule, AUnitHasRowsOfOneSetAndTheSharesAreThoseOfUnits) {
  constexpr uint64_t kUnit = 12;
  const std::vector<WeightChange> changes = {{.at_rows = 64 * kUnit * 3 + 5, .over_rows = 2000, .weights = {1, 3}}};
  const auto made = BlendSchedule::Create(kWeights, changes, 5, {}, kUnit);
  ASSERT_TRUE(made.ok()) << made.status();
  const BlendSchedule rows = Make({});
  uint64_t units = 0;  // of set 0
  for (uint64_t place = 0; place < 64 * kUnit * 8; ++place) {
    ASSERT_EQ(made->At(place).set, made->At(place / kUnit * kUnit).set);
    if (place >= 64 * kUnit * 3) continue;
    ASSERT_EQ(made->At(place).set, rows.At(place / kUnit).set) << "units are chosen as rows are";
    units += place % kUnit == 0 && made->At(place).set == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(units), 0.7 * 64 * 3, 2);
  for (const uint64_t begin : made->begins()) EXPECT_EQ(begin % (64 * kUnit), 0u);
  EXPECT_GT(made->begins().size(), 2u);
  CheckRows(*made, 0, 64 * kUnit * 8);
  CheckRows(*made, 64 * kUnit * 5 + 7, 64 * kUnit * 6 + 3);
}

TEST(BlendSchedule, ASetOfWeight0HasNoRowsUntilAChange) {
  const BlendSchedule schedule =
      Make({{.at_rows = 640, .weights = {2, 0, 1}}, {.at_rows = 6400, .over_rows = 640, .weights = {0, 5, 1}}}, 0,
           {1, 0, 0});
  const std::vector<uint64_t> first = schedule.RowsBefore(640), second = schedule.RowsBefore(6400);
  EXPECT_THAT(first, ElementsAre(640, 0, 0));
  EXPECT_EQ(second[1], 0u);
  EXPECT_NEAR(static_cast<double>(second[2]), 5760 / 3.0, 2);
  const uint64_t of_0 = schedule.RowsBefore(7040)[0];
  EXPECT_EQ(schedule.RowsBefore(100'000)[0], of_0) << "from there on it has weight 0";
  EXPECT_GT(of_0, second[0]) << "the ramp has steps between";
  CheckRows(schedule, 0, 12'000);
  EXPECT_LT(schedule.PlaceOf({0, of_0 - 1}), 7040u);
  EXPECT_EQ(schedule.PlaceOf({0, of_0}), Blend::kNever);
  EXPECT_GE(schedule.PlaceOf({1, 0}), 6400u);
}

// A share of 1 / 33 of a batch of 16 is less than a row.
TEST(BlendSchedule, ARampOfExactBatchesFadesASetInAndOut) {
  const BlendSchedule schedule = Make({{.at_rows = 3200, .over_rows = 3200, .weights = {1, 1}},
                                       {.at_rows = 6400, .over_rows = 3200, .weights = {0, 1}}},
                                      16, {1, 0});
  CheckRows(schedule, 0, 12'000);
  EXPECT_EQ(schedule.BlendAt(3200).count(1), 0u);
  EXPECT_EQ(schedule.BlendAt(6400 + 16).count(1), 8u);
  EXPECT_EQ(schedule.BlendAt(9600).count(0), 0u);
}

TEST(BlendSchedule, ChangesOfBatchesBeginWithABatch) {
  const BlendSchedule schedule = Make({{.at_rows = 1005, .over_rows = 400, .weights = {1, 9}}}, 20);
  for (size_t part = 1; part < schedule.begins().size(); ++part) EXPECT_EQ(schedule.begins()[part] % 20, 0u);
  CheckRows(schedule, 0, 3000);
}

TEST(BlendSchedule, APartWithoutRowsOfASetKeepsItsNumbers) {
  const BlendSchedule schedule =
      Make({{.at_rows = 64, .weights = {1, 1e-4}}, {.at_rows = 128, .weights = {1, 1}}}, 0, {1, 1});
  CheckRows(schedule, 0, 2000);
}

TEST(BlendSchedule, RejectsChangesOutOfOrder) {
  const auto error = [](const std::vector<WeightChange>& changes) {
    return std::string(BlendSchedule::Create(kWeights, changes, 5).status().message());
  };
  EXPECT_THAT(error({{.at_rows = 9, .over_rows = 9, .weights = {1, 1}}, {.at_rows = 17, .weights = {1, 1}}}),
              HasSubstr("blend.change[1].at_rows: 17; the change before it ends at row 18"));
  EXPECT_THAT(error({{.at_rows = 9, .weights = {1}}}), HasSubstr("blend.change[0].weights: 1 for 2 data sets"));
  EXPECT_THAT(error({{.at_rows = 9, .weights = {1, -1}}}), HasSubstr("blend.change[0]: dataset[1].weight is -1"));
  EXPECT_THAT(error(std::vector<WeightChange>(17, {.at_rows = 1, .weights = {1, 1}})), HasSubstr("at most 16"));
  EXPECT_THAT(error({{.at_rows = UINT64_MAX, .weights = {1, 1}}}), HasSubstr("rows are below 2^62"));
}

}  // namespace
}  // namespace penstock::plan
