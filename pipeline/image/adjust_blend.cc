// Blends with a degenerate image; see adjust.h.
#include <cstring>

#include "pipeline/image/adjust.h"
#include "pipeline/image/adjust_loops.h"

namespace penstock::image {
namespace {

// Blends every value with `degenerate`.
void BlendWith(const ImageView& in, int degenerate, float factor, ImageTarget out) {
  uint8_t table[256];
  for (int i = 0; i < 256; ++i) table[i] = BlendValue(degenerate, i, factor);
  LookUp(in, table, out);
}

uint64_t SumGray(const ImageView& in) {
  uint64_t sum = 0;
  for (int y = 0; y < in.height; ++y) {
    const uint8_t* row = in.row(y);
    uint64_t of_row = 0;
    for (int x = 0; x < in.width; ++x) of_row += row[x];
    sum += of_row;
  }
  return sum;
}

}  // namespace

void AdjustBrightness(const ImageView& in, float factor, ImageTarget out) { BlendWith(in, 0, factor, out); }

void AdjustContrast(const ImageView& in, float factor, ImageTarget out) {
  const uint64_t sum = in.channels == 3 ? SumLuma(in) : SumGray(in);
  const double count = static_cast<double>(in.width) * static_cast<double>(in.height);
  BlendWith(in, static_cast<int>(static_cast<double>(sum) / count + 0.5), factor, out);
}

void AdjustSaturation(const ImageView& in, float factor, ImageTarget out) {
  if (in.channels == 1 || factor == 1) return CopyPixels(in, out);
  BlendLuma(in, factor, out);
}

void AdjustSharpness(const ImageView& in, float factor, ImageTarget out) {
  const size_t bytes = in.row_bytes(), channels = static_cast<size_t>(in.channels);
  for (int y = 0; y < in.height; ++y) {
    uint8_t* to = out.data + static_cast<size_t>(y) * out.stride;
    // Pillow's filter copies the border, and blending equal pixels changes nothing.
    if (y == 0 || y + 1 == in.height || in.width < 3) {
      std::memcpy(to, in.row(y), bytes);
      continue;
    }
    std::memcpy(to, in.row(y), channels);
    BlendSmoothRow(in.row(y - 1), in.row(y), in.row(y + 1), bytes, channels, factor, to);
    std::memcpy(to + bytes - channels, in.row(y) + bytes - channels, channels);
  }
}

}  // namespace penstock::image
