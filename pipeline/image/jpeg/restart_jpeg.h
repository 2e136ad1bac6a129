// Restart-indexed JPEG: the same picture, stored so that a crop can be decoded without decoding the rest.
//
// The coefficients are those of the source; only their encoding changes. Restart markers cut each row of MCUs into
// tiles, the Huffman tables are computed for this image, and the header has a table of the tiles' lengths. Every JPEG
// decoder reads such a file to the same pixels; JpegDecoder can also decode only a crop's tiles. For the format and its
// costs see docs/dev/restart-indexed-jpeg.md.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_JPEG_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_JPEG_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/image/image_header.h"

namespace penstock::image {

// Returns the MCUs per tile for a file of `bytes` bytes with `rows` rows of `mcus_per_row` MCUs. The result divides the
// row. It is the whole row or a divisor whose markers and table are small compared with the file, whichever is nearest
// to 4 as a ratio. If two are equally near, it is the smaller.
int TileInterval(size_t bytes, int mcus_per_row, int rows);

// Rewrites `jpeg` as restart-indexed. Keeps application segments, comments and data after the image byte for byte and
// in order. Replaces an existing tile table. Before it returns, it reads the result back and verifies that the
// coefficients equal those of the source and that the table is valid.
//
// A tile has `interval` MCUs, which must divide the row of MCUs. With 0, TileInterval chooses.
//
// Memory: the coefficients twice, 4 bytes per sample, and up to twice the result, besides source and result.
// Thread-safe.
//   FailedPrecondition: an unsupported kind of JPEG: progressive, arithmetic, CMYK, several scans, several
//                       pictures (MPO), application segments after the frame header, a tile of 64 KiB or more, too many
//                       tiles for a table, or another peculiarity that the message names.
//   DataLoss:           the file does not decode completely without a warning.
//   InvalidArgument:    not a JPEG that libjpeg reads, or an interval that does not divide the row.
//   ResourceExhausted:  over the limits.
// After FailedPrecondition or DataLoss the caller keeps the source: the request itself was correct.
absl::StatusOr<std::string> AddRestartIndex(std::string_view jpeg, const ImageLimits& limits = {}, int interval = 0);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_JPEG_H_
