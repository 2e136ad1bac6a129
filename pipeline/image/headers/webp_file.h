// Where the (first) picture of a WebP lies (RFC 9649, 2).
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_WEBP_FILE_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_WEBP_FILE_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace penstock {

struct WebpFile {
  int width = 0, height = 0;  // of the canvas
  bool alpha = false;         // the header announces it
  int orientation = 1;        // EXIF
  // The still picture, or an animation's first frame. Empty `stream`: the file ends or breaks before it, as `trouble`
  // says.
  std::string_view stream;  // the payload of its VP8 or VP8L chunk; alpha of a VP8 lies elsewhere
  bool lossless = false;
  int x = 0, y = 0, frame_width = 0, frame_height = 0;  // within the canvas
  const char* trouble = "";
  bool cut_off = false;  // the trouble is that the file ends too early
};

// Allocates nothing beyond a message. InvalidArgument: cut off inside its header.
absl::StatusOr<WebpFile> ReadWebpFile(std::string_view bytes);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_WEBP_FILE_H_
