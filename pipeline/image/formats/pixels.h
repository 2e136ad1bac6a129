// Shared helpers that convert the pixels of a format to ours.
#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_PIXELS_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_PIXELS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "pipeline/image/color.h"
#include "pipeline/image/image_header.h"

namespace penstock::image {

// The destination of a decoder: rows with `channels` bytes per pixel (3: RGB, 1: gray, the luma of colors).
struct Canvas {
  int channels = 3;
  uint8_t* out = nullptr;
  size_t stride = 0;
  bool classes = false;  // one channel: store the color numbers of a palette

  uint8_t* Row(int y) const { return out + static_cast<size_t>(y) * stride; }
};

// Returns DataLoss if the size differs from that in `header`, because the caller's buffer has only that size.
inline absl::Status CheckSize(const char* format, const ImageHeader& header, int64_t width, int64_t height) {
  if (width == header.width && height == header.height) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the ", format, " has ", width, " x ", height, " pixels where ", header.width,
                                          " x ", header.height, " were expected"));
}

// Colors by number.
struct Palette {
  int size = 0;  // at most 256
  uint8_t rgb[256][3] = {};
  bool classes = false;  // Store() writes the color's number

  // Stores the color and returns true, or returns false if the palette lacks it. With `classes`, every number is valid.
  bool Store(int color, int channels, uint8_t* to) const {
    if (classes) {
      *to = static_cast<uint8_t>(color);
      return true;
    }
    if (color >= size) return false;
    StorePixel(channels, rgb[color][0], rgb[color][1], rgb[color][2], to);
    return true;
  }
};

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_PIXELS_H_
