#include "pipeline/plan/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace penstock::plan {
namespace {

TEST(Steps, SlicesPartitionEachStepForEveryWorldSize) {
  for (const uint64_t world : {1, 2, 3, 4, 5, 8, 12, 16, 100}) {
    for (const uint64_t per_rank : {1, 2, 7, 32}) {
      for (const LastBatch last : {LastBatch::kDrop, LastBatch::kPad}) {
        const Steps steps = Steps::Create(10'000, world * per_rank, last, world).value();
        Cursor cursor;
        for (uint64_t k = 0; k < steps.StepsOf(0); k += 1 + k / 3) {
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
  EXPECT_EQ(step, (StepSpan{5, 8, 8, 2, 8}));
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
  EXPECT_EQ(only, (StepSpan{0, 0, 8, 3, 8}));
  for (uint64_t slot = 0; slot < 8; ++slot) EXPECT_EQ(tiny.PositionOfSlot(only, slot), slot % 3);
}

TEST(Steps, PartialHasASmallerLastStepAndDropHasNone) {
  const Steps partial = Steps::Create(10, 4, LastBatch::kPartial, 1).value();
  EXPECT_EQ(partial.StepsOf(0), 3u);
  const StepSpan last = partial.StepAt({0, 8});
  EXPECT_EQ(last, (StepSpan{0, 8, 2, 2, 4}));
  EXPECT_EQ(partial.Slice(last, 0), (SlotRange{0, 2}));
  const Steps drop = Steps::Create(10, 4, LastBatch::kDrop, 4).value();
  EXPECT_EQ(drop.StepsOf(0), 2u);
  EXPECT_EQ(drop.StepAt({0, 8}), (StepSpan{1, 0, 4, 4, 4}));
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
        ASSERT_EQ(steps.StepsFrom(start), count);
      }
    }
  }
}

// Returns the size of a step that begins at the cursor, by the definition.
uint64_t SizeByRule(const StepSizes& sizes, uint64_t positions, Cursor cursor) {
  uint64_t size = sizes.first;
  for (const SizeChange& change : sizes.changes) {
    if (change.at_rows <= cursor.epoch * positions + cursor.position) size = change.size;
  }
  return size;
}

// Returns the first `count` steps from the cursor, by the definition.
std::vector<StepSpan> StepsByRule(const StepSizes& sizes, uint64_t positions, LastBatch last, Cursor cursor,
                                  size_t count) {
  std::vector<StepSpan> steps;
  while (steps.size() < count) {
    const uint64_t size = SizeByRule(sizes, positions, cursor);
    const bool fits = cursor.position + size <= positions;
    if (cursor.position >= positions || (!fits && last == LastBatch::kDrop)) {
      cursor = {cursor.epoch + 1, 0};
      continue;
    }
    const uint64_t valid = fits ? size : positions - cursor.position;
    steps.push_back({cursor.epoch, cursor.position, last == LastBatch::kPartial ? valid : size, valid, size});
    cursor.position += valid;
  }
  return steps;
}

StepSizes RandomSizes(std::mt19937_64* random, uint64_t positions) {
  const auto below = [&](uint64_t n) { return (*random)() % n; };
  StepSizes sizes = 1 + below(positions);
  uint64_t rows = 0;
  for (uint64_t n = below(6); n > 0; --n) {
    // Often at the begin of an epoch, beside it, or several in one epoch.
    rows += 1 + (below(3) == 0 ? below(4) : below(3 * positions));
    if (below(4) == 0) rows = (rows / positions + 1) * positions;
    sizes.changes.push_back({rows, 1 + below(positions)});
  }
  return sizes;
}

TEST(Steps, SizesThatChangeFollowTheirRule) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 400; ++round) {
    const uint64_t positions = 1 + random() % 60;
    const StepSizes sizes = RandomSizes(&random, positions);
    for (const LastBatch last : {LastBatch::kDrop, LastBatch::kPad, LastBatch::kPartial}) {
      const Steps steps = Steps::Create(positions, sizes, last, 1).value();
      const Cursor start = {random() % 4, random() % (positions + 1)};
      const std::vector<StepSpan> expected = StepsByRule(sizes, positions, last, start, 120);
      std::map<uint64_t, uint64_t> steps_of, rows_of;  // by epoch
      Cursor cursor = start;
      for (uint64_t k = 0; k < expected.size(); ++k) {
        const StepSpan step = steps.StepAt(cursor);
        ASSERT_EQ(step, expected[k]) << round << " " << k;
        const Cursor begin = {step.epoch, step.begin};
        ASSERT_EQ(steps.SizeAt(begin), step.size);
        ASSERT_LE(step.size, steps.largest());
        ASSERT_EQ(steps.Advance(start, k), begin) << round << " " << k;
        ASSERT_EQ(steps.StepsBetween(start, begin), k) << round;
        const Cursor first =
            step.epoch == expected[0].epoch ? Cursor{step.epoch, expected[0].begin} : Cursor{step.epoch, 0};
        ASSERT_EQ(steps.StepWith(first, step.begin), step);
        ASSERT_EQ(steps.StepWith(first, step.begin + step.valid - 1), step);
        if (first.position == 0) {
          ASSERT_EQ(steps.NumberAt(begin), steps_of[step.epoch]);
        }
        ++steps_of[step.epoch];
        rows_of[step.epoch] += step.valid;
        cursor = steps.After(step);
      }
      for (uint64_t epoch = expected[0].epoch + 1; epoch < expected.back().epoch; ++epoch) {
        ASSERT_EQ(steps.StepsOf(epoch), steps_of[epoch]);
        ASSERT_EQ(steps.DroppedOf(epoch), positions - rows_of[epoch]);
        if (steps.DroppedOf(epoch) > 0) {
          ASSERT_EQ(steps.StepWith({epoch, 0}, positions - 1), std::nullopt);
        }
      }
    }
  }
}

TEST(Steps, BatchesOfASequenceAreTheSteps) {
  std::mt19937_64 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const auto below = [&](uint64_t n) { return random() % n; };
    const uint64_t multiple = 1 + below(4);
    std::vector<uint64_t> rows, limits;
    for (uint64_t group = 0; group < 4; ++group) {
      rows.push_back(multiple + below(20));
      limits.push_back(multiple * (1 + below(4)));
    }
    const auto batches = std::make_shared<const BatchSequence>(BatchCut(rows, limits, multiple), 17);
    const uint64_t positions = batches->positions();
    for (const LastBatch last : {LastBatch::kDrop, LastBatch::kPad, LastBatch::kPartial}) {
      const uint64_t world = last == LastBatch::kPartial ? 1 : multiple;
      StepSizes sizes = 1000;
      sizes.batches = batches;
      const Steps steps = Steps::Create(positions, sizes, last, world).value();
      const uint64_t count = batches->cut().batches() + (last != LastBatch::kDrop && batches->cut().rest() > 0);
      ASSERT_EQ(steps.StepsOf(3), count);
      ASSERT_EQ(steps.DroppedOf(3), last == LastBatch::kDrop ? batches->cut().rest() : 0);
      Cursor cursor{3, 0};
      for (uint64_t k = 0; k < 3 * count; ++k) {
        const uint64_t epoch = 3 + k / count, number = k % count;
        const BatchSequence::Batch batch = batches->At(epoch, number);
        ASSERT_EQ(cursor, (Cursor{epoch, batch.position}));
        ASSERT_EQ(steps.Advance({3, 0}, k), cursor);
        ASSERT_EQ(steps.StepsBetween({3, 0}, cursor), k);
        ASSERT_EQ(steps.NumberAt(cursor), number);
        ASSERT_EQ(steps.StepsFrom(cursor), count - number);
        const StepSpan step = steps.StepAt(cursor);
        ASSERT_EQ(step.valid, batch.rows);
        ASSERT_EQ(step.rows % world, 0u);
        ASSERT_LT(step.rows - step.valid, multiple);
        ASSERT_LE(step.rows, steps.largest());
        ASSERT_EQ(steps.StepWith({epoch, 0}, batch.position + batch.rows - 1), step);
        // A cursor inside a batch, as no state has it: the rest of the batch, divided among all ranks.
        const uint64_t inside = batch.position + below(batch.rows);
        const StepSpan rest = steps.StepAt({epoch, inside});
        ASSERT_EQ(rest.begin + rest.valid, batch.position + batch.rows);
        ASSERT_GT(steps.Slice(rest, world - 1).size(), 0u);
        ASSERT_EQ(steps.After(rest), steps.After(step));
        cursor = steps.After(step);
      }
      ASSERT_EQ(cursor, (Cursor{6, 0}));
    }
  }
}

TEST(Steps, RanksMustDivideTheMultipleOfAllBatches) {
  StepSizes sizes = 64;
  sizes.batches = std::make_shared<const BatchSequence>(
      BatchCut(std::vector<uint64_t>{100}, std::vector<uint64_t>{24}, 6), std::nullopt);
  EXPECT_TRUE(Steps::Create(100, sizes, LastBatch::kDrop, 3).ok());
  EXPECT_EQ(
      Steps::Create(100, sizes, LastBatch::kDrop, 4).status().message(),
      "batches of multiples of 6 rows cannot be divided among 4 ranks; choose a bucket.multiple that is a multiple "
      "of the world size, such as 4 or 8");
  sizes.batches = std::make_shared<const BatchSequence>(BatchCut(std::vector<uint64_t>{3}, std::vector<uint64_t>{4}, 4),
                                                        std::nullopt);
  EXPECT_THAT(std::string(Steps::Create(3, sizes, LastBatch::kDrop, 1).status().message()),
              ::testing::HasSubstr("no steps"));
  EXPECT_EQ(Steps::Create(3, sizes, LastBatch::kPad, 4)->StepsOf(0), 1u);
}

TEST(Steps, ManyEpochsWithoutChangeTakeNoTime) {
  const Steps steps = Steps::Create(1000, StepSizes(10, {{uint64_t{1} << 50, 100}}), LastBatch::kDrop, 1).value();
  const uint64_t at = uint64_t{1} << 50, epoch = at / 1000;
  EXPECT_EQ(steps.StepsOf(epoch - 1), 100u);
  EXPECT_EQ(steps.StepsOf(epoch + 1), 10u);
  const uint64_t before = epoch * 100, inside = (at % 1000 + 9) / 10;
  EXPECT_EQ(steps.StepsBetween({0, 0}, {epoch, 0}), before);
  EXPECT_EQ(steps.Advance({0, 0}, before + inside), (Cursor{epoch, inside * 10}));
  EXPECT_EQ(steps.StepAt({epoch, inside * 10}).size, 100u);
  EXPECT_EQ(steps.Advance({epoch + 1, 0}, uint64_t{10} << 40), (Cursor{epoch + 1 + (uint64_t{1} << 40), 0}));
}

TEST(Steps, RejectsWrongChanges) {
  const auto message = [](std::vector<SizeChange> changes, LastBatch last = LastBatch::kDrop, uint64_t world = 2) {
    return std::string(Steps::Create(100, StepSizes(10, std::move(changes)), last, world).status().message());
  };
  EXPECT_EQ(message({{0, 20}}), "batch.change[0].at_rows is 0; it must be greater than 0");
  EXPECT_EQ(message({{70, 20}, {70, 30}}), "batch.change[1].at_rows is 70; it must be greater than 70");
  EXPECT_EQ(message({{70, 0}}), "batch.change[0].size is 0; it must be at least 1");
  EXPECT_EQ(
      message({{70, 15}}),
      "a global batch of 15 rows cannot be divided among 2 ranks; choose a batch.change[0].size that is a multiple "
      "of the world size, such as 14 or 16");
  EXPECT_EQ(
      message({{70, 102}}),
      "an epoch has 100 rows, fewer than one global batch of 102, and batch.last is DROP: the epoch would have no "
      "steps; use PAD, or a smaller batch.change[0].size");
  EXPECT_EQ(message({{70, 102}}, LastBatch::kPad), "");
  std::vector<SizeChange> many;
  for (uint64_t i = 1; i <= 65; ++i) many.push_back({i, 10});
  EXPECT_EQ(message(many), "batch.change: at most 64");
}

TEST(Steps, RejectsBatchesThatDoNotFitAndNamesTheFix) {
  const auto message = [](uint64_t positions, uint64_t size, LastBatch last, uint64_t world) {
    const auto steps = Steps::Create(positions, size, last, world);
    EXPECT_EQ(steps.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(steps.status().message());
  };
  EXPECT_EQ(message(1000, 256, LastBatch::kDrop, 3),
            "a global batch of 256 rows cannot be divided among 3 ranks; choose a batch.size that "
            "is a multiple of the world size, such as 255 or 258");
  EXPECT_NE(message(100, 256, LastBatch::kDrop, 1).find("PAD"), std::string::npos);
  EXPECT_NE(message(1000, 256, LastBatch::kPartial, 2).find("one rank only"), std::string::npos);
  EXPECT_NE(message(0, 1, LastBatch::kPad, 1).find("no records"), std::string::npos);
  EXPECT_NE(message(5, 0, LastBatch::kPad, 1).find("batch.size is 0"), std::string::npos);
  EXPECT_NE(message(5, 1, LastBatch::kPad, 0).find("world size is 0"), std::string::npos);
  EXPECT_NE(message(5, 1, static_cast<LastBatch>(9), 1).find("batch.last"), std::string::npos);
}

}  // namespace
}  // namespace penstock::plan
