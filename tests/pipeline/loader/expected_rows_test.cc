// A description of a session's rows has the rows that the session requests, and no others.
#include "pipeline/loader/read_ahead/expected_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace penstock::loader {
namespace {

constexpr uint64_t kExpectedPositions = 100, kExpectedEpochs = 6;

using EpochPosition = std::pair<uint64_t, uint64_t>;

// Positions have the records in reverse order, so that records and positions differ.
uint64_t RecordOf(uint64_t position) { return kExpectedPositions - 1 - position; }

std::set<EpochPosition> Covered(const ExpectedRows& rows) {
  std::set<EpochPosition> covered;
  for (uint64_t epoch = 0; epoch < kExpectedEpochs; ++epoch) {
    for (uint64_t position = 0; position < kExpectedPositions; ++position) {
      if (rows.Covers(epoch, position, RecordOf(position))) covered.emplace(epoch, position);
    }
  }
  return covered;
}

// Returns the rows of a rank's steps, step by step, whose slot and record `wants` accepts.
template <typename Wants>
std::set<EpochPosition> RowsOfSteps(const plan::Steps& steps, uint64_t rank, plan::Cursor start, uint64_t end_epoch,
                                    Wants wants) {
  std::set<EpochPosition> rows;
  for (plan::Cursor at = steps.Normalized(start); at.epoch < end_epoch; at = steps.After(steps.StepAt(at))) {
    const plan::StepSpan step = steps.StepAt(at);
    const plan::SlotRange slice = steps.Slice(step, rank);
    for (uint64_t slot = slice.begin; slot < slice.end; ++slot) {
      const uint64_t position = steps.PositionOfSlot(step, slot);
      if (steps.IsValid(step, slot) && wants(slot, RecordOf(position))) rows.emplace(step.epoch, position);
    }
  }
  return rows;
}

// A view with the keys [0, a third) and [two thirds, end) of worker "a".
plan::View ViewOf(plan::AssignPolicy policy, uint64_t keys) {
  plan::View view;
  view.policy = policy;
  view.key_space = keys;
  view.ranges = {{0, keys / 3, 0, 1}, {keys / 3, keys / 3 * 2, 1, 0}, {keys / 3 * 2, keys, 0, 1}};
  view.workers = {{"a", "h:1"}, {"b", "h:2"}};
  return view;
}

TEST(ExpectedRows, AreNoneWithoutADescription) { EXPECT_TRUE(Covered(ExpectedRows()).empty()); }

TEST(ExpectedRows, ASliceCoversTheRowsOfItsSteps) {
  const auto all = [](uint64_t, uint64_t) { return true; };
  for (const plan::LastBatch last : {plan::LastBatch::kDrop, plan::LastBatch::kPad, plan::LastBatch::kPartial}) {
    for (const uint64_t world : {1u, 2u, 4u}) {
      const absl::StatusOr<plan::Steps> steps = plan::Steps::Create(kExpectedPositions, 24, last, world);
      if (!steps.ok()) continue;  // kPartial is for one rank
      for (uint64_t rank = 0; rank < world; ++rank) {
        for (const plan::Cursor start :
             {plan::Cursor{0, 0}, plan::Cursor{0, 48}, plan::Cursor{1, 7}, plan::Cursor{2, 99}}) {
          SCOPED_TRACE(testing::Message() << plan::LastBatchName(last) << ", rank " << rank << " of " << world
                                          << ", from " << start.epoch << ":" << start.position);
          const std::set<EpochPosition> wanted = RowsOfSteps(*steps, rank, start, start.epoch + 3, all);
          EXPECT_FALSE(wanted.empty());
          EXPECT_EQ(Covered(ExpectedRows(*steps, rank, start, start.epoch + 3)), wanted);
        }
      }
    }
  }
}

TEST(ExpectedRows, WithoutAnEndAllLaterEpochsAreCovered) {
  const plan::Steps steps = *plan::Steps::Create(kExpectedPositions, 10, plan::LastBatch::kDrop, 1);
  const ExpectedRows rows(steps, 0, {1, 0}, plan::kWithoutEnd);
  EXPECT_FALSE(rows.Covers(0, 3, 3));
  EXPECT_TRUE(rows.Covers(uint64_t{1} << 60, 3, 3));
}

TEST(ExpectedRows, CoverOnlyTheWorkersSlotsIfAssignedByRank) {
  const plan::Steps steps = *plan::Steps::Create(kExpectedPositions, 24, plan::LastBatch::kDrop, 2);
  const plan::View view = ViewOf(plan::AssignPolicy::kByRank, plan::kRankKeySpace);
  std::set<EpochPosition> seen;
  for (const char* worker : {"a", "b", "c"}) {
    const auto owned = std::make_shared<const plan::OwnedKeys>(plan::OwnedKeys::Of(view, worker));
    for (uint64_t rank = 0; rank < 2; ++rank) {
      const std::set<EpochPosition> wanted = RowsOfSteps(
          steps, rank, {0, 12}, 2, [&](uint64_t slot, uint64_t) { return owned->Contains(plan::RankKey(slot, 24)); });
      EXPECT_EQ(wanted.empty(), std::string("c") == worker);
      EXPECT_EQ(Covered(ExpectedRows(steps, rank, {0, 12}, 2, owned)), wanted) << worker << " " << rank;
      seen.insert(wanted.begin(), wanted.end());
    }
  }
  EXPECT_EQ(seen, RowsOfSteps(*plan::Steps::Create(kExpectedPositions, 24, plan::LastBatch::kDrop, 1), 0, {0, 12}, 2,
                              [](uint64_t, uint64_t) { return true; }));
}

// Sessions of other ranks request the other rows of these records, perhaps from the same loader.
TEST(ExpectedRows, CoverAllRowsOfTheWorkersRecordsIfAssignedByRecord) {
  const plan::Steps steps = *plan::Steps::Create(kExpectedPositions, 20, plan::LastBatch::kDrop, 2);
  const plan::View view = ViewOf(plan::AssignPolicy::kByRecord, kExpectedPositions);
  const auto owned = std::make_shared<const plan::OwnedKeys>(plan::OwnedKeys::Of(view, "a"));
  std::set<EpochPosition> wanted;
  for (uint64_t epoch = 1; epoch < 3; ++epoch) {
    for (uint64_t position = 0; position < kExpectedPositions; ++position) {
      if (view.OwnerOf(RecordOf(position)) == 0) wanted.emplace(epoch, position);
    }
  }
  EXPECT_EQ(Covered(ExpectedRows(steps, 1, {1, 40}, 3, owned)), wanted);
}

}  // namespace
}  // namespace penstock::loader
