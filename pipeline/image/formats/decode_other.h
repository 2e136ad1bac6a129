// PNG, WebP, BMP and GIF: whole pictures.
#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_DECODE_OTHER_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_DECODE_OTHER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "pipeline/image/image_header.h"

namespace penstock {

// Upper bound of what DecodeOther allocates beside `out`, in bytes.
size_t DecodeOtherBytes(const ImageHeader& header);

// Decodes the whole image, whose `header` ProbeImage gave and CheckLimits let pass, into `out`: header.height rows
// at `stride` bytes, header.width * channels bytes each (channels 3: RGB, 1: gray). The pixels are those of Pillow's
// convert("RGB") or convert("L"): alpha is dropped, a palette looked up, 16 bits become their high byte, nothing is
// turned; of an animation it is the first frame.
// DataLoss: damaged, or cut off. Thread-safe.
absl::Status DecodeOther(std::string_view bytes, const ImageHeader& header, int channels, uint8_t* out, size_t stride);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_DECODE_OTHER_H_
