#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_GIF_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_GIF_H_

#include <string_view>

#include "absl/status/status.h"
#include "pipeline/image/formats/pixels.h"
#include "pipeline/image/image_header.h"

namespace penstock::image {

// Decodes the first frame on its screen, whose size must match `header`. As in Pillow, the rest of the screen has the
// frame's transparent color, or color 0 if it has none. Allocates nothing except an error message.
absl::Status DecodeGif(std::string_view bytes, const ImageHeader& header, const Canvas& canvas);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_GIF_H_
