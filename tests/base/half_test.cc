#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/philox.h"

namespace penstock {
namespace {

// The value of each binary16 by IEEE 754's definition.
double ValueOf(uint16_t half) {
  const int exponent = half >> 10 & 0x1F, mantissa = half & 0x3FF;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

bool IsFinite(uint16_t half) { return (half >> 10 & 0x1F) != 0x1F; }

TEST(Half, EveryFloat16HasItsIeeeValueAndSurvivesTheRoundTrip) {
  for (uint32_t i = 0; i <= 0xFFFF; ++i) {
    const uint16_t half = static_cast<uint16_t>(i);
    const float value = HalfToFloat(half);
    if (IsFinite(half)) {
      ASSERT_EQ(static_cast<double>(value), ValueOf(half)) << i;
      ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0);
      ASSERT_EQ(FloatToHalf(value), half) << i;
    } else if ((half & 0x3FF) == 0) {
      ASSERT_TRUE(std::isinf(value));
      ASSERT_EQ(FloatToHalf(value), half);
    } else {
      ASSERT_TRUE(std::isnan(value));
      ASSERT_EQ(FloatToHalf(value), (half & 0x8000) | 0x7E00);
    }
  }
}

// A value between two float16 neighbors rounds to the nearer one. The middle rounds to the even one.
TEST(Half, RoundsToNearestTiesToEven) {
  SampleRandom random(1, 0, 0);
  for (uint16_t half = 0; half < 0x7BFF; ++half) {
    const uint16_t next = static_cast<uint16_t>(half + 1);
    const double low = ValueOf(half), high = ValueOf(next), middle = (low + high) / 2;
    const uint16_t even = half % 2 == 0 ? half : next;
    const auto expect = [&](double value, uint16_t wanted) {
      const float exact = static_cast<float>(value);
      ASSERT_EQ(FloatToHalf(exact), wanted) << value;
      ASSERT_EQ(FloatToHalf(-exact), wanted | 0x8000) << value;
    };
    expect(middle, even);
    expect(static_cast<double>(std::nextafter(static_cast<float>(middle), 0.0f)), half);
    expect(static_cast<double>(std::nextafter(static_cast<float>(middle), 1e9f)), next);
    const float some = static_cast<float>(low + (high - low) * random.Uniform(0, 1));
    const double to_low = static_cast<double>(some) - low, to_high = high - static_cast<double>(some);
    if (to_low != to_high) expect(static_cast<double>(some), to_low < to_high ? half : next);
  }
  EXPECT_EQ(FloatToHalf(65519.99f), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7C00);  // the middle between 65504 and 65536 rounds to infinity
  EXPECT_EQ(FloatToHalf(1e30f), 0x7C00);
  EXPECT_EQ(FloatToHalf(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_EQ(FloatToHalf(std::numeric_limits<float>::denorm_min()), 0);
}

TEST(Half, Bfloat16IsTheRoundedUpperHalfOfAFloat) {
  for (uint32_t i = 0; i <= 0xFFFF; ++i) {
    const uint16_t upper = static_cast<uint16_t>(i);
    const float value = Bfloat16ToFloat(upper);
    if (std::isnan(value)) {
      ASSERT_EQ(FloatToBfloat16(value), (upper & 0x8000) | 0x7FC0);
      continue;
    }
    ASSERT_EQ(FloatToBfloat16(value), upper);
    if (std::isinf(value)) continue;
    const auto with = [&](uint32_t low) { return FloatToBfloat16(std::bit_cast<float>(i << 16 | low)); };
    ASSERT_EQ(with(0x7FFF), upper);
    ASSERT_EQ(with(0x8000), static_cast<uint16_t>(upper + upper % 2));
    ASSERT_EQ(with(0x8001), static_cast<uint16_t>(upper + 1));
  }
}

}  // namespace
}  // namespace penstock
