// Pixels to JPEG, through libjpeg-turbo.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ENCODER_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ENCODER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/image/image_view.h"

namespace penstock {

struct JpegEncodeOptions {
  int quality = 90;  // 1 to 100, libjpeg's scale (as Pillow's)
  // EXIF orientation (1 to 8) to say of the image; 1 writes no EXIF at all.
  int orientation = 1;
  // Huffman tables made for this image: smaller, and a second pass. Else the standard's. The pixels are the same.
  bool optimize = true;
};

// A baseline JPEG of 1 (gray) or 3 (RGB) channels: accurate integer DCT, color halved in both directions (4:2:0, as
// Pillow and libjpeg do unless asked). The same bytes for the same pixels on every CPU.
// InvalidArgument: empty, larger than 65500 on a side, or a quality that is none. Thread-safe.
absl::StatusOr<std::string> EncodeJpeg(const ImageView& image, const JpegEncodeOptions& options);

// The same into `buffer` of JpegBufferBytes; the result lies there. Beside it libjpeg takes JpegCompressorBytes, where
// the tables are the standard's.
absl::StatusOr<std::string_view> EncodeJpegInto(const ImageView& image, const JpegEncodeOptions& options,
                                                uint8_t* buffer, size_t size);

// An upper bound on the size of any JPEG of this size, at any quality.
size_t JpegBufferBytes(int width, int height);
size_t JpegCompressorBytes(int width);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_ENCODER_H_
