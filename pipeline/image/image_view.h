// Pixels in memory: 8 bits per value, interleaved channels, rows at a stride. Views own nothing. A mask of 16-bit
// classes has two channels, the low byte first; its pixels are only copied.
#ifndef PENSTOCK_PIPELINE_IMAGE_IMAGE_VIEW_H_
#define PENSTOCK_PIPELINE_IMAGE_IMAGE_VIEW_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace penstock::image {

// Columns [x, x + width) and rows [y, y + height).
struct Rect {
  int x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Rect&) const = default;

  // Returns whether the rectangle is not empty and is inside an image of this size.
  bool Inside(int image_width, int image_height) const {
    return x >= 0 && y >= 0 && width > 0 && height > 0 && width <= image_width - x && height <= image_height - y;
  }
};

struct ImageView {
  const uint8_t* data = nullptr;
  int width = 0, height = 0;  // pixels
  int channels = 0;           // 1 (gray), 3 (RGB) or 2 (16-bit classes)
  size_t stride = 0;          // bytes from one row to the next

  const uint8_t* row(int y) const { return data + static_cast<size_t>(y) * stride; }
  size_t row_bytes() const { return static_cast<size_t>(width) * static_cast<size_t>(channels); }
  // Returns a view of `rect`, which must be inside the image.
  ImageView Crop(const Rect& rect) const {
    return {row(rect.y) + static_cast<size_t>(rect.x) * static_cast<size_t>(channels), rect.width, rect.height,
            channels, stride};
  }
};

// Returns the value of 0 to 255 that is nearest to `value`.
inline uint8_t ClipToByte(int value) { return static_cast<uint8_t>(std::clamp(value, 0, 255)); }

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_IMAGE_VIEW_H_
