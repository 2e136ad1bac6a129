#include "pipeline/image/pad.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

// Where position i comes from in a side of n pixels; -1: from outside.
int Source(int i, int n, PadMode mode) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case PadMode::kEdge:
      return i < 0 ? 0 : n - 1;
    case PadMode::kReflect: {
      if (n == 1) return 0;
      const int period = 2 * (n - 1), at = (i % period + period) % period;
      return std::min(at, period - at);
    }
    case PadMode::kSymmetric: {
      const int period = 2 * n, at = (i % period + period) % period;
      return std::min(at, period - 1 - at);
    }
    default:
      return -1;
  }
}

void FillPixels(uint8_t* out, int count, int channels, const uint8_t* fill) {
  for (int i = 0; i < count * channels; i += channels) {
    for (int c = 0; c < channels; ++c) out[i + c] = fill[c];
  }
}

}  // namespace

void CopyWindow(const ImageView& in, const Rect& window, PadMode mode, const uint8_t fill[3], ImageTarget out) {
  const int channels = in.channels;
  // The window's columns that lie inside.
  const int begin = std::clamp(-window.x, 0, window.width);
  const int end = std::clamp(in.width - window.x, begin, window.width);
  for (int y = 0; y < window.height; ++y) {
    uint8_t* row = out.data + static_cast<size_t>(y) * out.stride;
    const int from_y = Source(window.y + y, in.height, mode);
    if (from_y < 0) {
      FillPixels(row, window.width, channels, fill);
      continue;
    }
    const uint8_t* from = in.row(from_y);
    if (end > begin) {
      std::memcpy(row + begin * channels, from + (window.x + begin) * channels,
                  static_cast<size_t>((end - begin) * channels));
    }
    const auto outside = [&](int x0, int x1) {
      for (int x = x0; x < x1; ++x) {
        const int from_x = Source(window.x + x, in.width, mode);
        FillPixels(row + x * channels, 1, channels, from_x < 0 ? fill : from + from_x * channels);
      }
    };
    outside(0, begin);
    outside(end, window.width);
  }
}

void FlipVertically(const ImageView& in, ImageTarget out) {
  for (int y = 0; y < in.height; ++y) {
    std::memcpy(out.data + static_cast<size_t>(y) * out.stride, in.row(in.height - 1 - y), in.row_bytes());
  }
}

}  // namespace penstock
