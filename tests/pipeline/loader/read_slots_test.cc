#include "pipeline/loader/read_slots.h"

#include <gtest/gtest.h>

#include <optional>

#include "pipeline/loader/row_task.h"

namespace penstock::loader {
namespace {

TEST(ReadSlots, UrgentRowsGoFirstAndRowsKeepTheirOrder) {
  ReadSlots slots(1);
  slots.Wait({1, 1}, false);
  slots.Wait({1, 2}, true);
  slots.Wait({1, 3}, false);
  slots.Wait({1, 4}, true);
  for (const uint64_t expected : {2, 4, 1, 3}) {
    const std::optional<TaskId> next = slots.TakeNext();
    ASSERT_TRUE(next.has_value());
    EXPECT_EQ(next->number, expected);
  }
  EXPECT_EQ(slots.TakeNext(), std::nullopt);
}

TEST(ReadSlots, ARowWaitsUntilAReadEnds) {
  ReadSlots slots(1);
  slots.Begin();
  slots.Wait({1, 1}, true);
  EXPECT_EQ(slots.TakeNext(), std::nullopt);
  slots.End();
  EXPECT_EQ(slots.TakeNext(), (TaskId{1, 1}));
}

}  // namespace
}  // namespace penstock::loader
