#include "pipeline/image/degrade.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/portable_math.h"

namespace penstock::image {
namespace {

constexpr size_t kPoints = 4096;

// Returns P(0 < Z < x) by the series x + x^3/3 + x^5/15 + ..., which converges for every x.
double HalfProbability(double x) {
  double term = x, sum = x;
  for (int n = 3; n < 200; n += 2) {
    term *= x * x / n;
    sum += term;
  }
  constexpr double kRootTwoPi = 2.506628274631000502;
  return PortableExp(-0.5 * x * x) / kRootTwoPi * sum;
}

// The upper half of the points. Bisection avoids functions that round differently between platforms.
const std::array<double, kPoints / 2>& NormalPoints() {
  static const std::array<double, kPoints / 2> points = [] {
    std::array<double, kPoints / 2> result{};
    double least = 0;
    for (size_t i = 0; i < result.size(); ++i) {
      const double wanted = (static_cast<double>(i) + 0.5) / kPoints;
      double low = least, high = 4;
      for (int step = 0; step < 40; ++step) {
        const double middle = (low + high) / 2;
        (HalfProbability(middle) < wanted ? low : high) = middle;
      }
      result[i] = least = low;
    }
    return result;
  }();
  return points;
}

Rect Clipped(const ImageView& image, const Rect& rect) {
  const int left = std::clamp(rect.x, 0, image.width), right = std::clamp(rect.x + rect.width, left, image.width);
  const int top = std::clamp(rect.y, 0, image.height), bottom = std::clamp(rect.y + rect.height, top, image.height);
  return {left, top, right - left, bottom - top};
}

// Returns x modulo m, which is never negative.
int64_t Modulo(int64_t x, int64_t m) { return ((x % m) + m) % m; }

}  // namespace

void AddNoise(const ImageView& in, double sigma, bool same_for_all_channels, SampleRandom* random, ImageTarget out) {
  const auto& points = NormalPoints();
  int16_t noise[kPoints];
  for (size_t i = 0; i < kPoints / 2; ++i) {
    const int16_t value = static_cast<int16_t>(std::floor(sigma * points[i] + 0.5));
    noise[kPoints / 2 + i] = value;
    noise[kPoints / 2 - 1 - i] = static_cast<int16_t>(-value);
  }
  const size_t repeat = same_for_all_channels ? static_cast<size_t>(in.channels) : 1;
  const size_t count = in.row_bytes();
  for (int y = 0; y < in.height; ++y) {
    const uint8_t* from = in.row(y);
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    for (size_t i = 0; i < count;) {
      const uint32_t word = random->Next32();
      for (const uint32_t half : {word & 0xFFFF, word >> 16}) {
        const int add = noise[half >> 4];
        for (size_t k = 0; k < repeat && i < count; ++k, ++i) to[i] = ClipToByte(from[i] + add);
      }
    }
  }
}

void FillRect(const ImageView& image, const Rect& rect, const uint8_t color[3], ImageTarget out) {
  const Rect part = Clipped(image, rect);
  const size_t channels = static_cast<size_t>(image.channels);
  for (int y = part.y; y < part.y + part.height; ++y) {
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride + static_cast<size_t>(part.x) * channels;
    if (channels == 1 || (color[0] == color[1] && color[1] == color[2])) {
      std::memset(to, color[0], static_cast<size_t>(part.width) * channels);
      continue;
    }
    for (int x = 0; x < part.width; ++x, to += 3) std::memcpy(to, color, 3);
  }
}

void FillRectRandomly(const ImageView& image, const Rect& rect, SampleRandom* random, ImageTarget out) {
  const Rect part = Clipped(image, rect);
  const size_t channels = static_cast<size_t>(image.channels), count = static_cast<size_t>(part.width) * channels;
  for (int y = part.y; y < part.y + part.height; ++y) {
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride + static_cast<size_t>(part.x) * channels;
    for (size_t i = 0; i < count; i += 4) {
      uint32_t word = random->Next32();
      for (size_t k = i; k < std::min(i + 4, count); ++k, word >>= 8) to[k] = static_cast<uint8_t>(word);
    }
  }
}

void FillGrid(const ImageView& image, const GridOfSquares& grid, const uint8_t color[3], ImageTarget out) {
  constexpr double kRadians = 0.017453292519943295769;
  constexpr double kFixedPointOne = 65536;
  const int64_t cosine = static_cast<int64_t>(std::floor(PortableCos(grid.degrees * kRadians) * kFixedPointOne + 0.5));
  const int64_t sine = static_cast<int64_t>(std::floor(PortableSin(grid.degrees * kRadians) * kFixedPointOne + 0.5));
  const int64_t unit = int64_t{grid.unit} << 16, keep = int64_t{grid.keep} << 16;
  const size_t channels = static_cast<size_t>(image.channels);
  for (int y = 0; y < image.height; ++y) {
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    // Doubled distances from the center are integers.
    const int64_t dx = -(int64_t{image.width} - 1), dy = 2 * int64_t{y} - (int64_t{image.height} - 1);
    int64_t u = Modulo((dx * cosine - dy * sine) / 2 + (int64_t{grid.shift_x} << 16), unit);
    int64_t v = Modulo((dx * sine + dy * cosine) / 2 + (int64_t{grid.shift_y} << 16), unit);
    for (int x = 0; x < image.width; ++x, to += channels) {
      if (u >= keep && v >= keep) {
        for (size_t c = 0; c < channels; ++c) to[c] = color[c];
      }
      u += cosine;
      v += sine;
      u += u < 0 ? unit : u >= unit ? -unit : 0;
      v += v < 0 ? unit : v >= unit ? -unit : 0;
    }
  }
}

}  // namespace penstock::image
