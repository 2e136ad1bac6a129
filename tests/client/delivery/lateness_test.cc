#include "client/delivery/lateness.h"

#include <gtest/gtest.h>

namespace penstock::client {
namespace {

TEST(Lateness, IsPatientWithFewSamples) {
  Lateness lateness;
  EXPECT_EQ(lateness.Threshold(), kSecond);
  lateness.AddWait(0);
  lateness.AddWait(0);
  EXPECT_EQ(lateness.Threshold(), kSecond);
  lateness.AddWait(0);
  EXPECT_EQ(lateness.Threshold(), 300 * kMillisecond);
}

TEST(Lateness, IsFiveMediansWithinItsLimits) {
  Lateness lateness;
  for (int i = 0; i < 20; ++i) lateness.AddWait(100 * kMillisecond);
  EXPECT_EQ(lateness.Threshold(), 500 * kMillisecond);
  lateness.AddWait(3600 * kSecond);  // one long wait does not change the median
  EXPECT_EQ(lateness.Threshold(), 500 * kMillisecond);
  for (int i = 0; i < 20; ++i) lateness.AddWait(INT64_MAX / 2);
  EXPECT_EQ(lateness.Threshold(), kSecond);
}

}  // namespace
}  // namespace penstock::client
