// Names of objects: "s3://bucket/key", "gs://bucket/key", "az://container/blob", "https://host/path".
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_NAME_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_NAME_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace penstock {

enum class ObjectScheme : uint8_t { kS3, kGcs, kAzure, kHttp, kHttps };

struct ObjectName {
  ObjectScheme scheme = ObjectScheme::kS3;
  std::string place;  // the bucket or container; of HTTP the host, with its port if it has one
  std::string key;    // without a '/' before it, as it is (not percent-encoded; of HTTP as it stands in the URL)

  bool operator==(const ObjectName&) const = default;
};

// Whether a name is one of ours by its scheme; it may be wrong otherwise.
bool IsObjectName(std::string_view name);

// InvalidArgument: another scheme, no bucket or host, or one with characters that it cannot have; a user or a password
// in the URL, which would be seen in status and logs; '?' or '#' in a URL of HTTP.
absl::StatusOr<ObjectName> ParseObjectName(absl::string_view name);

// The name again.
std::string ToString(const ObjectName& name);

// Percent-encoded as RFC 3986 has it, section 2.3: all but letters, digits, '-', '.', '_', '~' and what is in `kept`.
std::string PercentEncoded(absl::string_view text, absl::string_view kept = "");

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_OBJECT_NAME_H_
