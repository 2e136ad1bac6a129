// From a format's pixels to ours: what the decoders of this folder share.
#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_PIXELS_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_PIXELS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pipeline/image/color.h"
#include "pipeline/image/image_header.h"

namespace penstock {

// Where a decoder puts its pixels: rows of `channels` bytes a pixel, 3: RGB, 1: gray (the luma of colors).
struct Canvas {
  int channels = 3;
  uint8_t* out = nullptr;
  size_t stride = 0;

  uint8_t* Row(int y) const { return out + static_cast<size_t>(y) * stride; }
};

// A decoder writes only what its caller has room for.
inline absl::Status CheckSize(const char* format, const ImageHeader& header, int64_t width, int64_t height) {
  if (width == header.width && height == header.height) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the ", format, " has ", width, " x ", height, " pixels where ", header.width,
                                          " x ", header.height, " were expected"));
}

// Colors by number.
struct Palette {
  int size = 0;  // at most 256
  uint8_t rgb[256][3] = {};

  // Whether the palette has the color.
  bool Store(int color, int channels, uint8_t* to) const {
    if (color >= size) return false;
    StorePixel(channels, rgb[color][0], rgb[color][1], rgb[color][2], to);
    return true;
  }
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_PIXELS_H_
