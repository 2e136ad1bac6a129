#include "base/distributions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace penstock {
namespace {

struct Moments {
  double mean = 0, variance = 0, low = 1e300, high = -1e300;
};

template <typename Draw>
Moments MomentsOf(Draw draw) {
  constexpr int kDraws = 40000;
  double sum = 0, squares = 0;
  Moments moments;
  for (int i = 0; i < kDraws; ++i) {
    SampleRandom random(7, static_cast<uint64_t>(i), 0);
    const double x = draw(&random);
    sum += x;
    squares += x * x;
    moments.low = std::min(moments.low, x);
    moments.high = std::max(moments.high, x);
  }
  moments.mean = sum / kDraws;
  moments.variance = squares / kDraws - moments.mean * moments.mean;
  return moments;
}

TEST(DistributionsTest, NormalHasMeanZeroAndVarianceOne) {
  const Moments moments = MomentsOf(DrawNormal);
  EXPECT_NEAR(moments.mean, 0, 0.02);
  EXPECT_NEAR(moments.variance, 1, 0.03);
  EXPECT_LT(moments.low, -3.5);
  EXPECT_GT(moments.high, 3.5);
}

TEST(DistributionsTest, GammaHasItsShapeAsMeanAndVariance) {
  for (const double shape : {0.2, 1.0, 3.5}) {
    const Moments moments = MomentsOf([shape](SampleRandom* random) { return DrawGamma(shape, random); });
    EXPECT_NEAR(moments.mean, shape, 0.03 * std::sqrt(shape) + 0.01) << shape;
    EXPECT_NEAR(moments.variance, shape, 0.08 * shape + 0.02) << shape;
    EXPECT_GE(moments.low, 0) << shape;
  }
}

TEST(DistributionsTest, BetaLiesBetweenZeroAndOneWithItsMean) {
  for (const auto& [a, b] : {std::pair{0.2, 0.2}, {1.0, 1.0}, {2.0, 5.0}}) {
    const Moments moments = MomentsOf([a = a, b = b](SampleRandom* random) { return DrawBeta(a, b, random); });
    EXPECT_NEAR(moments.mean, a / (a + b), 0.01);
    EXPECT_NEAR(moments.variance, a * b / ((a + b) * (a + b) * (a + b + 1)), 0.01);
    EXPECT_GE(moments.low, 0);
    EXPECT_LE(moments.high, 1);
  }
}

// The values of the first run. If they change, every row that such a draw made changes.
TEST(DistributionsTest, DrawsNeverChange) {
  SampleRandom random(1, 2, 3);
  EXPECT_EQ(DrawNormal(&random), 0x1.eca280125a2cdp-1);
  EXPECT_EQ(DrawGamma(0.5, &random), 0x1.428ec710e3279p-13);
  EXPECT_EQ(DrawBeta(0.2, 0.2, &random), 0x1.c257ae962a6d7p-1);
}

}  // namespace
}  // namespace penstock
