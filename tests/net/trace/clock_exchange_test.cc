#include "net/trace/clock_exchange.h"

#include <gtest/gtest.h>

#include <random>

namespace penstock::net {
namespace {

// For any delays in both directions the bounds contain the true offset. More calls do not widen them.
TEST(ClockExchange, TheTrueOffsetLiesBetweenTheBoundsForAnyDelays) {
  std::mt19937_64 random(1);
  const auto draw = [&random](Nanos most) { return std::uniform_int_distribution<Nanos>(0, most)(random); };
  for (int round = 0; round < 2000; ++round) {
    const Nanos offset = draw(2'000'000'000'000) - 1'000'000'000'000;
    ClockExchange clock;
    Nanos now = draw(1'000'000'000), width = INT64_MAX;
    for (int call = 0; call < 16; ++call) {
      const Nanos asked = now, there = draw(3'000'000), in_hand = draw(100'000), back = draw(3'000'000);
      const Nanos received = asked + there + offset, sent = received + in_hand;
      now = asked + there + in_hand + back;
      clock.Add(asked, received, sent, now);
      ASSERT_LE(clock.least(), offset);
      ASSERT_GE(clock.most(), offset);
      ASSERT_LE(clock.most() - clock.least(), width);
      ASSERT_LE(clock.most() - clock.least(), clock.round_trip());
      width = clock.most() - clock.least();
      now += draw(1'000'000);
    }
    EXPECT_EQ(clock.exchanges(), 16u);
  }
}

TEST(ClockExchange, WhatCannotBeIsLeftOutAndDriftLeavesTheLastWord) {
  ClockExchange clock;
  clock.Add(100, 50, 60, 90);  // the answer precedes the request
  clock.Add(100, 60, 50, 200);
  clock.Add(100, 0, 500, 200);  // more time passed there than here
  EXPECT_EQ(clock.exchanges(), 0u);
  clock.Add(100, 1100, 1100, 110);  // 990 to 1000
  clock.Add(200, 1300, 1300, 210);  // 1090 to 1100
  EXPECT_EQ(clock.least(), 1090);
  EXPECT_EQ(clock.most(), 1100);
}

}  // namespace
}  // namespace penstock::net
