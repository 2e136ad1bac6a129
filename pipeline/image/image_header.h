// What an encoded image says of itself before anything is decoded or allocated.
#ifndef PENSTOCK_PIPELINE_IMAGE_IMAGE_HEADER_H_
#define PENSTOCK_PIPELINE_IMAGE_IMAGE_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock {

enum class ImageFormat : uint8_t { kJpeg, kPng, kWebp, kBmp, kGif };

// "JPEG", "PNG", "WebP", "BMP", "GIF".
std::string_view ImageFormatName(ImageFormat format);

struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  int width = 0, height = 0;  // pixels as stored, before any EXIF turning
  int components = 0;         // channels as stored: a palette counts as 3, alpha counts
  bool progressive = false;   // JPEG: the coefficients come in several passes; PNG: the pixels do (interlaced)
  // JPEG: the first scan does not hold all components at once, so that a decoder keeps all coefficients.
  bool several_scans = false;
  // WebP: what the prefix codes of a lossless picture take in libwebp (headers/vp8l_walk.h). 0: lossy, or it breaks off
  // before they are known.
  size_t prefix_code_bytes = 0;
  // Orientation 1 to 8 (EXIF 2.32, tag 0x0112) as EXIF, a PNG's raw profile or XMP says; 1 where there is none.
  int orientation = 1;
};

struct ImageLimits {
  uint64_t max_pixels = 178956970;  // Pillow's limit
  uint32_t max_side = 65500;
};

// Reads the header by content; names and suffixes do not count. Of a lossless WebP it reads on to where the number of
// its prefix codes is known, of a PNG it looks at the texts that may tell an orientation, and takes at most 256 KB for
// that; else nothing is allocated beyond a message.
// InvalidArgument: no image that we read, or cut off inside its header; the message says which.
absl::StatusOr<ImageHeader> ProbeImage(std::string_view bytes);

// ResourceExhausted, naming size and limit, when the image is over a limit.
absl::Status CheckLimits(const ImageHeader& header, const ImageLimits& limits);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_IMAGE_HEADER_H_
