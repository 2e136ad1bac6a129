// A GIF up to its first frame's data.
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_GIF_FILE_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_GIF_FILE_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock {

struct GifFile {
  // The screen, made larger where the first frame lies beyond it (as Pillow and browsers do).
  int width = 0, height = 0;
  int x = 0, y = 0, frame_width = 0, frame_height = 0;
  bool interlaced = false;
  std::string_view palette;  // red, green, blue of each color; the frame's own or else the screen's; may be empty
  int transparent = -1;      // the color that means nothing, or -1
  size_t data_at = 0;        // the LZW code size, then blocks
};

// Allocates nothing beyond a message. InvalidArgument: cut off before its first frame's data, or without a frame.
absl::StatusOr<GifFile> ReadGifFile(std::string_view bytes);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_GIF_FILE_H_
