// Geometric ops: laws, and a comparison of each op with a plain formula.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "pipeline/image/pad.h"
#include "pipeline/image/warp.h"
#include "tests/pipeline/augment/op_examples.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::augment {
namespace {

const OpExampleRegistration kGeometryExamples{
    {"random_crop", "height: 64 width: 64 padding: 8 pad_if_needed: true mode: REFLECT"},
    {"pad", "left: 3 top: 1 right: 2 bottom: 5 mode: SYMMETRIC"},
    {"rotate", "min_degrees: -30 max_degrees: 30"},
    {"rotate", "min_degrees: -30 max_degrees: 30 filter: NEAREST fill: 9"},
    {"affine",
     "min_degrees: -15 max_degrees: 15 translate_x: 0.1 translate_y: 0.1 scale_min: 0.7 scale_max: 1.4 "
     "min_shear_x_degrees: -10 max_shear_x_degrees: 10"},
    {"perspective", "probability: 1"},
    {"perspective", "probability: 1 filter: NEAREST"},
    {"zoom_out", "probability: 1 scale_max: 2"},
    {"five_crop", "height: 16 width: 24", OpExample::kLeavesNumbers},
    {"ten_crop", "height: 16 width: 24", OpExample::kLeavesNumbers},
};

constexpr int kGeometryWidth = 24, kGeometryHeight = 18;

// A job whose image is a raw uint8 tensor, so that pixels are known.
v1::JobSpec RawJob(const std::string& ops, int width = kGeometryWidth, int height = kGeometryHeight) {
  return ParseJob(
      "features { key: 'pixels' column: 'image' type: BYTES decode_raw: UINT8 shape: " + std::to_string(height) +
      " shape: " + std::to_string(width) + " shape: 3 } dataset { format: RAW } " + ops);
}

struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
  int at(int x, int y, int c = 0) const { return pixels[static_cast<size_t>((y * width + x) * 3 + c)]; }
  image::ImageView view() const { return {pixels.data(), width, height, 3, static_cast<size_t>(width) * 3}; }
  bool operator==(const Picture&) const = default;
};

Picture Input(int width = kGeometryWidth, int height = kGeometryHeight) {
  return {width, height, image::MakePixels(width, height, 3, 9)};
}

absl::StatusOr<std::vector<uint8_t>> TryRun(const std::string& ops, const Picture& in, const SampleKey& key = {}) {
  const auto pipeline = BuildPipeline(RawJob(ops, in.width, in.height));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const std::string record(in.pixels.begin(), in.pixels.end());
  const absl::Status status = pipeline->MakeRow(record, key, &row.slot, &scratch);
  if (!status.ok()) return status;
  return row.As<uint8_t>(0);
}

Picture RunOps(const std::string& ops, const Picture& in, const SampleKey& key = {}) {
  const auto pixels = TryRun(ops, in, key);
  EXPECT_TRUE(pixels.ok()) << pixels.status();
  const auto schema = BuildPipeline(RawJob(ops, in.width, in.height))->schema();
  const auto& shape = schema.columns[0].shape;
  return {static_cast<int>(shape[1]), static_cast<int>(shape[0]), *pixels};
}

std::string OpsOf(const std::string& op) { return "ops { " + op + " } "; }

TEST(Pad, EveryModeMatchesNumpy) {
  const Picture in = Input(5, 4);
  const auto side = [&](const std::string& mode) {
    const Picture out = RunOps(OpsOf("pad { left: 7 top: 1 right: 6 bottom: 2 mode: " + mode + " fill: 9 }"), in);
    EXPECT_EQ(out.width, 18);
    EXPECT_EQ(out.height, 7);
    std::string columns;  // the source of each column, from the first row inside
    for (int x = 0; x < out.width; ++x) {
      char found = '.';
      for (int from = 0; from < 5; ++from) {
        bool same = true;
        for (int c = 0; c < 3; ++c) same = same && out.at(x, 1, c) == in.at(from, 0, c);
        if (same) found = static_cast<char>('0' + from);
      }
      if (found == '.') {
        EXPECT_EQ(out.at(x, 1), 9);
      }
      columns += found;
    }
    return columns;
  };
  EXPECT_EQ(side("CONSTANT"), ".......01234......");
  EXPECT_EQ(side("EDGE"), "000000001234444444");
  EXPECT_EQ(side("REFLECT"), "123432101234321012");
  EXPECT_EQ(side("SYMMETRIC"), "344321001234432100");
}

TEST(Pad, RepeatsASinglePixel) {
  const Picture in{1, 1, {7, 8, 9}};
  for (const std::string mode : {"EDGE", "REFLECT", "SYMMETRIC"}) {
    const Picture out = RunOps(OpsOf("pad { left: 2 bottom: 3 mode: " + mode + " }"), in);
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 3; ++x) EXPECT_EQ(out.at(x, y, 2), 9);
    }
  }
}

TEST(RandomCrop, IsAWindowOfThePaddedImageAtVaryingPlaces) {
  const Picture in = Input();
  for (const std::string mode : {"CONSTANT", "EDGE", "REFLECT", "SYMMETRIC"}) {
    const Picture padded =
        RunOps(OpsOf("pad { left: 3 top: 3 right: 3 bottom: 3 fill: [1, 2, 3] mode: " + mode + " }"), in);
    std::set<std::pair<int, int>> places;
    for (uint64_t record = 0; record < 60; ++record) {
      const Picture crop =
          RunOps(OpsOf("random_crop { height: 21 width: 27 padding: 3 fill: [1, 2, 3] mode: " + mode + " }"), in,
                 {.record_id = record});
      int found = 0;
      for (int y = 0; y <= 3; ++y) {
        for (int x = 0; x <= 3; ++x) {
          Picture window{27, 21, std::vector<uint8_t>(27 * 21 * 3)};
          image::CopyWindow(padded.view(), {x, y, 27, 21}, image::PadMode::kConstant, window.pixels.data(),
                            {window.pixels.data(), 27 * 3});
          if (window == crop) {
            ++found;
            places.insert({x, y});
          }
        }
      }
      EXPECT_EQ(found, 1) << mode;
    }
    EXPECT_GT(places.size(), 12u) << mode;
  }
}

TEST(RandomCrop, SmallImagesAreAnErrorUnlessPadded) {
  const Picture in = Input();
  const auto result = TryRun(OpsOf("random_crop { height: 20 width: 10 }"), in);
  EXPECT_THAT(std::string(result.status().message()),
              testing::AllOf(testing::HasSubstr("24 x 18"), testing::HasSubstr("pad_if_needed")));
  // Padded by 2 above and below, so that three places are possible.
  const Picture out = RunOps(OpsOf("random_crop { height: 20 width: 24 pad_if_needed: true fill: 5 }"), in);
  int first = 0;
  while (out.at(0, first) == 5 && out.at(1, first) == 5 && out.at(2, first, 1) == 5) ++first;
  ASSERT_LE(first, 2);
  for (int y = 0; y < 18; ++y) EXPECT_EQ(out.at(11, first + y, 2), in.at(11, y, 2));
  // The crop of the image's own size draws nothing and returns the image.
  EXPECT_EQ(RunOps(OpsOf("random_crop { height: 18 width: 24 }"), in), in);
}

TEST(Flips, FlippingTwiceIsTheIdentity) {
  const Picture in = Input();
  const std::string vertical = OpsOf("random_vertical_flip { probability: 1 }");
  const std::string horizontal = OpsOf("random_horizontal_flip { probability: 1 }");
  EXPECT_EQ(RunOps(vertical + vertical, in), in);
  const Picture once = RunOps(vertical, in);
  for (int y = 0; y < kGeometryHeight; ++y) EXPECT_EQ(once.at(3, y, 1), in.at(3, kGeometryHeight - 1 - y, 1));
  EXPECT_EQ(RunOps(vertical + horizontal, in), RunOps(OpsOf("rotate { min_degrees: 180 max_degrees: 180 }"), in));
  EXPECT_EQ(RunOps(OpsOf("random_vertical_flip { probability: 0 }"), in), in);
  int flipped = 0;
  for (uint64_t record = 0; record < 200; ++record) {
    flipped += RunOps(OpsOf("random_vertical_flip { }"), in, {.record_id = record}) == once;
  }
  EXPECT_NEAR(flipped, 100, 35);
}

Picture Warped(const Picture& in, const image::WarpMap& map, image::WarpSampling sampling) {
  constexpr uint8_t kFill[3] = {4, 4, 4};
  Picture out = in;
  image::Warp(in.view(), map, sampling, kFill, in.width, in.height,
              {out.pixels.data(), static_cast<size_t>(in.width) * 3});
  return out;
}

TEST(Warps, FixedParametersGiveTheMapsOfTorchvision) {
  const Picture in = Input();
  EXPECT_EQ(RunOps(OpsOf("rotate { min_degrees: 20 max_degrees: 20 fill: 4 }"), in),
            Warped(in, image::RotateMap(20, kGeometryWidth, kGeometryHeight), image::WarpSampling::kBilinear));
  EXPECT_EQ(
      RunOps(OpsOf("affine { min_degrees: 10 max_degrees: 10 scale_min: 0.5 scale_max: 0.5 min_shear_x_degrees: 5 "
                   "max_shear_x_degrees: 5 filter: NEAREST fill: 4 }"),
             in),
      Warped(in, image::AffineMap({.degrees = 10, .scale = 0.5, .shear_x_degrees = 5}, kGeometryWidth, kGeometryHeight),
             image::WarpSampling::kNearest));
  EXPECT_EQ(RunOps(OpsOf("affine { }"), in), in);
  EXPECT_EQ(RunOps(OpsOf("rotate { min_degrees: 20 max_degrees: 20 probability: 0 }"), in), in);
}

TEST(Warps, RandomWarpsDifferBetweenSamplesAndAreRepeatable) {
  const Picture in = Input();
  for (const std::string op : {"rotate { min_degrees: -30 max_degrees: 30 }",
                               "affine { translate_x: 0.3 translate_y: 0.2 scale_min: 0.7 scale_max: 1.3 }",
                               "perspective { probability: 1 distortion: 0.6 }"}) {
    std::set<std::vector<uint8_t>> results;
    for (uint64_t record = 0; record < 20; ++record) {
      const Picture out = RunOps(OpsOf(op), in, {.record_id = record});
      EXPECT_EQ(out, RunOps(OpsOf(op), in, {.record_id = record}));
      results.insert(out.pixels);
    }
    EXPECT_GT(results.size(), 17u) << op;
  }
}

TEST(Warps, AffineShiftsAreWholePixelsWithinTheirBounds) {
  const Picture in = Input();
  std::set<int> shifts;
  for (uint64_t record = 0; record < 100; ++record) {
    const Picture out = RunOps(OpsOf("affine { translate_x: 0.125 fill: 0 }"), in, {.record_id = record});
    int found = 99;
    for (int shift = -3; shift <= 3; ++shift) {
      if (Warped(in, image::AffineMap({.translate_x = 1.0 * shift}, kGeometryWidth, kGeometryHeight),
                 image::WarpSampling::kNearest)
                  .at(10, 7, 2) == out.at(10, 7, 2) &&
          out.at(12, 9, 1) == in.at(12 - shift, 9, 1)) {
        found = shift;
      }
    }
    shifts.insert(found);
  }
  EXPECT_EQ(shifts, (std::set<int>{-3, -2, -1, 0, 1, 2, 3}));
}

TEST(ZoomOut, PutsTheImageSomewhereOnALargerCanvas) {
  // A resize to a fixed size follows, as required. Nearest neighbor and a factor of 2 let the test find every pixel.
  const Picture in = Input();
  std::set<int> places;
  for (uint64_t record = 0; record < 40; ++record) {
    const Picture out = RunOps(OpsOf("zoom_out { probability: 1 scale_min: 2 scale_max: 2 fill: 200 }") +
                                   OpsOf("resize { height: 36 width: 48 filter: NEAREST }"),
                               in, {.record_id = record});
    int found = 0;
    for (int top = 0; top <= kGeometryHeight; ++top) {
      for (int left = 0; left <= kGeometryWidth; ++left) {
        bool same = true;
        for (int y = 0; y < kGeometryHeight && same; ++y) {
          for (int x = 0; x < kGeometryWidth && same; ++x) same = out.at(left + x, top + y, 1) == in.at(x, y, 1);
        }
        if (!same) continue;
        ++found;
        places.insert(left * 100 + top);
      }
    }
    EXPECT_EQ(found, 1);
  }
  EXPECT_GT(places.size(), 30u);
}

TEST(FiveCrop, TakesTheCornersAndTheCenter) {
  const Picture in = Input();
  const auto crops = TryRun(OpsOf("five_crop { height: 8 width: 10 }"), in);
  ASSERT_TRUE(crops.ok()) << crops.status();
  EXPECT_EQ(BuildPipeline(RawJob(OpsOf("five_crop { height: 8 width: 10 }")))->schema().columns[0].shape,
            (std::vector<int64_t>{5, 8, 10, 3}));
  const std::pair<int, int> places[] = {{0, 0}, {14, 0}, {0, 10}, {14, 10}, {7, 5}};
  for (size_t i = 0; i < 5; ++i) {
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 10 * 3; ++x) {
        ASSERT_EQ((*crops)[i * 240 + static_cast<size_t>(y * 30 + x)],
                  in.at(places[i].first + x / 3, places[i].second + y, x % 3))
            << i;
      }
    }
  }
}

TEST(TenCrop, AddsTheCropsOfTheMirrorImage) {
  const Picture in = Input();
  for (const bool vertical : {false, true}) {
    const auto ten = TryRun(
        OpsOf("ten_crop { height: 8 width: 11 vertical_flip: " + std::string(vertical ? "true" : "false") + " }"), in);
    const std::string flip = vertical ? OpsOf("random_vertical_flip { probability: 1 }")
                                      : OpsOf("random_horizontal_flip { probability: 1 }");
    const std::string five = OpsOf("five_crop { height: 8 width: 11 }");
    std::vector<uint8_t> wanted = *TryRun(five, in);
    const std::vector<uint8_t> more = *TryRun(flip + five, in);
    wanted.insert(wanted.end(), more.begin(), more.end());
    ASSERT_TRUE(ten.ok()) << ten.status();
    EXPECT_EQ(*ten, wanted);
  }
}

TEST(TenCrop, ASmallImageIsAnError) {
  EXPECT_THAT(std::string(TryRun(OpsOf("ten_crop { height: 19 width: 10 }"), Input()).status().message()),
              testing::HasSubstr("24 x 18, smaller than the crops of 10 x 19"));
}

TEST(FiveCrop, CastAndNormalizeAcceptTheCrops) {
  const Picture in = Input();
  const std::vector<uint8_t> crops = *TryRun(OpsOf("five_crop { height: 8 width: 10 }"), in);
  const auto run = [&](const std::string& op, const std::vector<int64_t>& shape) {
    const auto pipeline = BuildPipeline(RawJob(OpsOf("five_crop { height: 8 width: 10 }") + OpsOf(op)));
    EXPECT_EQ(pipeline->schema().columns[0].shape, shape) << op;
    OwnedRow row(pipeline->schema());
    RowScratch scratch;
    const std::string record(in.pixels.begin(), in.pixels.end());
    EXPECT_TRUE(pipeline->MakeRow(record, {}, &row.slot, &scratch).ok());
    return row.As<float>(0);
  };
  const std::vector<float> cast = run("cast { to: FLOAT32 }", {5, 8, 10, 3});
  const std::vector<float> last = run("normalize { mean: [0, 1, 2] std: 2 scale: 1 }", {5, 8, 10, 3});
  const std::vector<float> first =
      run("normalize { mean: [0, 1, 2] std: 2 scale: 1 channels_first: true }", {5, 3, 8, 10});
  for (size_t i = 0; i < crops.size(); ++i) {
    const size_t c = i % 3, pixel = i / 3 % 80, crop = i / 240;
    const float wanted = (static_cast<float>(crops[i]) - static_cast<float>(c)) / 2;
    ASSERT_EQ(cast[i], static_cast<float>(crops[i]));
    ASSERT_EQ(last[i], wanted);
    ASSERT_EQ(first[(crop * 3 + c) * 80 + pixel], wanted);
  }
}

TEST(Geometry, MistakesAreNamedByField) {
  const auto errors = [](const std::string& op) {
    return std::string(
        Pipeline::Create(ImageJob("ops { decode_image { } } " + OpsOf(op) + "ops { resize { height: 8 width: 8 } }"))
            .status()
            .message());
  };
  const std::pair<std::string, std::string> cases[] = {
      {"random_crop { height: 8 }", "random_crop.width"},
      {"random_crop { height: 8 width: 8 mode: CONSTANT fill: 256 }", "random_crop.fill"},
      {"pad { }", "ops[1].pad"},
      {"pad { left: 1 fill: [1, 2] }", "pad.fill"},
      {"pad { left: 70000 }", "pad.left"},
      {"random_vertical_flip { probability: 1.5 }", "random_vertical_flip.probability"},
      {"rotate { min_degrees: 4 max_degrees: 3 }", "rotate.max_degrees"},
      {"rotate { min_degrees: nan max_degrees: 3 }", "rotate.min_degrees"},
      {"rotate { filter: LANCZOS }", "rotate.filter"},
      {"affine { translate_x: 2 }", "affine.translate_x"},
      {"affine { scale_max: 0.5 }", "affine.scale_max"},
      {"affine { max_shear_y_degrees: 90 }", "affine.max_shear_y_degrees"},
      {"perspective { distortion: 1.1 }", "perspective.distortion"},
      {"zoom_out { scale_min: 0.5 }", "zoom_out.scale_min"},
      {"five_crop { height: 8 width: 8 }", "ops[2].resize"},
  };
  for (const auto& [op, wanted] : cases) EXPECT_THAT(errors(op), testing::HasSubstr(wanted)) << op;
}

// The header alone bounds the bytes of a row for every draw.
TEST(Geometry, TheHeaderBoundsTheScratch) {
  const std::string record = ImageRecord(image::MakeJpeg({.width = 200, .height = 150}));
  for (const std::string op :
       {"random_crop { height: 300 width: 64 pad_if_needed: true }", "rotate { max_degrees: 30 }", "pad { left: 100 }",
        "zoom_out { }", "perspective { }", "affine { scale_max: 2 }", "random_vertical_flip { }"}) {
    const auto pipeline =
        BuildPipeline(ImageJob("ops { decode_image { } } " + OpsOf(op) + "ops { resize { height: 64 width: 64 } }"));
    for (uint64_t id = 0; id < 8; ++id) {
      OwnedRow row(pipeline->schema());
      RowScratch scratch;
      ASSERT_TRUE(pipeline->MakeRow(record, {.record_id = id}, &row.slot, &scratch).ok());
      EXPECT_LE(scratch.held_bytes(), pipeline->ScratchBytes(record)) << op;
    }
  }
}

}  // namespace
}  // namespace penstock::augment
