// SHA-256 and its keyed form, for signatures.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_DIGEST_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_DIGEST_H_

#include <string>

#include "absl/strings/string_view.h"

namespace penstock::storage {

// Returns the 32 bytes of HMAC-SHA-256 (RFC 2104).
std::string HmacSha256(absl::string_view key, absl::string_view text);

// Returns SHA-256 in lower-case hexadecimal.
std::string Sha256Hex(absl::string_view bytes);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_DIGEST_H_
