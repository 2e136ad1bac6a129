#include "base/url.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/foreign_data.h"

namespace penstock {

std::string UrlForShow(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  const size_t at = url.rfind('@');
  if (at == std::string_view::npos) return std::string(url);
  const size_t scheme = url.find("://");
  return absl::StrCat(std::string(url.substr(0, scheme == std::string_view::npos ? 0 : scheme + 3)), "...",
                      std::string(url.substr(at)));
}

std::string GlobForShow(std::string_view glob) {
  const size_t scheme = glob.find("://");
  if (scheme == std::string_view::npos) return std::string(glob);
  const bool web = absl::AsciiStrToLower(std::string(glob.substr(0, 4))) == "http";
  const std::string_view place = glob.substr(scheme + 3);
  const bool has_user = place.substr(0, place.find('/')).find_first_of("@:") != std::string_view::npos &&
                        place.find('@') != std::string_view::npos;
  return web || has_user ? UrlForShow(glob) : std::string(glob);
}

std::string WhyNoUrl(std::string_view path, const std::vector<std::string>& schemes) {
  const size_t colon = path.find("://");
  if (colon == std::string_view::npos || colon == 0) return "";
  const std::string scheme(path.substr(0, colon));
  if (!std::all_of(scheme.begin(), scheme.end(), [](unsigned char c) { return std::isalnum(c) || c == '+'; }))
    return "";
  if (std::find(schemes.begin(), schemes.end(), scheme) != schemes.end()) return "";
  if (IsConvertibleUrl(path)) {
    return absl::StrCat("\"", UrlForShow(path), "\" is a data set of Hugging Face; ", ConvertHint(path));
  }
  const std::string url = absl::StrCat("\"", UrlForShow(path), "\" is a URL; ");
  if (scheme == "file") {
    if (path.substr(colon + 3, 1) == "/") return "";
    return absl::StrCat(url, "after file:// comes an absolute path: file:///data/train-*");
  }
  const std::string small = absl::AsciiStrToLower(scheme);
  if (small != scheme) return absl::StrCat(url, "write its scheme in small letters: ", small, "://...");
  std::string read = "only files";
  for (size_t i = 0; i < schemes.size(); ++i) {
    absl::StrAppend(&read, i + 1 == schemes.size() ? " and " : ", ", schemes[i], "://");
  }
  return absl::StrCat(url, read, " are read: mount the storage, or copy the shards, and give their path");
}

std::string WithoutFileScheme(std::string_view path) {
  constexpr std::string_view kFile = "file:///";
  return std::string(path.substr(0, kFile.size()) == kFile ? path.substr(kFile.size() - 1) : path);
}

std::string WithoutLastSlashes(std::string url) {
  while (!url.empty() && url.back() == '/') url.pop_back();
  return url;
}

}  // namespace penstock
