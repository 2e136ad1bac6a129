#include "pipeline/storage/object/azure/azure_signature.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "pipeline/storage/object/common/digest.h"

namespace penstock::storage {

std::string AzureStringToSign(const AzureRequest& request) {
  std::string text = absl::StrCat(request.method, "\n");
  for (const char* header :
       {"content-encoding", "content-language", "content-length", "content-md5", "content-type", "date",
        "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"}) {
    if (header == absl::string_view("content-length")) {
      absl::StrAppend(&text, request.body_size == 0 ? "" : absl::StrCat(request.body_size), "\n");
      continue;
    }
    const auto found = request.headers.find(header);
    absl::StrAppend(&text, found == request.headers.end() ? "" : found->second, "\n");
  }
  for (const auto& [name, value] : request.headers) {
    if (absl::StartsWith(name, "x-ms-")) absl::StrAppend(&text, name, ":", value, "\n");
  }
  absl::StrAppend(&text, "/", request.account, request.path);
  auto query = request.query;
  std::sort(query.begin(), query.end());
  for (const auto& [name, value] : query) absl::StrAppend(&text, "\n", name, ":", value);
  return text;
}

std::string AzureAuthorization(const AzureRequest& request, absl::string_view key) {
  return absl::StrCat("SharedKey ", request.account, ":",
                      absl::Base64Escape(HmacSha256(key, AzureStringToSign(request))));
}

std::string HttpDate(int64_t seconds) {
  return absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::FromUnixSeconds(seconds), absl::UTCTimeZone());
}

}  // namespace penstock::storage
