// A BMP's headers: where its palette and pixels lie, and how they are stored.
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_BMP_FILE_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_BMP_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock {

struct BmpFile {
  enum class Coding : uint8_t { kPlain, kRle8, kRle4 };

  int width = 0, height = 0;
  bool top_down = false;  // the first row stored is the top one
  int bits = 0;           // of a pixel: 1, 4, 8, 16, 24, 32
  Coding coding = Coding::kPlain;
  // Up to 8 bits: `colors` entries (1 to 256) of blue, green, red and, in 4 bytes, one that is unused.
  size_t palette_at = 0;
  int colors = 0, color_bytes = 4;
  // 16 bits: green has 6 bits, not 5. 24 and 32 bits: the byte of a pixel that holds each color.
  bool green_6 = false;
  int red = 2, green = 1, blue = 0;
  size_t pixels_at = 0;

  // Bytes of a stored row of kPlain.
  size_t RowBytes() const { return (static_cast<size_t>(width) * static_cast<size_t>(bits) + 31) / 32 * 4; }
};

// Reads what Pillow reads: the headers of OS/2 1 and of Windows 3 to 5, 1 to 32 bits, RLE4, RLE8, and the masks that
// occur. InvalidArgument: cut off, or of a kind that is not read; the message names what.
absl::StatusOr<BmpFile> ReadBmpFile(std::string_view bytes);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_BMP_FILE_H_
