// Encodes pixels as JPEG through libjpeg-turbo.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ENCODER_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/image/image_view.h"

namespace penstock::image {

struct JpegEncodeOptions {
  int quality = 90;  // 1 to 100, on libjpeg's and Pillow's scale
  // EXIF orientation (1 to 8) to write. With 1, no EXIF is written.
  int orientation = 1;
  // Computes Huffman tables for this image, which makes the file smaller but needs a second pass. Otherwise uses the
  // standard tables. The pixels are the same.
  bool optimize = true;
};

// Returns a baseline JPEG of 1 (gray) or 3 (RGB) channels: accurate integer DCT, chroma halved in both directions
// (4:2:0, the default of Pillow and libjpeg). The same pixels give the same bytes on every CPU.
// Returns InvalidArgument if the image is empty, larger than 65500 on a side, or has other channels, or if the quality
// is out of range. Thread-safe.
absl::StatusOr<std::string> EncodeJpeg(const ImageView& image, const JpegEncodeOptions& options);

// Encodes into `buffer`, of at least JpegBufferBytes, and returns a view of it. With the standard tables, libjpeg also
// allocates up to JpegCompressorBytes.
absl::StatusOr<std::string_view> EncodeJpegInto(const ImageView& image, const JpegEncodeOptions& options,
                                                uint8_t* buffer, size_t size);

// Returns an upper bound on the size of a JPEG that EncodeJpeg makes of these dimensions, at any quality.
size_t JpegBufferBytes(int width, int height);
size_t JpegCompressorBytes(int width);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ENCODER_H_
