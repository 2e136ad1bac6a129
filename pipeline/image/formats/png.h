// PNG through libspng.
#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_PNG_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_PNG_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/image/formats/pixels.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/image_view.h"

namespace penstock {

// Upper bound of what DecodePng allocates.
size_t PngBytes(const ImageHeader& header);

// The whole picture, its size as `header` says. Chunks on which its pixels do not depend are not looked at.
absl::Status DecodePng(std::string_view bytes, const ImageHeader& header, const Canvas& canvas);

// A PNG of 8 bits a channel, without other chunks. InvalidArgument: no pixels, or more than fit a PNG. Thread-safe.
absl::StatusOr<std::string> EncodePng(const ImageView& image);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_PNG_H_
