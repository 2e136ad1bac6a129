// PNG: by our reader where it is in order, by libspng where it is not.
#ifndef PENSTOCK_PIPELINE_IMAGE_FORMATS_PNG_H_
#define PENSTOCK_PIPELINE_IMAGE_FORMATS_PNG_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/image/image_header.h"
#include "pipeline/image/image_sink.h"
#include "pipeline/image/image_view.h"
#include "pipeline/image/png/png_reader.h"

namespace penstock {

// Upper bound of what DecodePng allocates, the reader's share included.
size_t PngBytes(const ImageHeader& header);

// Hands the rows of `rect`, which lies inside, to `sink`; the picture's size is as `header` says; channels 3: RGB, 1:
// gray. Chunks on which the pixels do not depend are not looked at. A file that is in order is the reader's
// (png_reader.h says what it does not see), of every other one libspng reads all. DataLoss: damaged, or cut off; the
// sink may have got rows.
absl::Status DecodePng(PngReader* reader, std::string_view bytes, const ImageHeader& header, const Rect& rect,
                       int channels, ImageSink* sink);

// The same, by libspng alone; for tests.
absl::Status DecodePngSlowly(std::string_view bytes, const ImageHeader& header, const Rect& rect, int channels,
                             ImageSink* sink);

// A PNG of 8 bits a channel, without other chunks. InvalidArgument: no pixels, or more than fit a PNG. Thread-safe.
absl::StatusOr<std::string> EncodePng(const ImageView& image);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_PNG_H_
