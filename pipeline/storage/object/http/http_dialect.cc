#include "pipeline/storage/object/http/http_dialect.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock::storage {

HttpRequest HttpDialect::Request(const ObjectName& name) const {
  HttpRequest request;
  request.url = ToString(name);
  request.follow_redirects = true;
  if (authorization_ != nullptr && name.scheme == ObjectScheme::kHttps) {
    const std::string value = authorization_->Value();
    if (!value.empty()) request.headers.push_back(absl::StrCat("Authorization: ", value));
  }
  return request;
}

HttpRequest HttpDialect::Head(const ObjectName& name) {
  HttpRequest request = Request(name);
  request.method = HttpRequest::Method::kHead;
  return request;
}

HttpRequest HttpDialect::Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) {
  HttpRequest request = Request(name);
  request.headers.push_back(absl::StrCat("Range: bytes=", offset, "-", offset + length - 1));
  // If-Match must not be used with a weak tag, which does not identify the bytes (RFC 9110, section 13.1.1). The tag of
  // the answer is compared in any case.
  if (absl::StartsWith(state.tag, "\"")) request.headers.push_back(absl::StrCat("If-Match: ", state.tag));
  return request;
}

absl::StatusOr<HttpRequest> HttpDialect::List(const ObjectName& name, const std::string& page, size_t most) {
  return absl::UnimplementedError(
      absl::StrCat(ToString(name), ": a web server does not list its files; name each shard, without * and ?"));
}

absl::StatusOr<FileInfo> HttpDialect::StateOf(const ObjectName& name, const HttpResponse& response) {
  return StateOfHeaders(name, response);
}

absl::StatusOr<ObjectPage> HttpDialect::PageOf(const ObjectName& name, const HttpResponse& response) {
  return absl::UnimplementedError(ToString(name));
}

ObjectError HttpDialect::ErrorOf(const ObjectName& name, const HttpResponse& response) {
  ObjectError error = HttpError(name, response, "");
  const absl::Status fault = authorization_ == nullptr ? absl::OkStatus() : authorization_->fault();
  if (!fault.ok() && (response.status == 401 || response.status == 403)) {
    error.status = absl::Status(error.status.code(), absl::StrCat(error.status.message(), "; ", fault.message()));
  }
  return error;
}

}  // namespace penstock::storage
