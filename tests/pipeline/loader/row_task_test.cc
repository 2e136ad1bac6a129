// The life cycle of a row: which states may follow which.
#include "pipeline/loader/row_task.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/loader/read_slots.h"

namespace penstock::loader {
namespace {

using enum RowState;

// The drawing in row_task.h, arrow by arrow.
const std::set<std::pair<RowState, RowState>>& Arrows() {
  static const auto* const arrows = new std::set<std::pair<RowState, RowState>>{
      {kQueued, kMaking},         // picked
      {kQueued, kAwaitsSession},  // another session makes it
      {kQueued, kReading},        // read before its turn
      {kAwaitsMemory, kMaking},   //
      {kAwaitsMemory, kAwaitsSession},
      {kAwaitsMemory, kReading},
      {kMaking, kDone},
      {kMaking, kAwaitsMemory},
      {kMaking, kAwaitsShard},
      {kMaking, kAwaitsReadSlot},
      {kMaking, kReading},
      {kAwaitsSession, kQueued},
      {kAwaitsShard, kQueued},
      {kAwaitsReadSlot, kQueued},
      {kReading, kQueued},
      {kReading, kAwaitsShard},  // the shard was closed before the read began
  };
  return *arrows;
}

// The states that lead from a request to `state`.
std::vector<RowState> PathTo(RowState state) {
  switch (state) {
    case kQueued:
      return {};
    case kMaking:
    case kAwaitsSession:
      return {state};
    default:
      return {kMaking, state};
  }
}

std::unique_ptr<RowTask> In(RowState state) {
  auto task = std::make_unique<RowTask>(TaskId{1, 2}, RowRequest());
  for (const RowState next : PathTo(state)) task->MoveTo(next);
  EXPECT_EQ(task->state(), state);
  return task;
}

std::vector<RowState> AllStates() {
  std::vector<RowState> states;
  for (int i = 0; i < kRowStates; ++i) states.push_back(static_cast<RowState>(i));
  return states;
}

TEST(RowTask, MovesAlongEachArrowOfTheDrawing) {
  for (const auto& [from, to] : Arrows()) {
    const std::unique_ptr<RowTask> task = In(from);
    task->MoveTo(to);
    EXPECT_EQ(task->state(), to) << NameOf(from);
  }
}

TEST(RowTaskDeathTest, EveryOtherTransitionIsABrokenInvariant) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // One process checks all pairs, and dies at the one transition that it then makes.
  for (const RowState from : AllStates()) {
    for (const RowState to : AllStates()) {
      EXPECT_EQ(MayMove(from, to), Arrows().contains({from, to})) << NameOf(from) << " -> " << NameOf(to);
    }
  }
  EXPECT_DEATH(In(kDone)->MoveTo(kQueued), "MayMove");
  EXPECT_DEATH(In(kQueued)->MoveTo(kDone), "MayMove");
}

TEST(RowTask, EachStateHasItsOwnName) {
  std::set<std::string> names;
  for (const RowState state : AllStates()) names.insert(std::string(NameOf(state)));
  EXPECT_EQ(names.size(), static_cast<size_t>(kRowStates));
}

TEST(ReadSlots, LimitsReadsAndServesUrgentRowsFirst) {
  ReadSlots slots(2);
  EXPECT_FALSE(slots.busy());
  slots.Begin();
  slots.Begin();
  EXPECT_FALSE(slots.has_free());
  slots.Wait({1, 1}, false);
  slots.Wait({1, 2}, false);
  slots.Wait({1, 3}, true);
  EXPECT_EQ(slots.TakeNext(), std::nullopt) << "both reads are in flight";
  slots.End();
  EXPECT_EQ(slots.TakeNext(), (TaskId{1, 3}));
  slots.Begin();
  EXPECT_EQ(slots.TakeNext(), std::nullopt);
  slots.SetMost(4);
  EXPECT_EQ(slots.room(), 2);
  EXPECT_EQ(slots.TakeNext(), (TaskId{1, 1}));
  EXPECT_EQ(slots.TakeNext(), (TaskId{1, 2}));
  EXPECT_EQ(slots.TakeNext(), std::nullopt) << "no row waits";
}

TEST(ReadSlots, ARowThatWaitsForARangeKeepsTheLoaderBusyButTakesNoSlot) {
  ReadSlots slots(1);
  slots.Begin();
  slots.MoveToRange();
  EXPECT_TRUE(slots.has_free());
  EXPECT_TRUE(slots.busy());
  slots.EndInRange();
  EXPECT_FALSE(slots.busy());
  // The wait may end before the row is counted.
  slots.Begin();
  slots.EndInRange();
  slots.MoveToRange();
  EXPECT_FALSE(slots.busy());
  EXPECT_TRUE(slots.has_free());
}

}  // namespace
}  // namespace penstock::loader
