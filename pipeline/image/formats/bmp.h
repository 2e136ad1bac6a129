#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_BMP_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_BMP_H_

#include <string_view>

#include "absl/status/status.h"
#include "pipeline/image/formats/pixels.h"
#include "pipeline/image/image_header.h"

namespace penstock::image {

// Decodes the whole picture, whose size must match `header`. Allocates nothing except an error message.
absl::Status DecodeBmp(std::string_view bytes, const ImageHeader& header, const Canvas& canvas);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_BMP_H_
