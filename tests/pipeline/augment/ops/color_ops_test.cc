// Ops that change pixels without moving them: laws, draws, errors, memory, gray images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pipeline/image/adjust.h"
#include "pipeline/image/degrade.h"
#include "pipeline/image/jpeg/jpeg_decoder.h"
#include "pipeline/image/jpeg/jpeg_encoder.h"
#include "tests/pipeline/augment/op_examples.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::augment {
namespace {

const OpExampleRegistration kColorExamples{
    {"brightness", "min: 0.4 max: 1.7"},
    {"contrast", "min: 0.4 max: 1.7"},
    {"saturation", "min: 0.4 max: 1.7"},
    {"hue", "min: -0.4 max: 0.4"},
    {"color_jitter", "brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.1"},
    {"grayscale", ""},
    {"posterize", "bits: 3"},
    {"solarize", "threshold: 100"},
    {"invert", ""},
    {"equalize", ""},
    {"autocontrast", ""},
    {"sharpness", "min: 0 max: 3"},
    {"gamma", "min: 0.5 max: 2"},
    {"pca_lighting", ""},
    {"channel_shuffle", ""},
    {"gaussian_blur", "kernel_size: 23 sigma_min: 0.1 sigma_max: 5"},
    {"gaussian_noise", "sigma_min: 1 sigma_max: 20"},
    {"jpeg_distortion", "quality_min: 10 quality_max: 90"},
    {"random_erasing", "probability: 1 fill: PIXEL"},
    {"cutout", "size: 20 count: 2"},
    {"grid_mask", "unit_min: 20 unit_max: 40 max_rotation_degrees: 45 probability: 1"},
};

using ::testing::HasSubstr;
using Pixels = std::vector<uint8_t>;

constexpr int kColorWidth = 48, kColorHeight = 40;

std::string Record(int channels) {
  return ImageRecord(
      image::MakeJpeg({.width = kColorWidth, .height = kColorHeight, .components = channels, .seed = 5}));
}

// A pipeline of decode_image, a resize to the image's own size (which fixes it), and `ops`.
std::unique_ptr<const Pipeline> Build(const std::string& ops, int channels = 3) {
  return BuildPipeline(ImageJob("ops { decode_image { channels: " + std::string(channels == 1 ? "GRAY" : "RGB") +
                                " } } ops { resize { height: 40 width: 48 } } " + ops));
}

Pixels RowOf(const Pipeline& pipeline, const std::string& record, uint64_t id = 0) {
  OwnedRow row(pipeline.schema());
  RowScratch scratch;
  const absl::Status status = pipeline.MakeRow(record, {.seed = 9, .epoch = 1, .record_id = id}, &row.slot, &scratch);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return row.As<uint8_t>(0);
}

Pixels RowOf(const std::string& ops, int channels = 3, uint64_t id = 0) {
  return RowOf(*Build(ops, channels), Record(channels), id);
}

// Every op, with arguments that change the test image under most draws.
const std::map<std::string, std::string>& Examples() {
  static const std::map<std::string, std::string> examples = {
      {"brightness", "min: 0.5 max: 0.8"},
      {"contrast", "min: 0.5 max: 0.8"},
      {"saturation", "min: 0 max: 0.5"},
      {"hue", "min: 0.1 max: 0.4"},
      {"color_jitter", "brightness: 0.4 contrast: 0.4 saturation: 0.4 hue: 0.1"},
      {"grayscale", ""},
      {"posterize", "bits: 3"},
      {"solarize", "threshold: 100"},
      {"invert", ""},
      {"equalize", ""},
      {"autocontrast", ""},
      {"sharpness", "min: 1.5 max: 2"},
      {"gamma", "min: 0.5 max: 0.8"},
      {"pca_lighting", "sigma: 1"},
      {"channel_shuffle", ""},
      {"gaussian_blur", "kernel_size: 5 sigma_min: 1 sigma_max: 2"},
      {"gaussian_noise", "sigma_min: 5 sigma_max: 20"},
      {"jpeg_distortion", "quality_min: 10 quality_max: 40"},
      {"random_erasing", "fill: PIXEL probability: 1"},
      {"cutout", "size: 12 count: 2"},
      {"grid_mask", "unit_min: 10 unit_max: 20 max_rotation_degrees: 45 probability: 1"},
  };
  return examples;
}

std::string OpText(const std::string& name, const std::string& arguments) {
  return "ops { " + name + " { " + arguments + " } }";
}

TEST(ColorOps, SameDrawsGiveTheSameBytesAndEachOpChangesTheImage) {
  const Pixels plain = RowOf("");
  for (const auto& [name, arguments] : Examples()) {
    const auto pipeline = Build(OpText(name, arguments));
    int changed = 0;
    for (uint64_t id = 0; id < 6; ++id) {
      const Pixels once = RowOf(*pipeline, Record(3), id);
      EXPECT_EQ(RowOf(*pipeline, Record(3), id), once) << name;
      changed += once != plain;
    }
    // channel_shuffle may draw the current order; autocontrast may have nothing to stretch.
    if (name != "autocontrast") {
      EXPECT_GE(changed, 4) << name;
    }
  }
}

TEST(ColorOps, ProbabilityZeroChangesNoImageAndOneHalfChangesHalf) {
  const Pixels plain = RowOf("");
  for (const auto& [name, arguments] : Examples()) {
    if (name == "autocontrast") continue;
    const size_t said = arguments.find("probability: 1");
    const std::string rest = said == std::string::npos ? arguments : arguments.substr(0, said);
    EXPECT_EQ(RowOf(OpText(name, rest + " probability: 0")), plain) << name;
    const auto half = Build(OpText(name, rest + " probability: 0.5"));
    int changed = 0;
    for (uint64_t id = 0; id < 60; ++id) changed += RowOf(*half, Record(3), id) != plain;
    EXPECT_GE(changed, 13) << name;
    EXPECT_LE(changed, 47) << name;
  }
}

TEST(ColorOps, GrayImagesStayGray) {
  const std::set<std::string> about_color = {"saturation", "hue", "grayscale", "pca_lighting", "channel_shuffle"};
  const Pixels plain = RowOf("", 1);
  EXPECT_EQ(plain.size(), static_cast<size_t>(kColorWidth * kColorHeight));
  for (const auto& [name, arguments] : Examples()) {
    const Pixels out = RowOf(OpText(name, arguments), 1);
    EXPECT_EQ(out.size(), plain.size());
    if (about_color.contains(name)) {
      EXPECT_EQ(out, plain) << name;
    }
  }
}

// A row's bytes include what its scratch keeps after the row.
TEST(ColorOps, ScratchBytesBoundsTheMemoryOfARow) {
  for (const int channels : {1, 3}) {
    for (const auto& [name, arguments] : Examples()) {
      const auto pipeline = Build(OpText(name, arguments) + OpText("invert", ""), channels);
      const std::string record = Record(channels);
      RowScratch scratch;
      OwnedRow row(pipeline->schema());
      ASSERT_TRUE(pipeline->MakeRow(record, SampleKey(), &row.slot, &scratch).ok()) << name;
      EXPECT_LE(scratch.held_bytes(), pipeline->ScratchBytes(record)) << name;
      const auto without = Build(OpText("invert", ""), channels);
      EXPECT_GE(pipeline->ScratchBytes(record), without->ScratchBytes(record)) << name;
    }
  }
}

TEST(ColorOps, AnOpThatIsNotAppliedDoesNotPreventFusion) {
  // The op is between decode and crop. If it does nothing, only the crop's pixels are decoded, into the same buffers.
  const std::string crop = " ops { name: 'crop' random_resized_crop { height: 16 width: 16 scale_max: 0.2 } }";
  const std::string decode = "ops { decode_image { } } ";
  const std::string record = Record(3);
  const auto make = [&](const std::string& ops, size_t* held) {
    const auto pipeline = BuildPipeline(ImageJob(ops));
    OwnedRow row(pipeline->schema());
    RowScratch scratch;
    EXPECT_TRUE(pipeline->MakeRow(record, SampleKey(), &row.slot, &scratch).ok());
    *held = scratch.held_bytes();
    return row.As<uint8_t>(0);
  };
  size_t held = 0, held_without = 0;
  const Pixels without = make(decode + crop, &held_without);
  for (const auto& [name, arguments] : Examples()) {
    const std::string rest = arguments.substr(0, arguments.find("probability: 1"));
    EXPECT_EQ(make(decode + OpText(name, rest + " probability: 0") + crop, &held), without) << name;
    EXPECT_EQ(held, held_without) << name;
  }
}

// ---- Draws

TEST(ColorOps, BrightnessIsUniformBetweenItsEnds) {
  const std::string record = ImageRecord(image::MakeJpeg({.width = 16, .height = 16, .seed = 2}));
  const auto plain = BuildPipeline(ImageJob("ops { decode_image { } } ops { resize { height: 16 width: 16 } }"));
  const auto pipeline = BuildPipeline(ImageJob(
      "ops { decode_image { } } ops { resize { height: 16 width: 16 } } ops { brightness { min: 0.5 max: 1 } }"));
  const auto sum = [](const Pixels& pixels) {
    double total = 0;
    for (const uint8_t value : pixels) total += value + 0.5;
    return total;
  };
  const double whole = sum(RowOf(*plain, record));
  std::vector<double> factors;
  for (uint64_t id = 0; id < 1000; ++id) factors.push_back(sum(RowOf(*pipeline, record, id)) / whole);
  std::sort(factors.begin(), factors.end());
  // Kolmogorov-Smirnov: one in a hundred samples exceeds 1.63 / sqrt(1000). The rounding of fractions moves it by
  // 0.005.
  for (size_t i = 0; i < factors.size(); ++i) {
    ASSERT_NEAR(factors[i], 0.5 + 0.5 * static_cast<double>(i) / 1000, 0.035);
  }
}

TEST(ColorOps, ChannelShuffleDrawsEveryOrder) {
  const auto pipeline = Build("ops { channel_shuffle { } }");
  const std::string record = Record(3);
  std::map<Pixels, int> seen;
  for (uint64_t id = 0; id < 600; ++id) ++seen[RowOf(*pipeline, record, id)];
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [pixels, count] : seen) EXPECT_NEAR(count, 100, 40);
}

TEST(ColorOps, ColorJitterDrawsTheOrderOfItsOps) {
  // The factors are so near each other that only the order of brightness and contrast makes a difference.
  const auto pipeline = Build("ops { color_jitter { brightness: 0.9 contrast: 0.9 } }");
  const std::string record = Record(3);
  const Pixels plain = RowOf("");
  const image::ImageView view{plain.data(), kColorWidth, kColorHeight, 3, kColorWidth * 3};
  std::set<Pixels> seen;
  for (uint64_t id = 0; id < 40; ++id) seen.insert(RowOf(*pipeline, record, id));
  EXPECT_EQ(seen.size(), 40u);
  // With one factor the jitter is that single op.
  const Pixels one = RowOf("ops { color_jitter { brightness: 0.5 } }");
  bool found = false;
  for (int i = 0; i <= 4000 && !found; ++i) {
    Pixels out(plain.size());
    image::AdjustBrightness(view, 0.5f + static_cast<float>(i) / 4000, {out.data(), kColorWidth * 3});
    // Steps this small change no value by more than one.
    found = std::equal(out.begin(), out.end(), one.begin(), [](int a, int b) { return std::abs(a - b) <= 1; });
  }
  EXPECT_TRUE(found);
}

TEST(ColorOps, PcaLightingAddsOneOffsetToAllPixelsOfAChannel) {
  const Pixels plain = RowOf("");
  const auto pipeline = Build("ops { pca_lighting { sigma: 0.3 } }");
  double sum = 0, squares = 0;
  constexpr int kRows = 300;
  for (uint64_t id = 0; id < kRows; ++id) {
    const Pixels out = RowOf(*pipeline, Record(3), id);
    for (size_t c = 0; c < 3; ++c) {
      std::set<int> offsets;
      for (size_t i = c; i < out.size(); i += 3) {
        if (out[i] > 0 && out[i] < 255) offsets.insert(out[i] - plain[i]);
      }
      ASSERT_LE(offsets.size(), 1u);
      if (c == 0 && !offsets.empty()) {
        sum += *offsets.begin();
        squares += *offsets.begin() * *offsets.begin();
      }
    }
  }
  // Red: sigma * 255 * |(0.5675 * 0.2175, 0.7192 * 0.0188, 0.4009 * 0.0045)| = 9.5.
  EXPECT_NEAR(sum / kRows, 0, 3 * 9.5 / std::sqrt(kRows));
  EXPECT_NEAR(std::sqrt(squares / kRows), 9.5, 1.5);
}

// ---- Rectangles

// The rectangle that differs from the image, and whether all pixels inside differ.
struct Hole {
  int left = kColorWidth, top = kColorHeight, right = 0, bottom = 0, pixels = 0;
};
Hole FindHole(const Pixels& plain, const Pixels& out, int width, int height) {
  Hole hole{width, height, 0, 0, 0};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const size_t i = static_cast<size_t>((y * width + x) * 3);
      if (plain[i] == out[i] && plain[i + 1] == out[i + 1] && plain[i + 2] == out[i + 2]) continue;
      hole.left = std::min(hole.left, x);
      hole.right = std::max(hole.right, x + 1);
      hole.top = std::min(hole.top, y);
      hole.bottom = std::max(hole.bottom, y + 1);
      ++hole.pixels;
    }
  }
  return hole;
}

TEST(ColorOps, RandomErasingKeepsItsLimitsOfAreaAndAspect) {
  const Pixels plain = RowOf("ops { posterize { bits: 1 } }");  // no value is the fill
  const auto pipeline = Build(
      "ops { posterize { bits: 1 } } "
      "ops { random_erasing { probability: 1 value: 77 scale_min: 0.1 scale_max: 0.3 ratio_min: 0.5 ratio_max: 2 } }");
  double mean_area = 0;
  constexpr int kRows = 400;
  for (uint64_t id = 0; id < kRows; ++id) {
    const Hole hole = FindHole(plain, RowOf(*pipeline, Record(3), id), kColorWidth, kColorHeight);
    const int wide = hole.right - hole.left, high = hole.bottom - hole.top;
    ASSERT_EQ(hole.pixels, wide * high);
    const double area = 1.0 * wide * high / (kColorWidth * kColorHeight);
    ASSERT_GT(area, 0.1 - 0.03);
    ASSERT_LT(area, 0.3 + 0.03);
    ASSERT_GT(1.0 * high / wide, 0.5 - 0.06);
    ASSERT_LT(1.0 * high / wide, 2 + 0.25);
    mean_area += area / kRows;
  }
  EXPECT_NEAR(mean_area, 0.2, 0.015);
}

TEST(ColorOps, RandomErasingUsesTheRequestedFill) {
  const auto colors = [](const std::string& fill) {
    const Pixels plain = RowOf("ops { posterize { bits: 1 } }");
    const Pixels out = RowOf("ops { posterize { bits: 1 } } ops { random_erasing { probability: 1 " + fill + " } }");
    std::set<std::vector<uint8_t>> seen;
    for (size_t i = 0; i < out.size(); i += 3) {
      if (!std::equal(out.begin() + static_cast<long>(i), out.begin() + static_cast<long>(i) + 3,
                      plain.begin() + static_cast<long>(i))) {
        seen.insert({out[i], out[i + 1], out[i + 2]});
      }
    }
    return seen;
  };
  EXPECT_EQ(colors("value: [1, 2, 3]"), (std::set<std::vector<uint8_t>>{{1, 2, 3}}));
  EXPECT_EQ(colors("fill: COLOR").size(), 1u);
  EXPECT_GT(colors("fill: PIXEL scale_min: 0.2").size(), 300u);
}

TEST(ColorOps, CutoutsAreSquaresClippedAtTheBorder) {
  const Pixels plain = RowOf("ops { posterize { bits: 1 } }");
  const auto pipeline = Build("ops { posterize { bits: 1 } } ops { cutout { size: 10 fill: 77 } }");
  int whole = 0;
  for (uint64_t id = 0; id < 300; ++id) {
    const Hole hole = FindHole(plain, RowOf(*pipeline, Record(3), id), kColorWidth, kColorHeight);
    const int wide = hole.right - hole.left, high = hole.bottom - hole.top;
    ASSERT_EQ(hole.pixels, wide * high);
    ASSERT_TRUE(wide == 10 || hole.left == 0 || hole.right == kColorWidth);
    ASSERT_TRUE(high == 10 || hole.top == 0 || hole.bottom == kColorHeight);
    ASSERT_GE(wide, 5);
    ASSERT_GE(high, 5);
    whole += wide == 10 && high == 10;
  }
  // A center is far enough from the border in 39 of 48 columns and 31 of 40 rows.
  EXPECT_NEAR(whole / 300.0, 39.0 / 48 * 31 / 40, 0.09);
}

TEST(ColorOps, GridMaskHidesTheSquareOfOneMinusKeepRatio) {
  const Pixels plain = RowOf("ops { posterize { bits: 1 } }");
  for (const char* turn : {"", "max_rotation_degrees: 90"}) {
    const auto pipeline = Build(
        "ops { posterize { bits: 1 } } ops { grid_mask { unit_min: 8 unit_max: 8 fill: 77 "
        "keep_ratio: 0.5 probability: 1 " +
        std::string(turn) + " } }");
    double hidden = 0;
    for (uint64_t id = 0; id < 100; ++id) {
      hidden += FindHole(plain, RowOf(*pipeline, Record(3), id), kColorWidth, kColorHeight).pixels /
                (100.0 * kColorWidth * kColorHeight);
    }
    EXPECT_NEAR(hidden, 0.25, 0.01) << turn;
  }
}

TEST(ColorOps, JpegDistortionEncodesAndDecodesTheImage) {
  const Pixels plain = RowOf("");
  const auto loss = [&](const Pixels& a, const Pixels& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] - b[i]);
    return sum / static_cast<double>(a.size());
  };
  const Pixels low = RowOf("ops { jpeg_distortion { quality_min: 5 quality_max: 5 } }");
  const Pixels high = RowOf("ops { jpeg_distortion { quality_min: 95 quality_max: 95 } }");
  EXPECT_GT(loss(plain, low), 2 * loss(plain, high));
  std::vector<uint8_t> buffer(image::JpegBufferBytes(kColorWidth, kColorHeight));
  const auto jpeg = image::EncodeJpegInto({plain.data(), kColorWidth, kColorHeight, 3, kColorWidth * 3},
                                          {.quality = 95, .optimize = false}, buffer.data(), buffer.size());
  ASSERT_TRUE(jpeg.ok());
  Pixels decoded(plain.size());
  image::JpegDecoder decoder;
  ASSERT_TRUE(decoder.Decode(*jpeg, {0, 0, kColorWidth, kColorHeight}, {}, decoded.data(), kColorWidth * 3).ok());
  EXPECT_EQ(high, decoded);
}

// ---- Errors

TEST(ColorOps, MistakesNameTheField) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"brightness { min: -1 }", "brightness.min: must be from 0"},
      {"brightness { min: 2 max: 1.5 }", "brightness.max: must be at least min (2)"},
      {"contrast { max: 0.5 }", "contrast.max: must be at least min (1)"},
      {"saturation { min: nan }", "saturation.min: must be"},
      {"sharpness { probability: 1.5 }", "sharpness.probability: must be"},
      {"gamma { min: 0 }", "gamma.min: must be from 0.01"},
      {"hue { min: -0.6 }", "hue.min: must be from -0.5 to 0.5"},
      {"color_jitter { contrast: -1 }", "color_jitter.contrast: must be"},
      {"color_jitter { hue: 0.6 }", "color_jitter.hue: must be from 0 to 0.5"},
      {"posterize { }", "posterize.bits: must be from 1 to 8"},
      {"solarize { threshold: 257 }", "solarize.threshold: must be from 0 to 256"},
      {"pca_lighting { sigma: -1 }", "pca_lighting.sigma: must be"},
      {"grayscale { probability: -1 }", "grayscale.probability: must be"},
      {"gaussian_blur { kernel_size: 4 }", "gaussian_blur.kernel_size: must be odd"},
      {"gaussian_blur { kernel_size: 3 sigma_min: 3 }", "gaussian_blur.sigma_max: must be at least sigma_min (3)"},
      {"gaussian_noise { }", "gaussian_noise.sigma_max: is missing"},
      {"gaussian_noise { sigma_min: 300 sigma_max: 400 }", "gaussian_noise.sigma_min: must be from 0 to 255"},
      {"jpeg_distortion { quality_max: 50 }", "jpeg_distortion.quality_min: must be from 1 to 100"},
      {"jpeg_distortion { quality_min: 60 quality_max: 50 }", "jpeg_distortion.quality_max: must be at least"},
      {"random_erasing { scale_min: 2 }", "random_erasing.scale_min: must be"},
      {"random_erasing { ratio_max: 0.1 }", "random_erasing.ratio_max: must be"},
      {"random_erasing { value: [1, 2] }", "random_erasing"},
      {"random_erasing { value: 3 fill: PIXEL }", "random_erasing.value: goes with"},
      {"cutout { }", "cutout.size: "},
      {"cutout { size: 3 count: 5000 }", "cutout.count: must be at most"},
      {"grid_mask { unit_min: 1 }", "grid_mask.unit_min: must be"},
      {"grid_mask { keep_ratio: 1 }", "grid_mask.keep_ratio: must be"},
      {"grid_mask { max_rotation_degrees: -3 }", "grid_mask.max_rotation_degrees: must be"},
  };
  for (const auto& [op, wanted] : mistakes) {
    const auto pipeline = Pipeline::Create(
        ImageJob("ops { decode_image { } } ops { resize { height: 8 width: 8 } } ops { " + std::string(op) + " }"));
    ASSERT_FALSE(pipeline.ok()) << op;
    EXPECT_THAT(std::string(pipeline.status().message()), HasSubstr("ops[2]." + std::string(wanted)));
  }
}

TEST(ColorOps, AcceptOnlyImages) {
  for (const auto& [name, arguments] : Examples()) {
    const auto pipeline = Pipeline::Create(ImageJob("ops { column: 'label' " + name + " { " + arguments + " } }"));
    ASSERT_FALSE(pipeline.ok()) << name;
    EXPECT_THAT(std::string(pipeline.status().message()), HasSubstr("ops[0]." + name + ": works on")) << name;
  }
}

}  // namespace
}  // namespace penstock::augment
