#include "pipeline/plan/steps.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace penstock::plan {
namespace {

TEST(Steps, SlicesPartitionEachStepForEveryWorldSize) {
  for (const uint64_t world : {1, 2, 3, 4, 5, 8, 12, 16, 100}) {
    for (const uint64_t per_rank : {1, 2, 7, 32}) {
      for (const LastBatch last : {LastBatch::kDrop, LastBatch::kPad}) {
        const Steps steps = Steps::Create(10'000, world * per_rank, last, world).value();
        Cursor cursor;
        for (uint64_t k = 0; k < steps.StepsPerEpoch(); k += 1 + k / 3) {
          const StepSpan step = steps.StepAt(steps.Advance(cursor, k));
          uint64_t next = 0;
          for (uint64_t rank = 0; rank < world; ++rank) {
            const SlotRange slice = steps.Slice(step, rank);
            ASSERT_EQ(slice.begin, next);
            ASSERT_EQ(slice.size(), per_rank);
            for (uint64_t slot = slice.begin; slot < slice.end; ++slot) {
              ASSERT_EQ(steps.RankOf(step, slot), rank);
              ASSERT_TRUE(slice.Contains(slot));
            }
            next = slice.end;
          }
          ASSERT_EQ(next, step.rows);
        }
      }
    }
  }
}

// Returns the valid rows by (epoch, position), from a cursor on.
std::vector<Cursor> Rows(const Steps& steps, Cursor cursor, uint64_t epochs) {
  std::vector<Cursor> rows;
  const uint64_t end = cursor.epoch + epochs;
  for (cursor = steps.Normalized(cursor); cursor.epoch < end;) {
    const StepSpan step = steps.StepAt(cursor);
    for (uint64_t slot = 0; slot < step.rows; ++slot) {
      if (steps.IsValid(step, slot)) rows.push_back({step.epoch, steps.PositionOfSlot(step, slot)});
    }
    cursor = steps.After(step);
  }
  return rows;
}

TEST(Steps, AnyBatchSizeGivesTheSameRowsInTheSameOrder) {
  const uint64_t positions = 97;
  std::vector<Cursor> expected;
  for (uint64_t epoch = 3; epoch < 5; ++epoch) {
    for (uint64_t p = 0; p < positions; ++p) expected.push_back({epoch, p});
  }
  for (const uint64_t size : {1, 2, 10, 96, 97, 98, 194, 1000}) {
    for (const LastBatch last : {LastBatch::kPad, LastBatch::kPartial}) {
      const Steps steps = Steps::Create(positions, size, last, 1).value();
      EXPECT_EQ(Rows(steps, {3, 0}, 2), expected) << size;
    }
    if (size > positions) continue;
    const Steps drop = Steps::Create(positions, size, LastBatch::kDrop, 1).value();
    std::vector<Cursor> kept;
    for (const Cursor& row : expected) {
      if (row.position < positions / size * size) kept.push_back(row);
    }
    EXPECT_EQ(Rows(drop, {3, 0}, 2), kept) << size;
  }
}

TEST(Steps, AResumeWithAnotherBatchSizeContinuesAtTheSameRow) {
  const Steps before = Steps::Create(1000, 60, LastBatch::kPad, 4).value();
  const Steps after = Steps::Create(1000, 35, LastBatch::kPad, 5).value();
  const std::vector<Cursor> all = Rows(before, {0, 0}, 1);
  const Cursor saved = before.Advance({0, 0}, 7);
  const std::vector<Cursor> rest = Rows(after, saved, 1);
  EXPECT_EQ(std::vector<Cursor>(all.begin() + 420, all.end()), rest);
}

TEST(Steps, PadRepeatsFromTheEpochsStartAndFlagsRows) {
  const Steps steps = Steps::Create(10, 8, LastBatch::kPad, 2).value();
  const StepSpan step = steps.StepAt({5, 8});
  EXPECT_EQ(step, (StepSpan{5, 8, 8, 2}));
  const std::vector<uint64_t> expected = {8, 9, 0, 1, 2, 3, 4, 5};
  for (uint64_t slot = 0; slot < 8; ++slot) {
    EXPECT_EQ(steps.PositionOfSlot(step, slot), expected[slot]);
    EXPECT_EQ(steps.IsValid(step, slot), slot < 2);
  }
  EXPECT_EQ(steps.SlotOfPosition(step, 9), 1u);
  EXPECT_EQ(steps.After(step), (Cursor{6, 0}));
  // An epoch shorter than the padding repeats several times.
  const Steps tiny = Steps::Create(3, 8, LastBatch::kPad, 1).value();
  const StepSpan only = tiny.StepAt({0, 0});
  EXPECT_EQ(only, (StepSpan{0, 0, 8, 3}));
  for (uint64_t slot = 0; slot < 8; ++slot) EXPECT_EQ(tiny.PositionOfSlot(only, slot), slot % 3);
}

TEST(Steps, PartialHasASmallerLastStepAndDropHasNone) {
  const Steps partial = Steps::Create(10, 4, LastBatch::kPartial, 1).value();
  EXPECT_EQ(partial.StepsPerEpoch(), 3u);
  const StepSpan last = partial.StepAt({0, 8});
  EXPECT_EQ(last, (StepSpan{0, 8, 2, 2}));
  EXPECT_EQ(partial.Slice(last, 0), (SlotRange{0, 2}));
  const Steps drop = Steps::Create(10, 4, LastBatch::kDrop, 4).value();
  EXPECT_EQ(drop.StepsPerEpoch(), 2u);
  EXPECT_EQ(drop.StepAt({0, 8}), (StepSpan{1, 0, 4, 4}));
  EXPECT_EQ(drop.After(drop.StepAt({0, 4})), (Cursor{1, 0}));
}

TEST(Steps, CountsAndAdvancesOverEpochEndsLikeSingleSteps) {
  for (const LastBatch last : {LastBatch::kDrop, LastBatch::kPad, LastBatch::kPartial}) {
    for (const uint64_t size : {1, 3, 7, 23}) {
      const Steps steps = Steps::Create(23, size, last, 1).value();
      for (const uint64_t position : {0, 1, 5, 22, 23}) {
        const Cursor start = steps.Normalized({2, position});
        Cursor cursor = start;
        for (uint64_t k = 0; k < 100; ++k) {
          ASSERT_EQ(steps.Advance({2, position}, k), cursor);
          ASSERT_EQ(steps.StepsBetween({2, position}, cursor), k);
          cursor = steps.After(steps.StepAt(cursor));
        }
        uint64_t count = 0;
        for (cursor = start; cursor.epoch == start.epoch; cursor = steps.After(steps.StepAt(cursor))) {
          ++count;
        }
        ASSERT_EQ(steps.StepsFrom(start.position), count);
      }
    }
  }
}

TEST(Steps, RejectsBatchesThatDoNotFitAndNamesTheFix) {
  const auto message = [](uint64_t positions, uint64_t size, LastBatch last, uint64_t world) {
    const auto steps = Steps::Create(positions, size, last, world);
    EXPECT_EQ(steps.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(steps.status().message());
  };
  EXPECT_EQ(message(1000, 256, LastBatch::kDrop, 3),
            "a global batch of 256 rows cannot be divided among 3 ranks; choose a batch.size that "
            "is a multiple of the world size");
  EXPECT_NE(message(100, 256, LastBatch::kDrop, 1).find("PAD"), std::string::npos);
  EXPECT_NE(message(1000, 256, LastBatch::kPartial, 2).find("one rank only"), std::string::npos);
  EXPECT_NE(message(0, 1, LastBatch::kPad, 1).find("no records"), std::string::npos);
  EXPECT_NE(message(5, 0, LastBatch::kPad, 1).find("batch.size is 0"), std::string::npos);
  EXPECT_NE(message(5, 1, LastBatch::kPad, 0).find("world size is 0"), std::string::npos);
  EXPECT_NE(message(5, 1, static_cast<LastBatch>(9), 1).find("batch.last"), std::string::npos);
}

}  // namespace
}  // namespace penstock::plan
