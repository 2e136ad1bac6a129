// Conversions of tensor elements.
#include "pipeline/augment/value/element.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "base/half.h"

namespace penstock::augment {
namespace {

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    if ((half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0) continue;  // NaN
    ASSERT_EQ(FloatToHalf(HalfToFloat(half)), half) << bits;
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  // Between two neighbors, the middle rounds to the even one and other values to the nearer one.
  for (uint16_t half = 0; half < 0x7BFF; ++half) {
    const float low = HalfToFloat(half), high = HalfToFloat(static_cast<uint16_t>(half + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(FloatToHalf(middle), half + (half & 1)) << half;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, 0.0f)), half) << half;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, 1e9f)), half + 1) << half;
    ASSERT_EQ(FloatToHalf(-middle), 0x8000 | (half + (half & 1))) << half;
  }
  EXPECT_EQ(FloatToHalf(65519.0f), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7C00);
  EXPECT_EQ(FloatToHalf(1e30f), 0x7C00);
  EXPECT_EQ(FloatToHalf(-INFINITY), 0xFC00);
  EXPECT_EQ(FloatToHalf(NAN) & 0x7FFF, 0x7E00);
  EXPECT_EQ(FloatToHalf(1e-30f), 0);
}

TEST(Half, Bfloat16RoundsToTheNearestAndTiesToEven) {
  for (uint32_t bits = 0; bits < 0x7F80; ++bits) {
    const float low = Bfloat16ToFloat(static_cast<uint16_t>(bits));
    ASSERT_EQ(FloatToBfloat16(low), bits);
    const float middle = std::bit_cast<float>(bits << 16 | 0x8000);
    ASSERT_EQ(FloatToBfloat16(middle), bits + (bits & 1));
    ASSERT_EQ(FloatToBfloat16(std::bit_cast<float>(bits << 16 | 0x7FFF)), bits);
    ASSERT_EQ(FloatToBfloat16(std::bit_cast<float>(bits << 16 | 0x8001)), bits + 1);
  }
  EXPECT_EQ(FloatToBfloat16(NAN) & 0x7FFF, 0x7FC0);
  EXPECT_EQ(FloatToBfloat16(-INFINITY), 0xFF80);
}

TEST(Element, ConversionsSaturate) {
  EXPECT_EQ((ConvertElement<uint8_t>(int64_t{-3})), 0);
  EXPECT_EQ((ConvertElement<int8_t>(uint16_t{60000})), 127);
  EXPECT_EQ((ConvertElement<int64_t>(1e30)), INT64_MAX);
  EXPECT_EQ((ConvertElement<int64_t>(-1e30f)), INT64_MIN);
  EXPECT_EQ((ConvertElement<int32_t>(-2.9f)), -2);
  EXPECT_EQ((ConvertElement<uint8_t>(255.9)), 255);
  EXPECT_EQ((ConvertElement<int64_t>(UINT64_MAX)), INT64_MAX);
  EXPECT_EQ((ConvertElement<uint64_t>(INT64_MIN)), 0u);
  EXPECT_EQ((ConvertElement<uint64_t>(INT64_MAX)), uint64_t{INT64_MAX});
  EXPECT_EQ((ConvertElement<uint32_t>(int64_t{1} << 32)), UINT32_MAX);
  EXPECT_EQ((ConvertElement<uint32_t>(UINT64_MAX)), UINT32_MAX);
  EXPECT_EQ((ConvertElement<uint64_t>(1e30)), UINT64_MAX);
  EXPECT_EQ((ConvertElement<uint64_t>(-1e30f)), 0u);
  EXPECT_EQ((ConvertElement<uint32_t>(4294967295.0)), UINT32_MAX);
  EXPECT_EQ((ConvertElement<double>(UINT64_MAX)), 18446744073709551616.0);
  EXPECT_EQ((ConvertElement<uint8_t>(std::nan(""))), 0);
  EXPECT_EQ((ConvertElement<BoolElement>(0.5f)).byte, 1);
  EXPECT_EQ((ConvertElement<HalfElement>(int32_t{2049})).bits, FloatToHalf(2048.0f));
  EXPECT_EQ((ConvertElement<float>(HalfElement{0x3C00})), 1.0f);
}

}  // namespace
}  // namespace penstock::augment
