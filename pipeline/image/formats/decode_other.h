// Decodes whole PNG, WebP, BMP and GIF pictures.
#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_DECODE_OTHER_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_DECODE_OTHER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "pipeline/image/image_header.h"

namespace penstock::image {

// Returns an upper bound of the bytes that DecodeOther allocates besides `out`.
size_t DecodeOtherBytes(const ImageHeader& header);

// Decodes the whole image into `out`: header.height rows at `stride` bytes, with header.width * channels bytes each (3
// channels: RGB, 1: gray). `header` must come from ProbeImage, pass CheckLimits, and have another format than JPEG. The
// pixels equal Pillow's convert("RGB") or convert("L"): alpha is dropped, palette colors are looked up, and 16-bit
// values become their high byte. The image is not rotated. For an animation it decodes the first frame.
//
// With `classes` and one channel, it returns a mask's classes like np.asarray(Image.open(...)). A palette image gives
// color numbers, and a black-and-white PNG or BMP gives 0 and 1.
// Returns DataLoss if the image is damaged or truncated. Thread-safe.
absl::Status DecodeOther(std::string_view bytes, const ImageHeader& header, int channels, uint8_t* out, size_t stride,
                         bool classes = false);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_DECODE_OTHER_H_
