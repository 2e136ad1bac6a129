#include "pipeline/storage/object/common/object_name.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/url.h"

namespace penstock::storage {
namespace {

struct NamePrefix {
  absl::string_view prefix;
  absl::string_view place;  // noun for the first part after the prefix
};

// By ObjectScheme.
constexpr std::array<NamePrefix, kObjectSchemes> kSchemes = {{
    {"s3://", "bucket"},
    {"gs://", "bucket"},
    {"az://", "container"},
    {"http://", "host"},
    {"https://", "host"},
}};

// Returns all prefixes as a text, such as "s3://, gs:// and az://".
std::string PrefixList() {
  std::string list;
  for (size_t i = 0; i < kSchemes.size(); ++i) {
    absl::StrAppend(&list, i == 0 ? "" : i + 1 == kSchemes.size() ? " and " : ", ", kSchemes[i].prefix);
  }
  return list;
}

bool IsOfBucket(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
}
bool IsOfHost(char c) { return IsOfBucket(c) || c == ':' || c == '[' || c == ']'; }

// Returns the port in "host:port", also after an address in brackets, or "" if there is none.
absl::string_view PortOf(absl::string_view place) {
  const size_t bracket = place.rfind(']');
  const size_t colon = place.find(':', bracket == absl::string_view::npos ? 0 : bracket);
  return colon == absl::string_view::npos ? "" : place.substr(colon + 1);
}

}  // namespace

std::vector<std::string> ObjectSchemes() {
  std::vector<std::string> schemes;
  for (const NamePrefix& scheme : kSchemes) schemes.emplace_back(scheme.prefix.substr(0, scheme.prefix.find(':')));
  return schemes;
}

absl::StatusOr<ObjectName> ParseObjectName(absl::string_view name) {
  for (size_t i = 0; i < kSchemes.size(); ++i) {
    const auto& [prefix, what] = kSchemes[i];
    if (!absl::StartsWith(name, prefix)) continue;
    const auto scheme = static_cast<ObjectScheme>(i);
    absl::string_view rest = name.substr(prefix.size());
    const size_t slash = std::min(rest.find('/'), rest.size());
    ObjectName parsed{.scheme = scheme, .place = std::string(rest.substr(0, slash)), .key = {}};
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    parsed.key = std::string(rest);
    const bool bucket = what != "host";
    if (parsed.place.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("\"", UrlForShow(std::string_view(name.data(), name.size())),
                                                     "\" names no ", what, "; write ", prefix, what, "/..."));
    }
    if (parsed.place.find('@') != std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a user or a password in a URL would be visible to all readers of the job; leave out the part before '@' in ",
          prefix, "...", parsed.place.substr(parsed.place.rfind('@'))));
    }
    // Azure has two system containers, $root and $web.
    const bool of_system = scheme == ObjectScheme::kAzure && (parsed.place == "$root" || parsed.place == "$web");
    if (!of_system && !std::all_of(parsed.place.begin(), parsed.place.end(), bucket ? IsOfBucket : IsOfHost)) {
      return absl::InvalidArgumentError(absl::StrCat("what follows ", prefix, " in \"",
                                                     UrlForShow(std::string_view(name.data(), name.size())),
                                                     "\" is not a ", what));
    }
    // The '@' of "https://user:word/...@host" comes after the first '/'. The word is not a port, and must not appear in
    // a message.
    const absl::string_view port = bucket ? "" : PortOf(parsed.place);
    if (!std::all_of(port.begin(), port.end(), [](unsigned char c) { return absl::ascii_isdigit(c); })) {
      return absl::InvalidArgumentError(
          absl::StrCat(prefix, parsed.place.substr(0, parsed.place.size() - port.size()),
                       "...: the part after a host's ':' must be a port number; a user or a password is not accepted"));
    }
    if (!bucket && parsed.key.find_first_of("?#") != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat(prefix, parsed.place, "/", parsed.key.substr(0, parsed.key.find_first_of("?#")),
                       ": the part after '?' or '#' in a URL may be secret and is not accepted"));
    }
    return parsed;
  }
  return absl::InvalidArgumentError(absl::StrCat("\"", UrlForShow(std::string_view(name.data(), name.size())),
                                                 "\" is not the name of an object; object names begin with ",
                                                 PrefixList()));
}

std::string ToString(const ObjectName& name) {
  return absl::StrCat(kSchemes[static_cast<size_t>(name.scheme)].prefix, name.place, name.key.empty() ? "" : "/",
                      name.key);
}

std::string PercentEncoded(absl::string_view text, absl::string_view kept) {
  constexpr absl::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || absl::string_view("-._~").find(c) != absl::string_view::npos ||
        kept.find(c) != absl::string_view::npos) {
      out.push_back(c);
    } else {
      out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return out;
}

}  // namespace penstock::storage
