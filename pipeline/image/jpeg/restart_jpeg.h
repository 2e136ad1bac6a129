// Restart-indexed JPEG: the same picture, stored so that a crop can be decoded without reading the rest.
//
// The coefficients are those of the source; what changes is how they are written down: restart markers cut each row of
// MCUs into tiles, the Huffman tables are made for this image, and a table of the tiles' lengths lies in the header.
// Every JPEG decoder reads such a file to the same pixels; JpegDecoder also reads a crop's tiles alone. The format and
// what it costs: docs/restart-indexed-jpeg.md.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_JPEG_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_JPEG_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/image/image_header.h"

namespace penstock {

// MCUs in a tile of a file with this many bytes, so many MCUs in a row and so many rows: the divisor of the row that
// is nearest to 4 (as a ratio; the smaller of two) among those whose markers and table are small beside the file; the
// whole row when none is.
int TileInterval(size_t bytes, int mcus_per_row, int rows);

// Rewrites `jpeg` restart-indexed. Application segments and comments, and whatever follows the image, are kept byte for
// byte and in order; a tile table that the file has is replaced. The result is read back before it is returned: its
// coefficients are the source's, its table is sound.
//
// A tile has `interval` MCUs, which must divide the row of MCUs; 0: as many as TileInterval says.
//
// Memory: the coefficients twice, 4 bytes per sample, beside source and result. Thread-safe.
//   FailedPrecondition: a JPEG of a kind that is not indexed: progressive, arithmetic, CMYK, of several scans, of
//                       several pictures (MPO), with application segments behind its frame header, with a tile of
//                       64 KiB or more, or odd in another way that the message names.
//   DataLoss:           it does not decode as a whole without a warning.
//   InvalidArgument:    no JPEG that libjpeg reads, or an interval that does not divide the row.
//   ResourceExhausted:  over the limits.
// The first two say that the file stays as it is; see StaysAsItIs.
absl::StatusOr<std::string> AddRestartIndex(std::string_view jpeg, const ImageLimits& limits = {}, int interval = 0);

// Whether AddRestartIndex said that the file is to be kept with its own bytes: nothing is wrong with the request.
inline bool StaysAsItIs(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsDataLoss(status);
}

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_RESTART_JPEG_H_
