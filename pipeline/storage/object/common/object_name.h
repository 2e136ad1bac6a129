// Names of objects: "s3://bucket/key", "gs://bucket/key", "az://container/blob", "https://host/path".
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_NAME_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_NAME_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock::storage {

enum class ObjectScheme : uint8_t { kS3, kGcs, kAzure, kHttp, kHttps };
inline constexpr size_t kObjectSchemes = 5;  // number of schemes

struct ObjectName {
  ObjectScheme scheme = ObjectScheme::kS3;
  std::string place;  // Bucket or container. For HTTP the host, with its port if it has one.
  std::string key;    // Without leading '/'. Not percent-encoded; for HTTP as in the URL.

  bool operator==(const ObjectName&) const = default;
};

// Returns "s3" and the other schemes.
std::vector<std::string> ObjectSchemes();

// Parses a URL. InvalidArgument: another scheme; a missing bucket or host, or one with invalid characters; a port that
// is no number; '?' or '#' in an HTTP URL; a user or a password in the URL, which would appear in status and logs.
absl::StatusOr<ObjectName> ParseObjectName(absl::string_view name);

// Returns the URL of the object.
std::string ToString(const ObjectName& name);

// Percent-encodes all but letters, digits, '-', '.', '_', '~' (RFC 3986, section 2.3) and the characters in `kept`.
std::string PercentEncoded(absl::string_view text, absl::string_view kept = "");

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_OBJECT_NAME_H_
