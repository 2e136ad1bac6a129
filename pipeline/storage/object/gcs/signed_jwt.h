// JSON web tokens, signed with a private key: RFC 7519 with RS256 (RFC 7518, section 3.3).
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_SIGNED_JWT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_SIGNED_JWT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock::storage {

// Returns the signed token. `header` and `claims` are JSON. `private_key` is PEM, and secret. InvalidArgument: it is no
// RSA key.
absl::StatusOr<std::string> SignedJwt(absl::string_view header, absl::string_view claims,
                                      absl::string_view private_key);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_SIGNED_JWT_H_
