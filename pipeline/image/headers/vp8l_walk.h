// What a lossless WebP makes libwebp allocate, found by reading as much of its stream as tells it.
#ifndef PENSTOCK_PIPELINE_IMAGE_HEADERS_VP8L_WALK_H_
#define PENSTOCK_PIPELINE_IMAGE_HEADERS_VP8L_WALK_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"

namespace penstock {

// The most groups of prefix codes: what libwebp's own encoder writes at most (MAX_HUFF_IMAGE_SIZE in its
// histogram_enc.c). The format has room for 65536 of 12 to 21 KB each.
inline constexpr int kMaxPrefixCodeGroups = 2600;

// An upper bound of the bytes that libwebp allocates for the prefix codes of a VP8L stream (RFC 9649, 3; `stream`
// starts at its signature). Takes time in the length of what is read: the transforms and the map of groups, some
// hundredths of the stream. Allocates the map: at most 256 KB, which it gives back. InvalidArgument: cut off or against
// the format in what is read, or more groups than kMaxPrefixCodeGroups.
absl::StatusOr<size_t> PrefixCodeBytes(std::string_view stream);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMAGE_HEADERS_VP8L_WALK_H_
