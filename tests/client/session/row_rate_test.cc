#include "client/session/row_rate.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

TEST(RowRate, StaysConstantBetweenSlowSteps) {
  RowRate rate;
  rate.Add(0, 0);
  EXPECT_EQ(rate.PerSecond(kSecond), 0);
  for (Nanos second = 1; second <= 60; ++second) {
    rate.Add(second * kSecond, static_cast<uint64_t>(second / 20) * 256);  // one step every 20 s, sampled each second
    if (second >= 20) {
      EXPECT_DOUBLE_EQ(rate.PerSecond(second * kSecond), 12.8) << second;
    }
  }
}

TEST(RowRate, FollowsFastSteps) {
  RowRate rate;
  for (Nanos second = 0; second <= 10; ++second) rate.Add(second * kSecond, static_cast<uint64_t>(second) * 1000);
  EXPECT_DOUBLE_EQ(rate.PerSecond(10 * kSecond), 1000);
  for (Nanos second = 11; second <= 20; ++second)
    rate.Add(second * kSecond, static_cast<uint64_t>(second) * 100 + 9000);
  EXPECT_DOUBLE_EQ(rate.PerSecond(20 * kSecond), 100);
}

TEST(RowRate, FallsWhenAStepIsLate) {
  RowRate rate;
  rate.Add(0, 0);
  rate.Add(kSecond, 100);
  rate.Add(2 * kSecond, 200);
  EXPECT_DOUBLE_EQ(rate.PerSecond(3 * kSecond), 100);
  EXPECT_DOUBLE_EQ(rate.PerSecond(101 * kSecond), 2);
}

}  // namespace
}  // namespace penstock::client
