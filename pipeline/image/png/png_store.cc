#include "pipeline/image/png/png_store.h"

#include <algorithm>
#include <cstring>

#include "pipeline/image/color.h"

namespace penstock {

bool StorePngPixels(const PngLayout& layout, const uint8_t* raw, int first, int count, int channels, size_t step,
                    uint8_t* out) {
  const size_t bytes = layout.depth == 16 ? 2 : 1, size = static_cast<size_t>(layout.values()) * bytes;
  const bool colored = layout.color == PngColor::kRgb || layout.color == PngColor::kRgba;
  const uint8_t* const begin = raw + static_cast<size_t>(first) * size;  // of whole bytes
  const size_t pixels = static_cast<size_t>(count), out_step = step * static_cast<size_t>(channels);
  if (step == 1 && layout.depth == 8 && size == static_cast<size_t>(channels) && layout.color != PngColor::kPalette) {
    std::memcpy(out, begin, pixels * size);
    return true;
  }
  if (colored) {
    for (size_t i = 0; i < pixels; ++i, out += out_step) {
      const uint8_t* pixel = begin + i * size;
      StorePixel(channels, pixel[0], pixel[bytes], pixel[2 * bytes], out);
    }
    return true;
  }
  const int mask = (1 << std::min(layout.depth, 8)) - 1;
  for (size_t i = 0; i < pixels; ++i, out += out_step) {
    int value = 0;
    if (layout.depth >= 8) {
      value = begin[i * size];
    } else {
      const size_t bit = (static_cast<size_t>(first) + i) * static_cast<size_t>(layout.depth);
      value = raw[bit / 8] >> (8 - layout.depth - static_cast<int>(bit % 8)) & mask;
    }
    if (layout.color == PngColor::kPalette) {
      if (value >= layout.palette_size) return false;
      const uint8_t* color = layout.palette.data() + 3 * value;
      StorePixel(channels, color[0], color[1], color[2], out);
    } else {
      const uint8_t gray = static_cast<uint8_t>(layout.depth < 8 ? value * 255 / mask : value);
      std::fill(out, out + channels, gray);
    }
  }
  return true;
}

}  // namespace penstock
