// Color conversions of pixel rows with Pillow's integer formulas.
#ifndef PENSTOCK_PIPELINE_IMAGE_COLOR_H_
#define PENSTOCK_PIPELINE_IMAGE_COLOR_H_

#include <cstdint>

namespace penstock::image {

// Returns the ITU-R 601-2 luma of Pillow's convert("L"): (19595 R + 38470 G + 7471 B + 32768) >> 16.
inline uint8_t Luma(int r, int g, int b) {
  return static_cast<uint8_t>((19595 * r + 38470 * g + 7471 * b + 32768) >> 16);
}

// Stores a pixel of `channels` bytes: RGB for 3 channels, the luma for 1.
inline void StorePixel(int channels, uint8_t r, uint8_t g, uint8_t b, uint8_t* to) {
  if (channels == 1) {
    *to = Luma(r, g, b);
    return;
  }
  to[0] = r;
  to[1] = g;
  to[2] = b;
}

// Converts a row of RGB pixels to luma. `rgb` and `gray` may be the same memory.
inline void RowRgbToGray(const uint8_t* rgb, int width, uint8_t* gray) {
  for (int x = 0; x < width; ++x) gray[x] = Luma(rgb[3 * x], rgb[3 * x + 1], rgb[3 * x + 2]);
}

// Converts inverted CMYK, which Adobe writes and libjpeg returns, to RGB like Pillow's convert("RGB"). Each of R, G and
// B is (255 - K) minus the rounded value of ink * (255 - K) / 255. `cmyk` and `rgb` may be the same memory.
inline void RowInvertedCmykToRgb(const uint8_t* cmyk, int width, uint8_t* rgb) {
  for (int x = 0; x < width; ++x) {
    const int light = cmyk[4 * x + 3];  // 255 - K
    uint8_t pixel[3];
    for (int c = 0; c < 3; ++c) {
      const int product = (255 - cmyk[4 * x + c]) * light + 128;
      const int value = light - ((product + (product >> 8)) >> 8);
      pixel[c] = static_cast<uint8_t>(value < 0 ? 0 : value);
    }
    for (int c = 0; c < 3; ++c) rgb[3 * x + c] = pixel[c];
  }
}

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_COLOR_H_
