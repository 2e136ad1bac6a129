// Decodes WebP through libwebp.
#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_WEBP_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_WEBP_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "pipeline/image/formats/pixels.h"
#include "pipeline/image/image_header.h"

namespace penstock::image {

// Returns an upper bound of the bytes that DecodeWebp allocates.
size_t WebpBytes(const ImageHeader& header);

// Decodes the whole picture. For an animation it decodes the first frame on a black canvas, like Pillow. Alpha is
// ignored.
absl::Status DecodeWebp(std::string_view bytes, const ImageHeader& header, const Canvas& canvas);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_WEBP_H_
