#include "base/runtime/rate_table.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

int Taken(RateTable& table, const std::string& key, Nanos now, int attempts) {
  int taken = 0;
  for (int i = 0; i < attempts; ++i) taken += table.Take(key, now) ? 1 : 0;
  return taken;
}

TEST(RateTable, AKeyActsInABurstAndThenAtItsRate) {
  RateTable table(5, 20);
  EXPECT_EQ(Taken(table, "a", 0, 100), 20);
  EXPECT_EQ(Taken(table, "a", kSecond, 100), 5);
  EXPECT_EQ(Taken(table, "a", kSecond + 100 * kMillisecond, 100), 0) << "half an allowance";
  EXPECT_EQ(Taken(table, "a", kSecond + 200 * kMillisecond, 100), 1);
  EXPECT_EQ(Taken(table, "a", 1000 * kSecond, 100), 20);
}

TEST(RateTable, KeysHaveAllowancesOfTheirOwn) {
  RateTable table(1, 2);
  EXPECT_EQ(Taken(table, "a", 0, 100), 2);
  EXPECT_EQ(Taken(table, "b", 0, 100), 2);
}

TEST(RateTable, KeysThatDoNotFitShareOneAllowance) {
  RateTable table(1, 2, 10);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Taken(table, std::to_string(i), 0, 5), 2) << i;
  int more = 0;
  for (int i = 10; i < 1000; ++i) more += Taken(table, std::to_string(i), 0, 5);
  EXPECT_EQ(more, 2);
}

TEST(RateTable, KeysThatPausedMakeRoom) {
  RateTable table(1, 2, 10);
  for (int i = 0; i < 20; ++i) Taken(table, std::to_string(i), 0, 5);
  for (int i = 20; i < 29; ++i) EXPECT_EQ(Taken(table, std::to_string(i), 10 * kSecond, 5), 2) << i;
}

}  // namespace
}  // namespace penstock
