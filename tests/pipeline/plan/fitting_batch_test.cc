#include "pipeline/plan/fitting_batch.h"

#include <gtest/gtest.h>

#include "pipeline/plan/steps.h"

namespace penstock::plan {
namespace {

TEST(FittingBatch, EveryEpochHasStepsAndLosesLittle) {
  for (uint64_t rows = 1; rows < 3 * kManyRecords; ++rows) {
    const uint32_t size = FittingBatch(rows);
    const auto steps = Steps::Create(rows, size, LastBatch::kDrop, 1);
    ASSERT_TRUE(steps.ok()) << rows;
    ASSERT_LE(steps->DroppedOf(0) * 20, rows) << rows;
  }
}

TEST(FittingBatch, ManyRowsGetTheUsualSizeAndFewRowsASmallerSize) {
  EXPECT_EQ(FittingBatch(1281167), 256u);
  EXPECT_EQ(FittingBatch(kManyRecords + 255), 256u);
  EXPECT_EQ(FittingBatch(60), 4u);
  EXPECT_EQ(FittingBatch(100), 32u);
  EXPECT_EQ(FittingBatch(1), 1u);
}

TEST(FittingBatch, OneDroppedRowInTwentyIsNotMuch) {
  EXPECT_FALSE(IsMuchDropped(0, 1));
  EXPECT_FALSE(IsMuchDropped(5, 100));
  EXPECT_TRUE(IsMuchDropped(6, 100));
}

}  // namespace
}  // namespace penstock::plan
