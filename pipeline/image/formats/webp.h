// WebP through libwebp.
#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_WEBP_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_WEBP_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"
#include "pipeline/image/formats/pixels.h"
#include "pipeline/image/image_header.h"

namespace penstock {

// Upper bound of what DecodeWebp allocates.
size_t WebpBytes(const ImageHeader& header);

// The whole picture, of an animation the first frame on a black canvas, as in Pillow. Alpha is not looked at.
absl::Status DecodeWebp(std::string_view bytes, const ImageHeader& header, const Canvas& canvas);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_WEBP_H_
