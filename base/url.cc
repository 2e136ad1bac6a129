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
  for (const char* read : {"s3", "gs", "az", "http", "https"}) {
    if (scheme == read) return "";
  }
  const std::string url = absl::StrCat("\"", std::string(path), "\" is a URL; ");
  if (scheme == "file") {
    if (path.substr(colon + 3, 1) == "/") return "";
    return absl::StrCat(url, "after file:// comes an absolute path: file:///data/train-*");
  }
  return absl::StrCat(url,
                      "only files, s3://, gs://, az://, http:// and https:// are read: mount the storage, or copy the "
                      "shards, and give their path");
}

std::string WithoutFileScheme(std::string_view path) {
  constexpr std::string_view kFile = "file:///";
  return std::string(path.substr(0, kFile.size()) == kFile ? path.substr(kFile.size() - 1) : path);
}

}  // namespace penstock
