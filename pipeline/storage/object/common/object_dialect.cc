#include "pipeline/storage/object/common/object_dialect.h"

#include <ctime>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace penstock::storage {
namespace {

constexpr Nanos kLongestAfter = 60 * kSecond;

// RFC 9110, section 10.2.3. Only seconds are supported; a date counts as 0.
Nanos RetryAfter(const HttpResponse& response) {
  int64_t seconds = 0;
  if (!absl::SimpleAtoi(HeaderOf(response, "retry-after"), &seconds) || seconds < 0) return 0;
  return std::min<Nanos>(seconds, kLongestAfter / kSecond) * kSecond;
}

}  // namespace

const char* NameOf(HttpRequest::Method method) {
  switch (method) {
    case HttpRequest::Method::kGet:
      return "GET";
    case HttpRequest::Method::kHead:
      return "HEAD";
    case HttpRequest::Method::kPost:
      return "POST";
    case HttpRequest::Method::kPut:
      return "PUT";
    case HttpRequest::Method::kDelete:
      return "DELETE";
  }
  return "";
}

std::string HeaderOf(const HttpResponse& response, const std::string& name) {
  const auto found = response.headers.find(name);
  return found == response.headers.end() ? "" : found->second;
}

absl::StatusOr<bool> Prepared(const ObjectName& name, const absl::Status& status) {
  if (status.ok()) return true;
  const std::string text = absl::StrCat(ToString(name), ": ", status.message());
  return absl::IsNotFound(status) ? absl::PermissionDeniedError(text) : absl::Status(status.code(), text);
}

ObjectError HttpError(const ObjectName& name, const HttpResponse& response, const std::string& why) {
  const std::string text = absl::StrCat(ToString(name), ": HTTP ", response.status, why.empty() ? "" : ": ", why);
  switch (response.status) {
    case 401:
    case 403:
      return {absl::PermissionDeniedError(text)};
    case 404:
    case 410:
      return {absl::NotFoundError(text)};
    case 412:
      return {absl::AbortedError(absl::StrCat(ToString(name), " changed since it was opened"))};
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
      return {absl::UnavailableError(text), ObjectError::Cure::kAgain, RetryAfter(response)};
    default:
      return {absl::UnavailableError(text)};
  }
}

absl::StatusOr<FileInfo> StateOfHeaders(const ObjectName& name, const HttpResponse& response) {
  FileInfo info;
  info.tag = HeaderOf(response, "etag");
  if (info.tag.empty()) info.tag = HeaderOf(response, "last-modified");
  // "bytes 0-99/1234", or "bytes */1234" if the range begins after the end.
  const std::string range = HeaderOf(response, "content-range");
  const std::string size = range.empty() ? HeaderOf(response, "content-length") : range.substr(range.rfind('/') + 1);
  if (!absl::SimpleAtoi(size, &info.size)) {
    return absl::InvalidArgumentError(absl::StrCat(ToString(name), ": the answer does not contain its size"));
  }
  return info;
}

}  // namespace penstock::storage
