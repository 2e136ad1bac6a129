// Identifies, by the first bytes of a file, known kinds of files that are not shards.
#ifndef PENSTOCK_PIPELINE_SOURCES_FILE_KIND_H_
#define PENSTOCK_PIPELINE_SOURCES_FILE_KIND_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace penstock::sources {

// Number of first bytes that WhatElseItIs() needs.
inline constexpr size_t kKindBytes = 512;

// Returns "this is a JPEG image, neither a TFRecord nor a tar shard; ..." with the remedy, or "" if the kind is
// unknown. Call it only for bytes that do not begin a record, because a record may contain any bytes. `compressed`
// states that the bytes are the decompressed content of the file `path`.
std::string WhatElseItIs(std::string_view first_bytes, bool compressed, std::string_view path);

// Returns DataLoss for a file that is not a shard.
absl::Status OtherKindOfFile(std::string_view message);
// Returns whether `status` came from OtherKindOfFile().
bool IsOtherKindOfFile(const absl::Status& status);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_FILE_KIND_H_
