// PNG, WebP and BMP, through OpenCV.
#ifndef PENSTOCK_PIPELINE_IMAGE_DECODE_OTHER_H_
#define PENSTOCK_PIPELINE_IMAGE_DECODE_OTHER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "pipeline/image/image_header.h"

namespace penstock {

// Upper bound of what DecodeOther allocates beside `out`, in bytes.
size_t DecodeOtherBytes(const ImageHeader& header);

// Decodes the whole image, whose `header` ProbeImage gave and CheckLimits let pass, into `out`: header.height rows
// at `stride` bytes, header.width * channels bytes each (channels 3: RGB, 1: gray). Alpha is dropped, a palette
// looked up, 16 bits become their high byte, nothing is turned.
// DataLoss: damaged, cut off, or a variant that OpenCV does not read. Thread-safe.
absl::Status DecodeOther(std::string_view bytes, const ImageHeader& header, int channels, uint8_t* out, size_t stride);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_DECODE_OTHER_H_
