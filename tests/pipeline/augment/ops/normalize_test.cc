// Compares normalize with its formula.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/half.h"
#include "tests/pipeline/augment/op_examples.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::augment {
namespace {

const OpExampleRegistration kNormalizeExamples{
    {"normalize", "preset: 'imagenet' to: FLOAT32", OpExample::kLeavesNumbers},
    {"normalize", "preset: 'clip' to: BFLOAT16 channels_first: true", OpExample::kLeavesNumbers},
};

std::vector<uint8_t> NormalizedPixels(const std::string& ops, int width, int height) {
  return ImageAfter(ops, ImageRecord(image::MakeJpeg({.width = width, .height = height})));
}

TEST(Normalize, MatchesTheFormulaInFloat32) {
  const std::string resize = "ops { resize { height: 3 width: 5 } }";
  const std::vector<uint8_t> pixels = NormalizedPixels(resize, 40, 30);
  const std::string record = ImageRecord(image::MakeJpeg({.width = 40, .height = 30}));
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
}  // namespace penstock::augment
