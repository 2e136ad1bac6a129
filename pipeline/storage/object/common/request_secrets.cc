#include "pipeline/storage/object/common/request_secrets.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace penstock::storage {
namespace {

// Headers with a secret value, and such fields of URLs and forms.
constexpr absl::string_view kSecretHeaders[] = {"authorization", "x-amz-security-token", "x-amz-sso_bearer_token",
                                                "x-aws-ec2-metadata-token", "x-identity-header"};
constexpr absl::string_view kSecretFields[] = {"sig",           "upload_id",     "assertion",     "client_assertion",
                                               "client_secret", "refresh_token", "subject_token", "WebIdentityToken"};
constexpr absl::string_view kForm = "application/x-www-form-urlencoded";
constexpr size_t kShortest = 4;  // shorter values would also match parts of words

template <size_t n>
bool IsOneOf(absl::string_view name, const absl::string_view (&names)[n]) {
  return std::any_of(std::begin(names), std::end(names),
                     [name](absl::string_view each) { return absl::EqualsIgnoreCase(name, each); });
}

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
  bool is_form = false;
  for (const std::string& header : request.headers) {
    const size_t colon = header.find(':');
    if (colon == std::string::npos) continue;
    const absl::string_view value = absl::StripAsciiWhitespace(absl::string_view(header).substr(colon + 1));
    const absl::string_view name = absl::string_view(header).substr(0, colon);
    if (absl::EqualsIgnoreCase(name, "content-type")) is_form = value == kForm;
    if (!IsOneOf(name, kSecretHeaders)) continue;
    add(value);
    const size_t blank = value.find(' ');  // after "Bearer", for example
    if (blank != absl::string_view::npos) add(value.substr(blank + 1));
  }
  for (const std::string& secret : request.secrets) add(secret);
  const auto add_fields = [&add](absl::string_view fields) {
    for (const absl::string_view field : absl::StrSplit(fields, '&')) {
      const size_t equals = field.find('=');
      if (equals == absl::string_view::npos || !IsOneOf(field.substr(0, equals), kSecretFields)) continue;
      add(field.substr(equals + 1));
      add(Decoded(field.substr(equals + 1)));
    }
  };
  const size_t question = request.url.find('?');
  if (question != std::string::npos) add_fields(absl::string_view(request.url).substr(question + 1));
  if (is_form) add_fields(request.body);
  std::sort(secrets.begin(), secrets.end(),
            [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return secrets;
}

void Hide(const std::vector<std::string>& secrets, HttpResponse* response) {
  for (const std::string& secret : secrets) absl::StrReplaceAll({{secret, "(hidden)"}}, &response->body);
}

}  // namespace penstock::storage
