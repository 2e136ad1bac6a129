#include "pipeline/image/pad.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace penstock::image {
namespace {

// Returns the source of position i in a side of n pixels, or -1 if it is constant fill.
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

// Fills `count` pixels of `out`, including the first, with the first pixel.
void RepeatPixel(uint8_t* out, int count, int channels) {
  const size_t bytes = static_cast<size_t>(count) * static_cast<size_t>(channels);
  for (size_t done = static_cast<size_t>(channels); done < bytes; done *= 2) {
    std::memcpy(out + done, out, std::min(done, bytes - done));
  }
}

void CopyFill(const uint8_t* from, int channels, uint8_t* to) {
  for (int c = 0; c < channels; ++c) to[c] = from[c];
}

void FillPixels(uint8_t* out, int count, int channels, const uint8_t* fill) {
  if (count == 0) return;
  if (channels == 1 || (fill[0] == fill[1] && fill[1] == fill[2])) {
    std::memset(out, fill[0], static_cast<size_t>(count) * static_cast<size_t>(channels));
    return;
  }
  CopyFill(fill, channels, out);
  RepeatPixel(out, count, channels);
}

}  // namespace

void CopyWindow(const ImageView& in, const Rect& window, PadMode mode, const uint8_t fill[3], ImageTarget out) {
  const int channels = in.channels;
  // The window's columns that are inside the image, and the source columns of the others.
  const int begin = std::clamp(-window.x, 0, window.width);
  const int end = std::clamp(in.width - window.x, begin, window.width);
  std::vector<int> from_x(static_cast<size_t>(mode == PadMode::kConstant ? 0 : window.width));
  for (size_t x = 0; x < from_x.size(); ++x) from_x[x] = Source(window.x + static_cast<int>(x), in.width, mode);
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
    if (mode == PadMode::kConstant) {
      FillPixels(row, begin, channels, fill);
      FillPixels(row + end * channels, window.width - end, channels, fill);
      continue;
    }
    const auto outside = [&](int x0, int x1) {
      for (int x = x0; x < x1; ++x)
        CopyFill(from + from_x[static_cast<size_t>(x)] * channels, channels, row + x * channels);
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

}  // namespace penstock::image
