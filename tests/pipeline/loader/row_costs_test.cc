#include "pipeline/loader/row_costs.h"

#include <gtest/gtest.h>

namespace penstock::loader {
namespace {

RowCost CostOfRow(RowFrom from, double compute, double read = 0) {
  RowCost cost;
  cost.from = from;
  cost.compute = static_cast<Nanos>(compute * kSecond);
  cost.read = static_cast<Nanos>(read * kSecond);
  return cost;
}

TEST(RowCosts, ACachedRecordSavesTheMeanReadTime) {
  RowCosts costs;
  RowCost cached = CostOfRow(RowFrom::kRecord, 1);
  cached.cached_record = true;
  EXPECT_EQ(costs.Add(cached).record, 0) << "no read was ever measured";
  EXPECT_EQ(costs.Add(CostOfRow(RowFrom::kRecord, 1, 0.02)).record, 0);
  EXPECT_EQ(costs.Add(CostOfRow(RowFrom::kRecord, 1, 0.04)).record, 0);
  EXPECT_NEAR(costs.Add(cached).record, 0.03, 1e-9);
}

TEST(RowCosts, ADecodedImageSavesTimeComparedWithRowsWithoutIt) {
  RowCosts costs;
  EXPECT_EQ(costs.Add(CostOfRow(RowFrom::kDecoded, 0.4)).decoded, 0) << "nothing to compare with";
  EXPECT_EQ(costs.Add(CostOfRow(RowFrom::kFilled, 2)).decoded, 0);
  EXPECT_NEAR(costs.Add(CostOfRow(RowFrom::kDecoded, 0.4)).decoded, 1.6, 1e-9) << "compared with rows that fill";
  costs.Add(CostOfRow(RowFrom::kRecord, 1));
  EXPECT_NEAR(costs.Add(CostOfRow(RowFrom::kDecoded, 0.4)).decoded, 0.6, 1e-9) << "compared with uncached rows";
  EXPECT_NEAR(costs.Add(CostOfRow(RowFrom::kDecoded, 1.5)).decoded, -0.5, 1e-9) << "a slow row saves no time";
}

TEST(RowCosts, AKeptRowSavesItsMakingAndItsRead) {
  RowCosts costs;
  EXPECT_EQ(costs.Add(CostOfRow(RowFrom::kKept, 0.1)).row, 0);
  costs.Add(CostOfRow(RowFrom::kRecord, 1, 0.5));
  EXPECT_NEAR(costs.Add(CostOfRow(RowFrom::kKept, 0.1)).row, 1.4, 1e-9);
  EXPECT_NEAR(costs.Add(CostOfRow(RowFrom::kKept, 0.1)).row, 1.4, 1e-9) << "kept rows do not count towards the mean";
}

TEST(RowCosts, MeansFollowRecentMeasurements) {
  RowCosts costs;
  for (int i = 0; i < 1000; ++i) costs.Add(CostOfRow(RowFrom::kRecord, 1));
  for (int i = 0; i < 1000; ++i) costs.Add(CostOfRow(RowFrom::kRecord, 3));
  EXPECT_NEAR(costs.from_record().mean(), 3, 0.01);
}

}  // namespace
}  // namespace penstock::loader
