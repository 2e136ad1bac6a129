// The headers of a GIF, up to the data of its first frame.
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_GIF_FILE_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_GIF_FILE_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock::image {

struct GifFile {
  // The screen, enlarged if the first frame extends beyond it, as Pillow and browsers do.
  int width = 0, height = 0;
  int x = 0, y = 0, frame_width = 0, frame_height = 0;
  bool interlaced = false;
  std::string_view palette;  // red, green and blue of each color; the frame's own palette, else that of the screen; may
                             // be empty
  int transparent = -1;      // the transparent color, or -1
  size_t data_at = 0;        // the LZW code size, then blocks
};

// Reads the headers. Allocates nothing except an error message. Returns InvalidArgument if the file ends before its
// first frame's data, has no frame, or has an empty one.
absl::StatusOr<GifFile> ReadGifFile(std::string_view bytes);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_GIF_FILE_H_
