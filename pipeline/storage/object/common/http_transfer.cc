#include "pipeline/storage/object/common/http_transfer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/trusted_certificates.h"
#include "base/version.h"

namespace penstock::storage {
namespace {

constexpr size_t kMostHeaders = 200;

const std::string& UserAgent() {
  static const std::string name = absl::StrCat("penstock/", std::string(Version()));
  return name;
}

size_t TakeHeader(char* data, size_t size, size_t count, void* user) {
  auto* transfer = static_cast<HttpTransfer*>(user);
  transfer->heard_at = transfer->clock->Now();
  const absl::string_view line(data, size * count);
  auto& headers = transfer->response.headers;
  if (absl::StartsWith(line, "HTTP/")) headers.clear();  // a redirect led to another answer
  const size_t colon = line.find(':');
  if (colon != absl::string_view::npos && headers.size() < kMostHeaders) {
    headers[absl::AsciiStrToLower(line.substr(0, colon))] =
        std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return size * count;
}

bool IsSuccess(int status) { return status >= 200 && status < 300; }

// The parts must have room for the bytes.
void IntoParts(const char* data, size_t bytes, HttpTransfer* transfer) {
  while (bytes > 0) {
    const ReadPart& part = transfer->request->parts[transfer->part];
    const size_t now = std::min(bytes, part.bytes - transfer->of_part);
    if (part.out != nullptr) std::memcpy(part.out + transfer->of_part, data, now);
    data += now;
    bytes -= now;
    transfer->of_part += now;
    if (transfer->of_part == part.bytes) {
      ++transfer->part;
      transfer->of_part = 0;
    }
  }
}

size_t TakeBody(char* data, size_t size, size_t count, void* user) {
  auto* transfer = static_cast<HttpTransfer*>(user);
  transfer->heard_at = transfer->clock->Now();
  const size_t bytes = size * count;
  const HttpRequest& request = *transfer->request;
  HttpResponse& response = transfer->response;
  response.status = transfer->Status();
  // The text of an error does not belong in the caller's memory.
  const bool to_caller = !request.parts.empty() && IsSuccess(response.status);
  if (to_caller && response.bytes == 0 && request.is_wanted != nullptr && !request.is_wanted(response)) {
    transfer->unwanted = true;
    return 0;
  }
  const size_t room = (to_caller ? request.capacity : HttpClient::kMostBody) - response.bytes;
  if (bytes > room) {
    transfer->too_long = true;
    return 0;
  }
  if (to_caller) {
    IntoParts(data, bytes, transfer);
  } else {
    response.body.append(data, bytes);
  }
  response.bytes += bytes;
  return bytes;
}

}  // namespace

int HttpTransfer::Status() const {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

absl::Status HttpTransfer::ErrorOf(CURLcode code) const {
  if (too_long && !request->parts.empty() && IsSuccess(response.status)) {
    return absl::UnavailableError(
        absl::StrCat("the answer is longer than the ", request->capacity, " requested bytes"));
  }
  if (too_long) {
    const std::string text =
        absl::StrCat("the answer is longer than ", HttpClient::kMostBody, " bytes, the most that is read of a listing");
    // The same request would get the same answer.
    return IsSuccess(response.status) ? absl::FailedPreconditionError(text) : absl::UnavailableError(text);
  }
  const char* const text = error[0] != '\0' ? error.data() : curl_easy_strerror(code);
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) return absl::InvalidArgumentError(text);
  return absl::UnavailableError(text);
}

HttpTransfer::HttpTransfer(const HttpRequest* asked, CURL* handle, void* owner, Clock* time)
    : request(asked), easy(handle), user(owner), clock(time), heard_at(time->Now()) {
  curl_easy_reset(handle);
  const auto set = [handle](CURLoption option, auto value) { curl_easy_setopt(handle, option, value); };
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_ERRORBUFFER, error.data());
  set(CURLOPT_URL, request->url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, request->follow_redirects ? 1L : 0L);
  set(CURLOPT_MAXREDIRS, 5L);
  set(CURLOPT_NOSIGNAL, 1L);
  // A proxy would reach another machine's service, and must not see the request or the keys.
  if (request->direct) set(CURLOPT_NOPROXY, "*");
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request->connecting / kMillisecond));
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, std::max<long>(1, static_cast<long>(request->silence / kSecond)));
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  // A connection that has been idle this long may be dead. After a network failure, each dead connection would cost one
  // such silence, one after the other.
  set(CURLOPT_MAXAGE_CONN, std::max<long>(1, static_cast<long>(request->silence / kSecond)));
  if (request->new_connection) {
    set(CURLOPT_FRESH_CONNECT, 1L);
    set(CURLOPT_FORBID_REUSE, 1L);
  }
  // HTTP/1.1, one connection per request: a lost packet delays one range only, and no server limits streams.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_BUFFERSIZE, 64L << 10);
  set(CURLOPT_USERAGENT, UserAgent().c_str());
  if (!TrustedCertificatesFile().empty()) set(CURLOPT_CAINFO, TrustedCertificatesFile().c_str());
  set(CURLOPT_HEADERFUNCTION, &TakeHeader);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &TakeBody);
  set(CURLOPT_WRITEDATA, this);
  for (const std::string& header : request->headers) headers = curl_slist_append(headers, header.c_str());
  if (request->method == HttpRequest::Method::kHead) {
    set(CURLOPT_NOBODY, 1L);
  } else if (request->method != HttpRequest::Method::kGet) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request->body.size()));
    set(CURLOPT_POSTFIELDS, request->body.data());
    if (request->method == HttpRequest::Method::kPut) set(CURLOPT_CUSTOMREQUEST, "PUT");
    if (request->method == HttpRequest::Method::kDelete) set(CURLOPT_CUSTOMREQUEST, "DELETE");
    // Sends the body without "Expect: 100-continue". Also keeps libcurl from labelling the body as a form.
    headers = curl_slist_append(headers, "Expect:");
    const auto names_type = [](const std::string& header) {
      return absl::StartsWithIgnoreCase(header, "content-type:");
    };
    if (std::none_of(request->headers.begin(), request->headers.end(), names_type)) {
      headers = curl_slist_append(headers, "Content-Type:");
    }
  }
  set(CURLOPT_HTTPHEADER, headers);
}

}  // namespace penstock::storage
