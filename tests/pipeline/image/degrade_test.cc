#include "pipeline/image/degrade.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "hwy/targets.h"
#include "pipeline/image/blur.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::image {
namespace {

using Pixels = std::vector<uint8_t>;

ImageView Viewed(const Pixels& pixels, int width, int height, int channels) {
  return {pixels.data(), width, height, channels, static_cast<size_t>(width) * static_cast<size_t>(channels)};
}

Pixels Blur(const Pixels& in, int width, int height, int channels, int size, double sigma) {
  Pixels out(in.size());
  std::vector<uint8_t> scratch(GaussianBlurBytes(width, channels, size));
  const ImageView view = Viewed(in, width, height, channels);
  GaussianBlur(view, GaussianWeights(size, sigma), scratch.data(), {out.data(), view.stride});
  return out;
}

// torchvision's sum in double precision.
double PlainBlur(const Pixels& in, int width, int height, int channels, int size, double sigma, int x, int y, int c) {
  const auto reflect = [](int at, int side) {
    while (side > 1 && (at < 0 || at >= side)) at = at < 0 ? -at : 2 * (side - 1) - at;
    return side == 1 ? 0 : at;
  };
  double sum = 0, weights = 0;
  for (int v = -size / 2; v <= size / 2; ++v) {
    for (int u = -size / 2; u <= size / 2; ++u) {
      const double weight = std::exp(-(u * u + v * v) / (2 * sigma * sigma));
      const int at = (reflect(y + v, height) * width + reflect(x + u, width)) * channels + c;
      sum += weight * in[static_cast<size_t>(at)];
      weights += weight;
    }
  }
  return sum / weights;
}

TEST(GaussianBlur, IsWithinOneOfTheReflectedGaussianSum) {
  for (const auto& [size, sigma] : {std::pair(1, 1.0), {3, 0.1}, {5, 2.0}, {9, 1.3}, {23, 5.0}, {127, 30.0}}) {
    for (const int channels : {1, 3}) {
      const int width = 31, height = 12;
      const Pixels in = MakePixels(width, height, channels, 8);
      const Pixels out = Blur(in, width, height, channels, size, sigma);
      for (int i = 0; i < width * height * channels; i += 7) {
        const double wanted = PlainBlur(in, width, height, channels, size, sigma, i / channels % width,
                                        i / channels / width, i % channels);
        ASSERT_NEAR(out[static_cast<size_t>(i)], wanted, 1.0) << size;
      }
    }
  }
}

TEST(GaussianBlur, AFlatImageIsUnchanged) {
  for (const int value : {0, 1, 128, 255}) {
    const Pixels in(40 * 30 * 3, static_cast<uint8_t>(value));
    EXPECT_EQ(Blur(in, 40, 30, 3, 23, 4), in);
  }
}

TEST(GaussianBlur, EveryTargetGivesTheScalarBytes) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (size_t i = 0; i < 200; ++i) {
      SampleRandom random(4, i, 0);
      const size_t radius = random.Below(12), channels = 1 + 2 * random.Below(2),
                   count = channels * (1 + random.Below(90));
      const auto weights = GaussianWeights(static_cast<int>(2 * radius + 1), random.Uniform(0.1, 5));
      Pixels bytes((2 * radius + 1) * count);
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Next32());
      std::vector<const uint8_t*> rows;
      for (size_t r = 0; r <= 2 * radius; ++r) rows.push_back(bytes.data() + r * count);
      std::vector<int16_t> ours(count), scalar(count);
      BlurRows(rows.data(), weights.data(), radius, count, ours.data());
      BlurRowsScalar(rows.data(), weights.data(), radius, count, scalar.data());
      ASSERT_EQ(ours, scalar);
      std::vector<int16_t> line(count + 2 * radius * channels);
      for (int16_t& value : line) value = static_cast<int16_t>(random.Below(32641));
      Pixels along(count), along_scalar(count);
      BlurAlong(line.data() + radius * channels, weights.data(), radius, channels, count, along.data());
      BlurAlongScalar(line.data() + radius * channels, weights.data(), radius, channels, count, along_scalar.data());
      ASSERT_EQ(along, along_scalar);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(AddNoise, IsNormal) {
  const Pixels in(300 * 200, 128);
  const double sigma = 20;
  Pixels out(in.size());
  SampleRandom random(3, 1, 0);
  AddNoise(Viewed(in, 300, 200, 1), sigma, false, &random, {out.data(), 300});
  double sum = 0, squares = 0, fourth = 0;
  for (const uint8_t value : out) {
    const double z = (value - 128) / sigma;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
  }
  const double n = static_cast<double>(in.size());
  EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_NEAR(fourth / n, 3, 0.15);
  // Shares of the values below some z.
  for (const auto& [z, share] : {std::pair(-2.0, 0.02275), {-1.0, 0.15866}, {0.0, 0.5}, {1.5, 0.93319}}) {
    double below = 0;
    for (const uint8_t value : out) {
      below += value < 128 + z * sigma ? 1 : value == 128 + z * sigma ? 0.5 : 0;
    }
    EXPECT_NEAR(below / n, share, 0.01) << z;
  }
}

TEST(AddNoise, ChannelsAreIndependentUnlessTheyShareTheNoise) {
  const Pixels in(200 * 100 * 3, 128);
  Pixels out(in.size());
  SampleRandom random(3, 1, 0);
  AddNoise(Viewed(in, 200, 100, 3), 30, false, &random, {out.data(), 600});
  double product = 0;
  for (size_t i = 0; i + 1 < out.size(); ++i) product += (out[i] - 128) * (out[i + 1] - 128);
  EXPECT_NEAR(product / static_cast<double>(out.size()) / 900, 0, 0.02);
  AddNoise(Viewed(in, 200, 100, 3), 30, true, &random, {out.data(), 600});
  for (size_t i = 0; i < out.size(); i += 3) {
    ASSERT_EQ(out[i], out[i + 1]);
    ASSERT_EQ(out[i], out[i + 2]);
  }
}

TEST(FillRect, IsClipped) {
  Pixels pixels(6 * 5 * 3, 9);
  const uint8_t color[3] = {1, 2, 3};
  const ImageView view = Viewed(pixels, 6, 5, 3);
  FillRect(view, {-2, 3, 4, 9}, color, {pixels.data(), 18});
  FillRect(view, {100, 100, 4, 9}, color, {pixels.data(), 18});
  FillRect(view, {-100, -100, 4, 9}, color, {pixels.data(), 18});
  for (size_t y = 0; y < 5; ++y) {
    for (size_t x = 0; x < 6; ++x) {
      for (size_t c = 0; c < 3; ++c) {
        ASSERT_EQ(pixels[(y * 6 + x) * 3 + c], y >= 3 && x < 2 ? color[c] : 9);
      }
    }
  }
}

TEST(FillRect, RandomBytesAreUniform) {
  Pixels pixels(256 * 256, 9);
  SampleRandom random(3, 1, 0);
  FillRectRandomly(Viewed(pixels, 256, 256, 1), {0, 0, 256, 256}, &random, {pixels.data(), 256});
  std::vector<int> count(256);
  for (const uint8_t value : pixels) ++count[value];
  double chi = 0;
  for (const int c : count) chi += (c - 256.0) * (c - 256.0) / 256;
  EXPECT_LT(chi, 350);  // 255 degrees of freedom: one in 30,000 exceeds it
}

TEST(FillGrid, QuarterTurnsRotateTheGridOfASquare) {
  constexpr int kSide = 24;
  const uint8_t white[3] = {255, 255, 255};
  const auto grid = [&](const GridOfSquares& squares) {
    Pixels pixels(kSide * kSide, 0);
    FillGrid(Viewed(pixels, kSide, kSide, 1), squares, white, {pixels.data(), kSide});
    return pixels;
  };
  const Pixels straight = grid({.unit = 8, .keep = 5, .shift_x = 3, .shift_y = 6});
  EXPECT_EQ(std::count(straight.begin(), straight.end(), 255), kSide * kSide * 9 / 64);
  EXPECT_EQ(grid({.unit = 8, .keep = 5, .shift_x = 3, .shift_y = 6, .degrees = 360}), straight);
  const Pixels turned = grid({.unit = 8, .keep = 5, .shift_x = 3, .shift_y = 6, .degrees = 90});
  EXPECT_EQ(std::count(turned.begin(), turned.end(), 255), kSide * kSide * 9 / 64);
}

}  // namespace
}  // namespace penstock::image
