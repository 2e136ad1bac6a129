// The headers of a BMP: the positions of its palette and pixels, and their encoding.
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_BMP_FILE_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_BMP_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock::image {

struct BmpFile {
  enum class Coding : uint8_t { kPlain, kRle8, kRle4 };

  int width = 0, height = 0;
  bool top_down = false;  // the first stored row is the top row
  int bits = 0;           // bits per pixel: 1, 4, 8, 16, 24 or 32
  Coding coding = Coding::kPlain;
  // Up to 8 bits: `colors` entries (1 to 256) of blue, green and red. Entries of 4 bytes end with an unused byte.
  size_t palette_at = 0;
  int colors = 0, color_bytes = 4;
  // 16 bits: whether green has 6 bits instead of 5. 24 and 32 bits: the index of each color's byte within a pixel.
  bool green_6 = false;
  int red = 2, green = 1, blue = 0;
  size_t pixels_at = 0;

  // Returns the bytes of a stored row, for kPlain.
  size_t RowBytes() const { return (static_cast<size_t>(width) * static_cast<size_t>(bits) + 31) / 32 * 4; }
};

// Reads the variants that Pillow reads: headers of OS/2 1 and 2 and of Windows 3 to 5, 1 to 32 bits, RLE4, RLE8, and
// the common masks. Returns InvalidArgument if the header is truncated, invalid or of an unsupported variant; the
// message names the reason.
absl::StatusOr<BmpFile> ReadBmpFile(std::string_view bytes);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_BMP_FILE_H_
