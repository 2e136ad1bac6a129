// The position of a WebP's first picture (RFC 9649, 2).
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_WEBP_FILE_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_WEBP_FILE_H_

#include <string_view>

#include "absl/status/statusor.h"

namespace penstock::image {

struct WebpFile {
  int width = 0, height = 0;  // the canvas
  bool alpha = false;         // as the header announces
  int orientation = 1;        // 1 to 8, from EXIF or XMP
  // The still picture, or the first frame of an animation. `stream` is empty if the picture is missing, truncated or
  // inconsistent with the header; `trouble` then names the reason.
  std::string_view stream;  // the payload of its VP8 or VP8L chunk; a lossy picture's alpha is in another chunk
  bool lossless = false;
  int x = 0, y = 0, frame_width = 0, frame_height = 0;  // within the canvas
  const char* trouble = "";
  bool cut_off = false;  // `trouble` is that the file ends too early
};

// Reads the headers. Returns InvalidArgument if the header is truncated or is not that of a WebP.
absl::StatusOr<WebpFile> ReadWebpFile(std::string_view bytes);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_WEBP_FILE_H_
