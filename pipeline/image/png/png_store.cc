#include "pipeline/image/png/png_store.h"

#include <algorithm>
#include <cstring>

#include "pipeline/image/color.h"

namespace penstock::image {

void StorePngPixels(const PngLayout& layout, const uint8_t* raw, int first, int count, int channels, bool classes,
                    size_t step, uint8_t* out) {
  const size_t bytes = layout.depth == 16 ? 2 : 1, size = static_cast<size_t>(layout.values()) * bytes;
  const bool colored = layout.color == PngColor::kRgb || layout.color == PngColor::kRgba;
  const uint8_t* const begin = raw + static_cast<size_t>(first) * size;  // for whole-byte values
  const size_t pixels = static_cast<size_t>(count), out_step = step * static_cast<size_t>(channels);
  if (step == 1 && layout.depth == 8 && size == static_cast<size_t>(channels) && layout.color != PngColor::kPalette) {
    std::memcpy(out, begin, pixels * size);
    return;
  }
  if (channels == 2) {
    for (size_t i = 0; i < pixels; ++i, out += out_step) {
      out[0] = begin[i * size + bytes - 1];
      out[1] = bytes == 2 ? begin[i * size] : 0;
    }
    return;
  }
  if (colored) {
    for (size_t i = 0; i < pixels; ++i, out += out_step) {
      const uint8_t* pixel = begin + i * size;
      StorePixel(channels, pixel[0], pixel[bytes], pixel[2 * bytes], out);
    }
    return;
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
    if (classes && (layout.color == PngColor::kPalette || layout.depth == 1)) {
      *out = static_cast<uint8_t>(value);
    } else if (layout.color == PngColor::kPalette) {
      const uint8_t* color = layout.palette.data() + 3 * value;
      StorePixel(channels, color[0], color[1], color[2], out);
    } else {
      const uint8_t gray = static_cast<uint8_t>(layout.depth < 8 ? value * 255 / mask : value);
      std::fill(out, out + channels, gray);
    }
  }
}

}  // namespace penstock::image
