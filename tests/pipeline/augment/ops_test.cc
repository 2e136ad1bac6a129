// The ops' arithmetic and draws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/half.h"
#include "pipeline/augment/element.h"
#include "pipeline/augment/ops/geometry.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock {
namespace {

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    if ((half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0) continue;  // NaN
    ASSERT_EQ(FloatToHalf(HalfToFloat(half)), half) << bits;
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  // Between every two neighbors: the middle goes to the even one, the rest to the nearer one.
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
  EXPECT_EQ((ConvertElement<uint8_t>(std::nan(""))), 0);
  EXPECT_EQ((ConvertElement<BoolElement>(0.5f)).byte, 1);
  EXPECT_EQ((ConvertElement<HalfElement>(int32_t{2049})).bits, FloatToHalf(2048.0f));
  EXPECT_EQ((ConvertElement<float>(HalfElement{0x3C00})), 1.0f);
}

TEST(RandomResizedCrop, DrawsFitTheImageAndTheBounds) {
  const CropDraw draw;
  double mean_area = 0;
  int fallback = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    SampleRandom random(1, static_cast<uint64_t>(i), 0);
    const Rect rect = DrawResizedCrop(draw, 500, 375, &random);
    ASSERT_TRUE(rect.Inside(500, 375));
    const double area = rect.width * rect.height / (500.0 * 375), aspect = 1.0 * rect.width / rect.height;
    mean_area += area / kDraws;
    ASSERT_GT(area, 0.078);
    ASSERT_GT(aspect, 0.74);
    ASSERT_LT(aspect, 1.35);
    fallback += rect.width == 500 && rect.height == 375;
  }
  // What Python's arithmetic gives for this size over 200000 draws; large areas often do not fit.
  EXPECT_NEAR(mean_area, 0.432, 0.012);
  EXPECT_LT(fallback, 40);
}

TEST(RandomResizedCrop, FallsBackToTheCenterWhenNothingFits) {
  SampleRandom random(1, 2, 3);
  EXPECT_EQ(DrawResizedCrop({.scale_min = 1.0}, 3000, 3, &random), (Rect{1498, 0, 4, 3}));
  EXPECT_EQ(DrawResizedCrop({.scale_min = 1.0}, 3, 3000, &random), (Rect{0, 1498, 3, 4}));
  EXPECT_TRUE(DrawResizedCrop({}, 1, 1, &random).Inside(1, 1));
}

std::vector<uint8_t> Pixels(const std::string& ops, int width, int height) {
  const auto pipeline = BuildPipeline(ImageJob("ops { decode_image { } } " + ops));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const absl::Status status =
      pipeline->MakeRow(ImageRecord(MakeJpeg({.width = width, .height = height})), {}, &row.slot, &scratch);
  EXPECT_TRUE(status.ok()) << status;
  return row.As<uint8_t>(0);
}

TEST(CenterCrop, OffsetsRoundHalfToEven) {
  // 13 - 8 = 5: 2.5 rounds to 2. 15 - 8 = 7: 3.5 rounds to 4.
  const auto whole = [](int size) {
    return Pixels("ops { center_crop { height: " + std::to_string(size) + " width: " + std::to_string(size) + " } }",
                  size, size);
  };
  for (const auto& [size, offset] : {std::pair{13, 2}, {15, 4}, {9, 0}, {11, 2}, {12, 2}}) {
    const std::vector<uint8_t> full = whole(size);
    const std::vector<uint8_t> crop = Pixels("ops { center_crop { height: 8 width: 8 } }", size, size);
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8 * 3; ++x) {
        ASSERT_EQ(crop[static_cast<size_t>(y * 24 + x)],
                  full[static_cast<size_t>(((y + offset) * size + offset) * 3 + x)])
            << size;
      }
    }
  }
}

TEST(CenterCrop, SmallImagesArePaddedWithZero) {
  const std::vector<uint8_t> crop = Pixels("ops { center_crop { height: 9 width: 20 } }", 13, 4);
  const std::vector<uint8_t> full = Pixels("ops { center_crop { height: 4 width: 13 } }", 13, 4);
  for (int y = 0; y < 9; ++y) {
    for (int x = 0; x < 20; ++x) {
      const bool inside = y >= 2 && y < 6 && x >= 3 && x < 16;
      const int wanted = inside ? full[static_cast<size_t>(((y - 2) * 13 + x - 3) * 3)] : 0;
      ASSERT_EQ(crop[static_cast<size_t>((y * 20 + x) * 3)], wanted) << x << "," << y;
    }
  }
}

TEST(Flip, HappensWithItsProbability) {
  const auto pipeline = BuildPipeline(
      ImageJob("ops { decode_image { } } ops { resize { height: 1 width: 4 } } ops { random_horizontal_flip { "
               "probability: 0.25 } }"));
  const std::string record = ImageRecord(MakeJpeg({.width = 4, .height = 1}));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const std::vector<uint8_t> straight = Pixels("ops { resize { height: 1 width: 4 } }", 4, 1);
  int flipped = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(pipeline->MakeRow(record, {.record_id = i}, &row.slot, &scratch).ok());
    flipped += row.As<uint8_t>(0) != straight;
  }
  EXPECT_NEAR(flipped, 500, 80);
}

TEST(Normalize, IsTheFormulaInFloat32) {
  const std::string resize = "ops { resize { height: 3 width: 5 } }";
  const std::vector<uint8_t> pixels = Pixels(resize, 40, 30);
  const std::string record = ImageRecord(MakeJpeg({.width = 40, .height = 30}));
  const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
  for (const bool first : {false, true}) {
    for (const std::string before : {"", "ops { cast { to: FLOAT32 } }"}) {
      const std::string ops = "ops { decode_image { } }" + resize + before +
                              "ops { normalize { preset: 'imagenet' channels_first: " + (first ? "true" : "false") +
                              " ";
      const auto floats = BuildPipeline(ImageJob(ops + "} }"));
      const auto halves = BuildPipeline(ImageJob(ops + "to: FLOAT16 } }"));
      EXPECT_EQ(floats->schema().columns[0].shape,
                first ? (std::vector<int64_t>{3, 3, 5}) : (std::vector<int64_t>{3, 5, 3}));
      OwnedRow row(floats->schema()), half_row(halves->schema());
      RowScratch scratch;
      ASSERT_TRUE(floats->MakeRow(record, {}, &row.slot, &scratch).ok());
      ASSERT_TRUE(halves->MakeRow(record, {}, &half_row.slot, &scratch).ok());
      for (size_t p = 0; p < 15; ++p) {
        for (size_t c = 0; c < 3; ++c) {
          const float scaled = static_cast<float>(pixels[p * 3 + c]) * (1.0f / 255.0f);
          const float wanted = (scaled - mean[c]) / deviation[c];
          const size_t at = first ? c * 15 + p : p * 3 + c;
          ASSERT_EQ(row.As<float>(0)[at], wanted);
          ASSERT_EQ(half_row.As<uint16_t>(0)[at], FloatToHalf(wanted));
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock
