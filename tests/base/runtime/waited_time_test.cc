#include "base/runtime/waited_time.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(WaitedTime, PiecesAddUp) {
  Nanos now = 17 * kSecond;
  WaitedTime waited(now);
  for (int i = 1; i <= 600; ++i) {
    now += WaitedTime::kPiece;
    EXPECT_EQ(waited.At(now), i * WaitedTime::kPiece);
  }
}

TEST(WaitedTime, OneIntervalCountsAtMostTwoPieces) {
  Nanos now = 0;
  WaitedTime waited(now);
  EXPECT_EQ(waited.At(now += kSecond), kSecond);
  EXPECT_EQ(waited.At(now += 3600 * kSecond), 3 * kSecond);
  EXPECT_EQ(waited.At(now += kSecond), 4 * kSecond);
  EXPECT_EQ(waited.At(now), 4 * kSecond);
}

}  // namespace
}  // namespace penstock
