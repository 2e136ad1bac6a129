#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_GIF_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_GIF_H_

#include <string_view>

#include "absl/status/status.h"
#include "pipeline/image/formats/pixels.h"
#include "pipeline/image/image_header.h"

namespace penstock {

// The first frame on its screen, of the size that `header` says. Where the frame is not, the screen has the frame's
// transparent color, or else color 0, as in Pillow. Allocates nothing beyond a message.
absl::Status DecodeGif(std::string_view bytes, const ImageHeader& header, const Canvas& canvas);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_GIF_H_
