// random_resized_crop, center_crop and flips: their rectangles and frequencies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pipeline/augment/ops/geometry/resized_crop.h"
#include "tests/pipeline/augment/op_examples.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::augment {
namespace {

const OpExampleRegistration kCropExamples{
    {"decode_image", ""},
    {"decode_image", "channels: GRAY"},
    {"random_resized_crop", "height: 33 width: 41"},
    {"random_resized_crop", "height: 33 width: 41 filter: BICUBIC"},
    {"random_resized_crop", "height: 33 width: 41 resize: OPENCV_LINEAR"},
    {"random_resized_crop", "height: 33 width: 41 resize: OPENCV_AREA"},
    {"random_resized_crop", "height: 33 width: 41 resize: TF_BILINEAR"},
    {"resize", "height: 119 width: 37"},
    {"resize", "shorter_side: 50 filter: LANCZOS"},
    {"resize", "longer_side: 50 filter: HAMMING"},
    {"resize", "height: 20 width: 90 filter: BOX"},
    {"resize", "height: 20 width: 90 filter: NEAREST"},
    {"resize", "height: 119 width: 37 resize: OPENCV_LINEAR"},
    {"resize", "height: 31 width: 37 resize: OPENCV_AREA"},
    {"resize", "height: 119 width: 37 resize: TF_BILINEAR no_antialias: true"},
    {"center_crop", "height: 30 width: 120"},
    {"random_horizontal_flip", ""},
    {"random_vertical_flip", ""},
};

TEST(RandomResizedCrop, DrawsFitTheImageAndTheBounds) {
  const CropDraw draw;
  double mean_area = 0;
  int fallback = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    SampleRandom random(1, static_cast<uint64_t>(i), 0);
    const image::Rect rect = DrawResizedCrop(draw, 500, 375, &random);
    ASSERT_TRUE(rect.Inside(500, 375));
    const double area = rect.width * rect.height / (500.0 * 375), aspect = 1.0 * rect.width / rect.height;
    mean_area += area / kDraws;
    ASSERT_GT(area, 0.078);
    ASSERT_GT(aspect, 0.74);
    ASSERT_LT(aspect, 1.35);
    fallback += rect.width == 500 && rect.height == 375;
  }
  // The result of Python's arithmetic for this size over 200000 draws; large areas often do not fit.
  EXPECT_NEAR(mean_area, 0.432, 0.012);
  EXPECT_LT(fallback, 40);
}

TEST(RandomResizedCrop, FallsBackToTheCenterWhenNothingFits) {
  SampleRandom random(1, 2, 3);
  EXPECT_EQ(DrawResizedCrop({.scale_min = 1.0}, 3000, 3, &random), (image::Rect{1498, 0, 4, 3}));
  EXPECT_EQ(DrawResizedCrop({.scale_min = 1.0}, 3, 3000, &random), (image::Rect{0, 1498, 3, 4}));
  EXPECT_TRUE(DrawResizedCrop({}, 1, 1, &random).Inside(1, 1));
}

std::vector<uint8_t> CroppedPixels(const std::string& ops, int width, int height) {
  return ImageAfter(ops, ImageRecord(image::MakeJpeg({.width = width, .height = height})));
}

TEST(CenterCrop, OffsetsRoundHalfToEven) {
  // 13 - 8 = 5: 2.5 rounds to 2. 15 - 8 = 7: 3.5 rounds to 4.
  const auto whole = [](int size) {
    return CroppedPixels(
        "ops { center_crop { height: " + std::to_string(size) + " width: " + std::to_string(size) + " } }", size, size);
  };
  for (const auto& [size, offset] : {std::pair{13, 2}, {15, 4}, {9, 0}, {11, 2}, {12, 2}}) {
    const std::vector<uint8_t> full = whole(size);
    const std::vector<uint8_t> crop = CroppedPixels("ops { center_crop { height: 8 width: 8 } }", size, size);
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
  const std::vector<uint8_t> crop = CroppedPixels("ops { center_crop { height: 9 width: 20 } }", 13, 4);
  const std::vector<uint8_t> full = CroppedPixels("ops { center_crop { height: 4 width: 13 } }", 13, 4);
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
  const std::string record = ImageRecord(image::MakeJpeg({.width = 4, .height = 1}));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const std::vector<uint8_t> straight = CroppedPixels("ops { resize { height: 1 width: 4 } }", 4, 1);
  int flipped = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    ASSERT_TRUE(pipeline->MakeRow(record, {.record_id = i}, &row.slot, &scratch).ok());
    flipped += row.As<uint8_t>(0) != straight;
  }
  EXPECT_NEAR(flipped, 500, 80);
}

}  // namespace
}  // namespace penstock::augment
