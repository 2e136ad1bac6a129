// The memory that libwebp allocates for a lossless WebP, computed from the start of its stream.
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_VP8L_WALK_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_VP8L_WALK_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock::image {

// The largest accepted number of prefix code groups. libwebp's own encoder writes at most this many
// (MAX_HUFF_IMAGE_SIZE in its histogram_enc.c). The format allows 65536, of 12 to 21 KB each.
inline constexpr int kMaxPrefixCodeGroups = 2600;

// Returns an upper bound of the bytes that libwebp allocates for the prefix codes of a VP8L stream (RFC 9649, 3).
// `stream` starts at its signature. The time is proportional to the part that it reads: the transforms and the map of
// groups, a few percent of the stream. Allocates at most 256 KB for the map and frees it before it returns. Returns
// InvalidArgument if that part is truncated or invalid, or if it has a larger map or more groups than libwebp's encoder
// writes.
absl::StatusOr<size_t> PrefixCodeBytes(std::string_view stream);

}  // namespace penstock::image

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_VP8L_WALK_H_
