#include "pipeline/image/copy_rows.h"

#include <algorithm>
#include <cstring>

namespace penstock::image {
namespace {

void CopyPixel(const uint8_t* from, size_t channels, uint8_t* to) {
  for (size_t c = 0; c < channels; ++c) to[c] = from[c];
}

// Copies four bytes at a time; the next pixel overwrites the fourth.
void MirrorRgbRow(const uint8_t* from, int width, uint8_t* to) {
  from += size_t{3} * static_cast<size_t>(width - 1);
  CopyPixel(from, 3, to);  // the last pixel: reading a fourth byte would pass the end of the row
  if (width == 1) return;
  for (int x = 1; x < width - 1; ++x) {
    from -= 3;
    to += 3;
    std::memcpy(to, from, 4);
  }
  CopyPixel(from - 3, 3, to + 3);
}

}  // namespace

void CopyRows(const ImageView& image, bool mirror, uint8_t* out, size_t stride) {
  for (int y = 0; y < image.height; ++y, out += stride) {
    const uint8_t* from = image.row(y);
    if (!mirror) {
      std::memcpy(out, from, image.row_bytes());
    } else if (image.channels == 3) {
      MirrorRgbRow(from, image.width, out);
    } else {
      std::reverse_copy(from, from + image.width, out);
    }
  }
}

void ImageCopier::Rows(const ImageView& rows) {
  CopyRows(rows, false, next_, stride_);
  next_ += static_cast<size_t>(rows.height) * stride_;
}

}  // namespace penstock::image
