// Decodes PNG with PngReader, and with libspng where PngReader rejects the file. Encodes PNG.
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

namespace penstock::image {

// Returns an upper bound of the bytes that DecodePng allocates, including those of the reader.
size_t PngBytes(const ImageHeader& header);

// Passes the rows of `rect`, which must be inside the picture, to `sink`. The picture's size must match `header`.
// `channels` and `classes` are those of StorePngPixels. Chunks that do not affect the pixels are ignored. If PngReader
// rejects the file (png_reader.h), libspng decodes it from the start. Returns DataLoss if the file is damaged or
// truncated; the sink may have received rows by then.
absl::Status DecodePng(PngReader* reader, std::string_view bytes, const ImageHeader& header, const Rect& rect,
                       int channels, ImageSink* sink, bool classes = false);

// Decodes like DecodePng, but always with libspng. For tests.
absl::Status DecodePngSlowly(std::string_view bytes, const ImageHeader& header, const Rect& rect, int channels,
                             ImageSink* sink, bool classes = false);

// Returns a PNG with 8 bits per channel and no ancillary chunks. Returns InvalidArgument if the image is empty or has
// other than 1 or 3 channels. Thread-safe.
absl::StatusOr<std::string> EncodePng(const ImageView& image);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_FORMATS_PNG_H_
