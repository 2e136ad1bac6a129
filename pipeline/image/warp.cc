#include "pipeline/image/warp.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace penstock::image {
namespace {

template <int kChannels>
void FillPixels(uint8_t* out, int count, const uint8_t* fill) {
  if (count <= 0) return;
  if (kChannels == 1 || (fill[0] == fill[1] && fill[0] == fill[2])) {
    std::memset(out, fill[0], static_cast<size_t>(count) * kChannels);
    return;
  }
  for (int x = 0; x < count; ++x, out += kChannels) std::memcpy(out, fill, kChannels);
}

template <int kChannels>
void CopyPixel(const uint8_t* from, uint8_t* to) {
  std::memcpy(to, from, kChannels);
}

struct Span {
  int begin = 0, end = 0;
};

// Returns the x in [0, width) with 0 <= start + step * x < limit.
Span InsideSpan(int64_t start, int64_t step, int64_t limit, int width) {
  if (step == 0) return start >= 0 && start < limit ? Span{0, width} : Span{};
  if (step < 0) {
    // Mirrored: the same values, counted from the other end of the interval.
    start = limit - 1 - start;
    step = -step;
  }
  const auto first_at_least = [&](int64_t value) {  // smallest x >= 0 with start + step * x >= value
    return start >= value ? int64_t{0} : (value - start + step - 1) / step;
  };
  const int64_t begin = std::min<int64_t>(first_at_least(0), width);
  const int64_t end = std::min<int64_t>(first_at_least(limit), width);
  return {static_cast<int>(begin), static_cast<int>(std::max(begin, end))};
}

// A row's coordinates in fixed point, (x0 + dx * column, y0 + dy * column), and the columns whose source is inside the
// input.
struct FixedRow {
  int64_t x0, y0, dx, dy;
  Span Inside(const ImageView& in, int bits, int width) const {
    const Span x = InsideSpan(x0, dx, int64_t{in.width} << bits, width);
    const Span y = InsideSpan(y0, dy, int64_t{in.height} << bits, width);
    const int begin = std::max(x.begin, y.begin);
    return {begin, std::max(begin, std::min(x.end, y.end))};
  }
};

// Pillow's COORD: rounds down, or returns false if `v` is outside [0, size). `v` may be any value, including NaN.
bool Coordinate(double v, int size, int* out) {
  if (!(v >= 0 && v < size)) return false;
  *out = static_cast<int>(v);
  return true;
}

// Pillow's ImagingScaleAffine: selects columns and rows separately, by summing the steps in double.
template <int kChannels>
void NearestScale(const ImageView& in, const WarpMap& map, const uint8_t* fill, int width, int height,
                  ImageTarget out) {
  std::vector<int> columns(static_cast<size_t>(width), -1);
  Span span{width, 0};
  bool shifted = true;  // neighbors have neighboring sources
  double xo = map.k[2] + map.k[0] * 0.5;
  for (int x = 0; x < width; ++x, xo += map.k[0]) {
    int& column = columns[static_cast<size_t>(x)];
    if (!Coordinate(xo, in.width, &column)) continue;
    if (x > 0 && span.end == x) shifted = shifted && column == columns[static_cast<size_t>(x - 1)] + 1;
    span.begin = std::min(span.begin, x);
    span.end = x + 1;
  }
  if (span.end == 0) span = {};
  double yo = map.k[5] + map.k[4] * 0.5;
  for (int y = 0; y < height; ++y, yo += map.k[4]) {
    uint8_t* row = out.data + static_cast<size_t>(y) * out.stride;
    int from_y = 0;
    if (span.begin == span.end || !Coordinate(yo, in.height, &from_y)) {
      FillPixels<kChannels>(row, width, fill);
      continue;
    }
    FillPixels<kChannels>(row, span.begin, fill);
    const uint8_t* from = in.row(from_y);
    const int count = span.end - span.begin;
    uint8_t* to = row + span.begin * kChannels;
    if (shifted) {
      std::memcpy(to, from + columns[static_cast<size_t>(span.begin)] * kChannels,
                  static_cast<size_t>(count) * kChannels);
    } else {
      for (int x = span.begin; x < span.end; ++x, to += kChannels) {
        CopyPixel<kChannels>(from + columns[static_cast<size_t>(x)] * kChannels, to);
      }
    }
    FillPixels<kChannels>(row + span.end * kChannels, width - span.end, fill);
  }
}

// Pillow's check_fixed: returns whether every pixel's source fits 16.16 fixed point.
bool FitsFixed(const WarpMap& map, int width, int height, double limit) {
  for (const int x : {0, width}) {
    for (const int y : {0, height}) {
      if (!(std::fabs(x * map.k[0] + y * map.k[1] + map.k[2]) < limit &&
            std::fabs(x * map.k[3] + y * map.k[4] + map.k[5]) < limit)) {
        return false;
      }
    }
  }
  return true;
}

int64_t Fixed(double v, double one) { return static_cast<int64_t>(std::floor(v * one + 0.5)); }

// The loops below take the view by value: their stores cannot change it, so its fields stay in registers.

// Pillow's affine_fixed.
template <int kChannels>
void NearestFixed(ImageView in, const WarpMap& map, const uint8_t* fill, int width, int height, ImageTarget out) {
  constexpr double kOne = 65536.0;
  const auto& k = map.k;
  const int64_t down_x = Fixed(k[1], kOne), down_y = Fixed(k[4], kOne);
  FixedRow at{Fixed(k[2] + k[0] * 0.5 + k[1] * 0.5, kOne), Fixed(k[5] + k[3] * 0.5 + k[4] * 0.5, kOne),
              Fixed(k[0], kOne), Fixed(k[3], kOne)};
  for (int y = 0; y < height; ++y, at.x0 += down_x, at.y0 += down_y) {
    uint8_t* row = out.data + static_cast<size_t>(y) * out.stride;
    const Span span = at.Inside(in, 16, width);
    FillPixels<kChannels>(row, span.begin, fill);
    int64_t from_x = at.x0 + at.dx * span.begin, from_y = at.y0 + at.dy * span.begin;
    const int64_t dx = at.dx, dy = at.dy;
    uint8_t* to = row + span.begin * kChannels;
    for (int x = span.begin; x < span.end; ++x, to += kChannels, from_x += dx, from_y += dy) {
      CopyPixel<kChannels>(in.data + static_cast<size_t>(from_y >> 16) * in.stride + (from_x >> 16) * kChannels, to);
    }
    FillPixels<kChannels>(row + span.end * kChannels, width - span.end, fill);
  }
}

// Pillow's ImagingTransformAffine for sources that exceed fixed point: sums the steps in double.
template <int kChannels>
void NearestSums(ImageView in, const WarpMap& map, const uint8_t* fill, int width, int height, ImageTarget out) {
  const auto& k = map.k;
  double xo = k[2] + k[1] * 0.5 + k[0] * 0.5, yo = k[5] + k[4] * 0.5 + k[3] * 0.5;
  for (int y = 0; y < height; ++y, xo += k[1], yo += k[4]) {
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    double xx = xo, yy = yo;
    for (int x = 0; x < width; ++x, to += kChannels, xx += k[0], yy += k[3]) {
      int from_x = 0, from_y = 0;
      const bool inside = Coordinate(xx, in.width, &from_x) && Coordinate(yy, in.height, &from_y);
      CopyPixel<kChannels>(inside ? in.row(from_y) + from_x * kChannels : fill, to);
    }
  }
}

// The weighted mean of the four surrounding pixels, rounded down. Coordinates refer to pixel corners, in 32.32 fixed
// point. Weights have 13 bits and sum to exactly 1. Three channels are summed in one word, 21 bits each.
constexpr int kWeightBits = 13;

// Returns the offset from coordinates of pixel corners to those of pixel centers. Because later code truncates to the
// weights' bits, the offset adds half a weight for rounding. A coordinate that misses an integer only by rounding error
// therefore counts as an integer.
int64_t ToCenters(WarpSampling sampling) {
  const int64_t half_weight = sampling == WarpSampling::kBilinearDown ? 0 : int64_t{1} << (32 - kWeightBits - 1);
  return half_weight - (int64_t{1} << 31);
}

template <int kChannels>
uint64_t Spread(const uint8_t* pixel) {
  if (kChannels == 1) return pixel[0];
  return pixel[0] | uint64_t{pixel[1]} << 21 | uint64_t{pixel[2]} << 42;
}

template <int kChannels>
inline void BilinearPixel(const ImageView& in, int64_t to_centers, int64_t from_x, int64_t from_y, uint8_t* to) {
  from_x += to_centers;
  from_y += to_centers;
  const int x = static_cast<int>(from_x >> 32), y = static_cast<int>(from_y >> 32);
  const int left = std::max(x, 0) * kChannels, right = std::min(x + 1, in.width - 1) * kChannels;
  const uint8_t* upper = in.row(std::max(y, 0));
  const uint8_t* lower = in.row(std::min(y + 1, in.height - 1));
  constexpr uint32_t kOne = 1u << kWeightBits;
  const uint32_t fx = static_cast<uint32_t>(from_x) >> (32 - kWeightBits);
  const uint32_t fy = static_cast<uint32_t>(from_y) >> (32 - kWeightBits);
  const uint32_t both = (fx * fy + kOne / 2) >> kWeightBits;
  const uint64_t sum = Spread<kChannels>(upper + left) * (kOne - fx - fy + both) +
                       Spread<kChannels>(upper + right) * (fx - both) + Spread<kChannels>(lower + left) * (fy - both) +
                       Spread<kChannels>(lower + right) * both;
  for (int c = 0; c < kChannels; ++c) to[c] = static_cast<uint8_t>(sum >> (21 * c + kWeightBits));
}

template <int kChannels>
void BilinearFixed(ImageView in, const WarpMap& map, int64_t to_centers, const uint8_t* fill, int width, int height,
                   ImageTarget out) {
  constexpr double kOne = 4294967296.0;
  const auto& k = map.k;
  FixedRow at{0, 0, Fixed(k[0], kOne), Fixed(k[3], kOne)};
  for (int y = 0; y < height; ++y) {
    at.x0 = Fixed(k[0] * 0.5 + k[1] * (y + 0.5) + k[2], kOne);
    at.y0 = Fixed(k[3] * 0.5 + k[4] * (y + 0.5) + k[5], kOne);
    uint8_t* row = out.data + static_cast<size_t>(y) * out.stride;
    const Span span = at.Inside(in, 32, width);
    FillPixels<kChannels>(row, span.begin, fill);
    int64_t from_x = at.x0 + at.dx * span.begin, from_y = at.y0 + at.dy * span.begin;
    for (int x = span.begin; x < span.end; ++x, from_x += at.dx, from_y += at.dy) {
      BilinearPixel<kChannels>(in, to_centers, from_x, from_y, row + x * kChannels);
    }
    FillPixels<kChannels>(row + span.end * kChannels, width - span.end, fill);
  }
}

// Pillow's ImagingGenericTransform: computes every pixel's source separately, in double. `sample` receives sources
// inside the input.
template <int kChannels, typename Sample>
void Generic(ImageView in, const WarpMap& map, const uint8_t* fill, int width, int height, ImageTarget out,
             Sample sample) {
  constexpr int kPiece = 64;  // pieces keep the divisions in a loop of their own
  double xs[kPiece], ys[kPiece];
  const auto& k = map.k;
  for (int y = 0; y < height; ++y) {
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    const double yin = y + 0.5;
    for (int begin = 0; begin < width; begin += kPiece) {
      const int count = std::min(kPiece, width - begin);
      for (int i = 0; i < count; ++i) {
        const double xin = begin + i + 0.5;
        const double w = k[6] * xin + k[7] * yin + 1;
        xs[i] = (k[0] * xin + k[1] * yin + k[2]) / w;
        ys[i] = (k[3] * xin + k[4] * yin + k[5]) / w;
      }
      for (int i = 0; i < count; ++i, to += kChannels) {
        int from_x = 0, from_y = 0;
        if (!Coordinate(xs[i], in.width, &from_x) || !Coordinate(ys[i], in.height, &from_y)) {
          CopyPixel<kChannels>(fill, to);
        } else {
          sample(in, xs[i], ys[i], to);
        }
      }
    }
  }
}

template <int kChannels>
void WarpBilinear(const ImageView& in, const WarpMap& map, WarpSampling sampling, const uint8_t* fill, int width,
                  int height, ImageTarget out) {
  if (map.IsAffine() && FitsFixed(map, width, height, 0x1p29)) {
    BilinearFixed<kChannels>(in, map, ToCenters(sampling), fill, width, height, out);
  } else {
    Generic<kChannels>(in, map, fill, width, height, out,
                       [to_centers = ToCenters(sampling)](const ImageView& from, double x, double y, uint8_t* to) {
                         BilinearPixel<kChannels>(from, to_centers, static_cast<int64_t>(x * 4294967296.0),
                                                  static_cast<int64_t>(y * 4294967296.0), to);
                       });
  }
}

template <int kChannels>
void WarpNearest(const ImageView& in, const WarpMap& map, const uint8_t* fill, int width, int height, ImageTarget out) {
  if (!map.IsAffine()) {
    Generic<kChannels>(in, map, fill, width, height, out, [](const ImageView& from, double x, double y, uint8_t* to) {
      CopyPixel<kChannels>(from.row(static_cast<int>(y)) + static_cast<int>(x) * kChannels, to);
    });
  } else if (map.k[1] == 0 && map.k[3] == 0) {
    NearestScale<kChannels>(in, map, fill, width, height, out);
  } else if (FitsFixed(map, width, height, 32768.0)) {
    NearestFixed<kChannels>(in, map, fill, width, height, out);
  } else {
    NearestSums<kChannels>(in, map, fill, width, height, out);
  }
}

}  // namespace

void Warp(const ImageView& in, const WarpMap& map, WarpSampling sampling, const uint8_t fill[3], int out_width,
          int out_height, ImageTarget out) {
  const bool nearest = sampling == WarpSampling::kNearest;
  switch (in.channels) {
    case 1:
      if (nearest) return WarpNearest<1>(in, map, fill, out_width, out_height, out);
      return WarpBilinear<1>(in, map, sampling, fill, out_width, out_height, out);
    case 2:
      PS_CHECK(nearest);
      return WarpNearest<2>(in, map, fill, out_width, out_height, out);
    default:
      if (nearest) return WarpNearest<3>(in, map, fill, out_width, out_height, out);
      return WarpBilinear<3>(in, map, sampling, fill, out_width, out_height, out);
  }
}

}  // namespace penstock::image
