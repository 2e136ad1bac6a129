// What a file is that is no shard, by its first bytes. Internal to records/.
#ifndef PENSTOCK_PIPELINE_RECORDS_FILE_KIND_H_
#define PENSTOCK_PIPELINE_RECORDS_FILE_KIND_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock {

// So many first bytes are enough.
inline constexpr size_t kKindBytes = 512;

// "this is a JPEG image, not a TFRecord shard; ..." with the way out; "" where the kind is not known. To be asked only
// of bytes that do not begin a record: any bytes might. compressed: they are what the file inflates to.
std::string WhatElseItIs(std::string_view first_bytes, bool compressed);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_FILE_KIND_H_
