#include "pipeline/storage/object/common/request_secrets.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace penstock::storage {
namespace {

constexpr size_t kShortest = 4;  // shorter values would also match parts of words

// Decodes "%2F" and the like.
std::string Decoded(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      out.push_back(static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16)));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> SecretsOf(const HttpRequest& request) {
  std::vector<std::string> secrets;
  const auto add = [&secrets](absl::string_view text) {
    text = absl::StripAsciiWhitespace(text);
    if (text.size() >= kShortest) secrets.emplace_back(text);
  };
  for (const std::string& header : request.headers) {
    const size_t colon = header.find(':');
    if (colon == std::string::npos) continue;
    const absl::string_view value = absl::StripAsciiWhitespace(absl::string_view(header).substr(colon + 1));
    if (absl::StartsWithIgnoreCase(header, "authorization:")) {
      add(value);
      const size_t blank = value.find(' ');  // after "Bearer", for example
      if (blank != absl::string_view::npos) add(value.substr(blank + 1));
    } else if (absl::StartsWithIgnoreCase(header, "x-amz-security-token:")) {
      add(value);
    }
  }
  const size_t question = request.url.find('?');
  if (question != std::string::npos) {
    for (const absl::string_view field : absl::StrSplit(absl::string_view(request.url).substr(question + 1), '&')) {
      const size_t equals = field.find('=');
      if (equals == absl::string_view::npos || !absl::EqualsIgnoreCase(field.substr(0, equals), "sig")) continue;
      add(field.substr(equals + 1));
      add(Decoded(field.substr(equals + 1)));
    }
  }
  std::sort(secrets.begin(), secrets.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return secrets;
}

void Hide(const std::vector<std::string>& secrets, HttpResponse* response) {
  for (const std::string& secret : secrets) absl::StrReplaceAll({{secret, "(hidden)"}}, &response->body);
}

}  // namespace penstock::storage
