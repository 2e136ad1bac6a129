#include "pipeline/image/resize/area_resize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"

namespace penstock::image {
namespace {

// Shares of a pixel's width below this do not count.
constexpr double kLeastShare = 1e-3;

double ScaleOf(int in, int out) { return 1.0 / (static_cast<double>(out) / in); }

bool IsWhole(double scale) { return std::abs(scale - std::nearbyint(scale)) < std::numeric_limits<double>::epsilon(); }

// The input pixels that an output pixel covers along one axis, in order.
struct Share {
  int out, in;
  float weight;
};

std::vector<Share> SharesOf(int in, int out) {
  const double scale = ScaleOf(in, out);
  std::vector<Share> shares;
  shares.reserve(static_cast<size_t>(in) + static_cast<size_t>(out));
  for (int i = 0; i < out; ++i) {
    const double begin = i * scale, end = begin + scale, covered = std::min(scale, in - begin);
    const int last = std::min(static_cast<int>(std::floor(end)), in - 1);
    const int first = std::min(static_cast<int>(std::ceil(begin)), last);
    if (first - begin > kLeastShare) {
      shares.push_back({i, first - 1, static_cast<float>((first - begin) / covered)});
    }
    for (int k = first; k < last; ++k) shares.push_back({i, k, static_cast<float>(1.0 / covered)});
    if (end - last > kLeastShare) {
      shares.push_back({i, last, static_cast<float>(std::min(std::min(end - last, 1.0), covered) / covered)});
    }
  }
  return shares;
}

template <int kChannels>
void Resize(const ImageView& in, int out_width, int out_height, uint8_t* out, size_t stride) {
  const std::vector<Share> columns = SharesOf(in.width, out_width), rows = SharesOf(in.height, out_height);
  const size_t values = static_cast<size_t>(out_width) * kChannels;
  std::vector<float> along(values), sums(values);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::fill(along.begin(), along.end(), 0.0f);
    const uint8_t* const from = in.data + static_cast<size_t>(rows[i].in) * in.stride;
    for (const Share& share : columns) {
      for (int c = 0; c < kChannels; ++c) {
        along[static_cast<size_t>(share.out * kChannels + c)] += from[share.in * kChannels + c] * share.weight;
      }
    }
    const bool begins = i == 0 || rows[i - 1].out != rows[i].out;
    const bool ends = i + 1 == rows.size() || rows[i + 1].out != rows[i].out;
    for (size_t x = 0; x < values; ++x) {
      const float part = rows[i].weight * along[x];
      sums[x] = begins ? part : sums[x] + part;
    }
    if (!ends) continue;
    uint8_t* const to = out + static_cast<size_t>(rows[i].out) * stride;
    for (size_t x = 0; x < values; ++x) {
      to[x] = static_cast<uint8_t>(std::clamp(std::lrintf(sums[x]), 0L, 255L));
    }
  }
}

}  // namespace

bool ShrinksByFraction(int in_width, int in_height, int out_width, int out_height) {
  const double x = ScaleOf(in_width, out_width), y = ScaleOf(in_height, out_height);
  return x >= 1 && y >= 1 && !(IsWhole(x) && IsWhole(y));
}

void ResizeArea(const ImageView& in, int out_width, int out_height, uint8_t* out, size_t stride) {
  PS_CHECK(ShrinksByFraction(in.width, in.height, out_width, out_height));
  switch (in.channels) {
    case 1:
      return Resize<1>(in, out_width, out_height, out, stride);
    case 2:
      return Resize<2>(in, out_width, out_height, out, stride);
    case 3:
      return Resize<3>(in, out_width, out_height, out, stride);
    default:
      PS_CHECK(in.channels == 4);
      return Resize<4>(in, out_width, out_height, out, stride);
  }
}

}  // namespace penstock::image
