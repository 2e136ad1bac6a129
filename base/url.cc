#include "base/url.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"

namespace penstock {

std::string WhyNoUrl(std::string_view path) {
  const size_t colon = path.find("://");
  if (colon == std::string_view::npos || colon == 0) return "";
  const std::string scheme(path.substr(0, colon));
  if (!std::all_of(scheme.begin(), scheme.end(), [](unsigned char c) { return std::isalnum(c) || c == '+'; }))
    return "";
  if (scheme == "s3" || scheme == "http" || scheme == "https") return "";
  const std::string url = absl::StrCat("\"", std::string(path), "\" is a URL; ");
  if (scheme == "file") return absl::StrCat(url, "write ", std::string(path.substr(colon + 3)));
  return absl::StrCat(url,
                      "only files, s3://, http:// and https:// are read: mount the bucket (gcsfuse, mount-s3, rclone "
                      "mount) or copy the shards, and "
                      "give their path");
}

}  // namespace penstock
