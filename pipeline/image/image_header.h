// The header of an encoded image, read before any decoding or allocation.
#ifndef PENSTOCK_PIPELINE_IMAGE_IMAGE_HEADER_H_
#define PENSTOCK_PIPELINE_IMAGE_IMAGE_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace penstock::image {

enum class ImageFormat : uint8_t { kJpeg, kPng, kWebp, kBmp, kGif };

// Returns "JPEG", "PNG", "WebP", "BMP" or "GIF".
std::string_view ImageFormatName(ImageFormat format);

struct ImageHeader {
  ImageFormat format = ImageFormat::kJpeg;
  int width = 0, height = 0;  // pixels as stored, before EXIF rotation
  int components = 0;         // channels as stored: a palette counts as 3, and alpha counts; BMP and GIF: always 3
  int depth = 8;              // PNG: bits per stored value, not checked: 1 to 16 in a valid file
  bool progressive = false;   // JPEG: several passes of coefficients; PNG: several passes of pixels (interlaced)
  // JPEG: progressive, or the first scan lacks a component. A decoder then has to keep all coefficients.
  bool several_scans = false;
  // WebP: bytes that libwebp allocates for the prefix codes of a lossless picture (headers/vp8l_walk.h). 0 if the
  // picture is lossy, or if it ends before its codes are known.
  size_t prefix_code_bytes = 0;
  // Orientation 1 to 8 (EXIF 2.32, tag 0x0112) from EXIF, a raw profile in a PNG, or XMP. 1 if the file states none.
  int orientation = 1;
};

struct ImageLimits {
  uint64_t max_pixels = 178956970;  // the limit of Pillow
  uint32_t max_side = 65500;
};

// Reads the header. The content determines the format, not a name or suffix. For a lossless WebP it reads as far as the
// number of prefix codes. For a PNG it searches the text chunks that may state an orientation. It allocates at most 256
// KiB for these two formats, and for the others nothing except an error message. Returns InvalidArgument if the format
// is unknown, or if the header is truncated or invalid; the message states which.
absl::StatusOr<ImageHeader> ProbeImage(std::string_view bytes);

// Returns ResourceExhausted, with the size and the limit, if the image exceeds a limit.
absl::Status CheckLimits(const ImageHeader& header, const ImageLimits& limits);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_IMAGE_HEADER_H_
