// Compares warps with the plain formula in double, and checks laws of their maps.
#include "pipeline/image/warp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::image {
namespace {

struct WarpPicture {
  int width = 0, height = 0, channels = 0;
  std::vector<uint8_t> pixels;

  ImageView view() const {
    return {pixels.data(), width, height, channels, static_cast<size_t>(width) * static_cast<size_t>(channels)};
  }
  uint8_t at(int x, int y, int c) const { return pixels[static_cast<size_t>((y * width + x) * channels + c)]; }
  bool operator==(const WarpPicture&) const = default;
};

WarpPicture Make(int width, int height, int channels, uint32_t seed = 1) {
  return {width, height, channels, MakePixels(width, height, channels, seed)};
}

constexpr uint8_t kFill[3] = {11, 22, 33};

WarpPicture RunWarp(const WarpPicture& in, const WarpMap& map, WarpSampling sampling, int width = 0, int height = 0) {
  WarpPicture out{width != 0 ? width : in.width, height != 0 ? height : in.height, in.channels, {}};
  // The rows are not adjacent, and the border must not change.
  const size_t row = static_cast<size_t>(out.width * out.channels), stride = row + 5;
  std::vector<uint8_t> memory(stride * static_cast<size_t>(out.height) + 1, 77);
  Warp(in.view(), map, sampling, kFill, out.width, out.height, {memory.data(), stride});
  for (int y = 0; y < out.height; ++y) {
    const auto begin = memory.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(y) * stride);
    out.pixels.insert(out.pixels.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
    for (size_t i = row; i < stride; ++i) EXPECT_EQ(begin[static_cast<std::ptrdiff_t>(i)], 77);
  }
  return out;
}

// Pillow's generic transform, one pixel at a time.
WarpPicture Plain(const WarpPicture& in, const WarpMap& map, WarpSampling sampling, int width, int height) {
  WarpPicture out{width, height, in.channels, {}};
  const auto& k = map.k;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double w = k[6] * (x + 0.5) + k[7] * (y + 0.5) + 1;
      const double u = (k[0] * (x + 0.5) + k[1] * (y + 0.5) + k[2]) / w;
      const double v = (k[3] * (x + 0.5) + k[4] * (y + 0.5) + k[5]) / w;
      for (int c = 0; c < in.channels; ++c) {
        double value = kFill[c];
        if (u >= 0 && u < in.width && v >= 0 && v < in.height) {
          if (sampling == WarpSampling::kNearest) {
            value = in.at(static_cast<int>(u), static_cast<int>(v), c);
          } else {
            const int left = static_cast<int>(std::floor(u - 0.5)), top = static_cast<int>(std::floor(v - 0.5));
            const double dx = u - 0.5 - left, dy = v - 0.5 - top;
            const auto get = [&](int px, int py) {
              return in.at(std::clamp(px, 0, in.width - 1), std::clamp(py, 0, in.height - 1), c);
            };
            const double upper = get(left, top) + (get(left + 1, top) - get(left, top)) * dx;
            const double lower = get(left, top + 1) + (get(left + 1, top + 1) - get(left, top + 1)) * dx;
            value = upper + (lower - upper) * dy;
          }
        }
        out.pixels.push_back(static_cast<uint8_t>(value));
      }
    }
  }
  return out;
}

std::vector<WarpMap> Maps(int width, int height) {
  const double w = width, h = height;
  return {
      WarpMap{},
      RotateMap(30, width, height),
      RotateMap(-135, width, height),
      RotateMap(1e-3, width, height),
      ShearMap(0.3, 0),
      ShearMap(0, -0.99),
      AffineMap({.translate_x = 7, .translate_y = -3}, width, height),
      AffineMap({.scale = 0.35}, width, height),
      AffineMap({.degrees = 33, .translate_x = 4, .scale = 1.7, .shear_x_degrees = 20, .shear_y_degrees = -8}, width,
                height),
      AffineMap({.degrees = 12, .scale = 1e-5}, width, height),  // beyond fixed point
      PerspectiveMap({0, 0, w - 1, 0, w - 1, h - 1, 0, h - 1}, {5, 3, w - 6, 1, w - 2, h - 8, 2, h - 3}),
      WarpMap{{1, 0, 0, 0, 1, 0, -2 / w, 0}},              // divides by zero in the middle
      WarpMap{{1e300, 1e300, -1e300, 3, 1e300, 0, 0, 0}},  // infinities
      WarpMap{{-1, 0, w, 0, 1, 0, 0, 0}},
  };
}

TEST(Warp, NearestMatchesThePlainFormulaExceptForFixedPointTies) {
  for (const auto& [width, height] : {std::pair{97, 61}, {1, 1}, {2, 130}, {300, 3}}) {
    for (const int channels : {1, 3}) {
      const WarpPicture in = Make(width, height, channels);
      for (const WarpMap& map : Maps(width, height)) {
        const WarpPicture ours = RunWarp(in, map, WarpSampling::kNearest, 103, 67);
        const WarpPicture plain = Plain(in, map, WarpSampling::kNearest, 103, 67);
        int unlike = 0;
        for (size_t i = 0; i < ours.pixels.size(); i += static_cast<size_t>(channels)) {
          unlike += ours.pixels[i] != plain.pixels[i];
        }
        EXPECT_LE(unlike, 103 * 67 / 500) << width << " x " << height << " map " << map.k[0] << " " << map.k[1];
      }
    }
  }
}

TEST(Warp, BilinearIsWithinOneOfThePlainFormula) {
  for (const auto& [width, height] : {std::pair{97, 61}, {1, 1}, {2, 130}, {300, 3}}) {
    for (const int channels : {1, 3}) {
      const WarpPicture in = Make(width, height, channels);
      for (const WarpMap& map : Maps(width, height)) {
        const WarpPicture ours = RunWarp(in, map, WarpSampling::kBilinear, 103, 67);
        const WarpPicture plain = Plain(in, map, WarpSampling::kBilinear, 103, 67);
        int unlike = 0;
        for (size_t i = 0; i < ours.pixels.size(); ++i) unlike += std::abs(ours.pixels[i] - plain.pixels[i]) > 1;
        // A source exactly on the border may be inside or outside, by the last bit.
        EXPECT_LE(unlike, 3) << width << " x " << height << " map " << map.k[0] << " " << map.k[1];
      }
    }
  }
}

TEST(Warp, TheIdentityAndWholeShiftsChangeNoPixel) {
  const WarpPicture in = Make(40, 30, 3);
  for (const auto sampling : {WarpSampling::kNearest, WarpSampling::kBilinear}) {
    EXPECT_EQ(RunWarp(in, {}, sampling), in);
    const WarpPicture moved = RunWarp(in, AffineMap({.translate_x = 6, .translate_y = -4}, 40, 30), sampling);
    for (int y = 0; y < 30; ++y) {
      for (int x = 0; x < 40; ++x) {
        const bool inside = x >= 6 && y < 26;
        for (int c = 0; c < 3; ++c) ASSERT_EQ(moved.at(x, y, c), inside ? in.at(x - 6, y + 4, c) : kFill[c]);
      }
    }
  }
}

// A source coordinate that is a pixel's center in exact arithmetic gives that pixel, even if rounding changes its last
// bits.
TEST(Warp, BilinearIsExactWhereCoordinatesAreWhole) {
  constexpr int kWidth = 41, kHeight = 31;
  const double w = kWidth, h = kHeight;
  std::vector<WarpMap> maps = {ShearMap(0.1, 0),
                               ShearMap(0, -0.3),
                               AffineMap({.scale = 3}, kWidth, kHeight),
                               AffineMap({.scale = 0.7}, kWidth, kHeight),
                               AffineMap({.degrees = 45, .translate_x = 3}, kWidth, kHeight),
                               PerspectiveMap({0, 0, w, 0, w, h, 0, h}, {0, 0, w, 3, w, h - 3, 0, h})};
  for (int tenths = 1; tenths < 3600; tenths += 7) maps.push_back(RotateMap(tenths / 10.0, kWidth, kHeight));
  for (const int channels : {1, 3}) {
    const WarpPicture in = Make(kWidth, kHeight, channels);
    int whole = 0;
    for (const WarpMap& map : maps) {
      const WarpPicture out = RunWarp(in, map, WarpSampling::kBilinear);
      const auto& k = map.k;
      for (int y = 0; y < kHeight; ++y) {
        for (int x = 0; x < kWidth; ++x) {
          const double z = k[6] * (x + 0.5) + k[7] * (y + 0.5) + 1;
          const double u = (k[0] * (x + 0.5) + k[1] * (y + 0.5) + k[2]) / z - 0.5;
          const double v = (k[3] * (x + 0.5) + k[4] * (y + 0.5) + k[5]) / z - 0.5;
          const double from_x = std::nearbyint(u), from_y = std::nearbyint(v);
          if (std::fabs(u - from_x) > 1e-9 || std::fabs(v - from_y) > 1e-9) continue;
          if (from_x < 0 || from_x >= kWidth || from_y < 0 || from_y >= kHeight) continue;
          ++whole;
          for (int c = 0; c < channels; ++c) {
            ASSERT_EQ(out.at(x, y, c), in.at(static_cast<int>(from_x), static_cast<int>(from_y), c))
                << x << ", " << y << " of map " << k[0] << " " << k[1];
          }
        }
      }
    }
    EXPECT_GT(whole, 1500);
  }
}

TEST(Warp, QuarterTurnsAreExactAndCounterClockwise) {
  const WarpPicture in = Make(31, 31, 3);
  for (const auto sampling : {WarpSampling::kNearest, WarpSampling::kBilinear}) {
    const WarpPicture turned = RunWarp(in, RotateMap(90, 31, 31), sampling);
    for (int y = 0; y < 31; ++y) {
      for (int x = 0; x < 31; ++x) ASSERT_EQ(turned.at(x, y, 1), in.at(30 - y, x, 1));
    }
    const WarpPicture half = RunWarp(in, RotateMap(-180, 31, 31), sampling);
    EXPECT_EQ(RunWarp(turned, RotateMap(450, 31, 31), sampling), half);
    EXPECT_EQ(RunWarp(half, RotateMap(180, 31, 31), sampling), in);
  }
}

TEST(WarpMap, PerspectiveMapsCornersToCorners) {
  const std::array<double, 8> from{0, 0, 99, 0, 99, 79, 0, 79}, to{10, 4, 90, 9, 95, 70, 3, 77};
  const WarpMap map = PerspectiveMap(from, to);
  for (size_t i = 0; i < 8; i += 2) {
    const double w = map.k[6] * to[i] + map.k[7] * to[i + 1] + 1;
    EXPECT_NEAR((map.k[0] * to[i] + map.k[1] * to[i + 1] + map.k[2]) / w, from[i], 1e-9);
    EXPECT_NEAR((map.k[3] * to[i] + map.k[4] * to[i + 1] + map.k[5]) / w, from[i + 1], 1e-9);
  }
  EXPECT_EQ(PerspectiveMap(from, {1, 1, 2, 2, 3, 3, 4, 4}).k, WarpMap{}.k);
}

TEST(WarpMap, ShearsAreAffineMapsAroundTheUpperLeftCorner) {
  const double degrees = std::atan(0.3) * 180 / M_PI;
  const auto close = [](const WarpMap& a, const WarpMap& b) {
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(a.k[i], b.k[i], 1e-12);
  };
  close(AffineMap({.shear_x_degrees = degrees, .center_given = true}, 50, 40), ShearMap(0.3, 0));
  close(AffineMap({.shear_y_degrees = degrees, .center_given = true}, 50, 40), ShearMap(0, 0.3));
  // AffineMap() turns clockwise, RotateMap() counter-clockwise.
  close(AffineMap({.degrees = -25}, 50, 40), RotateMap(25, 50, 40));
}

}  // namespace
}  // namespace penstock::image
