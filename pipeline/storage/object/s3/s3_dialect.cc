#include "pipeline/storage/object/s3/s3_dialect.h"

#include <pugixml.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "base/url.h"

namespace penstock::storage {
namespace {

constexpr char kFirstRegion[] = "us-east-1";

std::string TextOf(const pugi::xml_document& document, const char* field) {
  return document.document_element().child(field).text().as_string();
}

bool IsPlainName(const std::string& bucket) { return bucket.find_first_of("._") == std::string::npos; }

}  // namespace

S3Options S3Options::FromEnvironment(const Environment& environment) {
  S3Options options;
  options.endpoint = environment.variable("AWS_ENDPOINT_URL_S3");
  if (options.endpoint.empty()) options.endpoint = environment.variable("AWS_ENDPOINT_URL");
  options.endpoint = WithoutLastSlashes(options.endpoint);
  options.region = environment.variable("AWS_REGION");
  if (options.region.empty()) options.region = environment.variable("AWS_DEFAULT_REGION");
  options.is_signed = !Says(environment, "PENSTOCK_S3_UNSIGNED");
  options.path_style = !options.endpoint.empty();
  options.now = environment.now;
  return options;
}

S3Dialect::S3Dialect(S3Options options, AwsKeySource* keys)
    : options_(std::move(options)), keys_(keys), clock_(options_.now) {}

void S3Dialect::Prepare(const ObjectName& name, CallDone<bool> done) {
  if (!options_.is_signed) return std::move(done)(true);
  keys_->Get([name, done = std::move(done)](const absl::StatusOr<AwsKeys>& keys) mutable {
    std::move(done)(Prepared(name, keys.status()));
  });
}

std::string S3Dialect::RegionOf(const std::string& bucket) {
  MutexLock lock(&mutex_);
  const auto found = regions_.find(bucket);
  if (found != regions_.end()) return found->second;
  return options_.region.empty() ? kFirstRegion : options_.region;
}

bool S3Dialect::LearnRegion(const std::string& bucket, const std::string& region) {
  if (region.empty() || region == RegionOf(bucket)) return false;
  MutexLock lock(&mutex_);
  regions_[bucket] = region;
  return true;
}

HttpRequest S3Dialect::Request(HttpRequest::Method method, const ObjectName& name, const std::string& key,
                               const Pairs& query, const std::map<std::string, std::string>& headers,
                               std::string body) {
  const std::string region = RegionOf(name.place);
  const bool in_path = options_.path_style || !IsPlainName(name.place);
  std::string base = options_.endpoint;
  if (base.empty()) base = absl::StrCat("https://s3.", region, ".amazonaws.com");
  const size_t host_at = base.find("://") + 3;
  if (!in_path) base.insert(host_at, name.place + ".");

  AwsRequest to_sign;
  to_sign.method = NameOf(method);
  const size_t path_at = std::min(base.find('/', host_at), base.size());
  to_sign.host = base.substr(host_at, path_at - host_at);
  to_sign.path =
      absl::StrCat(base.substr(path_at), in_path ? absl::StrCat("/", name.place) : "", "/", PercentEncoded(key, "/"));
  to_sign.query = query;
  to_sign.headers = headers;
  to_sign.region = region;
  to_sign.time = clock_.Now();
  to_sign.body = std::move(body);
  HttpRequest request;
  request.method = method;
  request.url = absl::StrCat(base.substr(0, path_at), to_sign.path, query.empty() ? "" : "?", AwsQuery(query));
  for (const auto& [header, value] : headers) request.headers.push_back(absl::StrCat(header, ": ", value));
  if (options_.is_signed) {
    for (const auto& [header, value] : AwsSignedHeaders(to_sign, keys_->Current())) {
      request.headers.push_back(absl::StrCat(header, ": ", value));
    }
  }
  request.body = std::move(to_sign.body);
  return request;
}

// Requests the first byte, because an error response to HEAD has no body with the reason.
HttpRequest S3Dialect::Head(const ObjectName& name) {
  return Request(HttpRequest::Method::kGet, name, name.key, {}, {{"range", "bytes=0-0"}});
}

HttpRequest S3Dialect::Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) {
  std::map<std::string, std::string> headers = {{"range", absl::StrCat("bytes=", offset, "-", offset + length - 1)}};
  if (!state.tag.empty()) headers["if-match"] = state.tag;
  return Request(HttpRequest::Method::kGet, name, name.key, {}, headers);
}

absl::StatusOr<HttpRequest> S3Dialect::List(const ObjectName& name, const std::string& page, size_t most) {
  Pairs query = {{"list-type", "2"}, {"delimiter", "/"}, {"max-keys", absl::StrCat(most)}};
  if (!name.key.empty()) query.emplace_back("prefix", name.key + "/");
  if (!page.empty()) query.emplace_back("continuation-token", page);
  return Request(HttpRequest::Method::kGet, name, "", query, {});
}

absl::StatusOr<FileInfo> S3Dialect::StateOf(const ObjectName& name, const HttpResponse& response) {
  return StateOfHeaders(name, response);
}

absl::StatusOr<ObjectPage> S3Dialect::PageOf(const ObjectName& name, const HttpResponse& response) {
  pugi::xml_document document;
  const pugi::xml_node root = document.load_buffer(response.body.data(), response.body.size())
                                  ? document.child("ListBucketResult")
                                  : pugi::xml_node();
  if (!root) return absl::UnavailableError(absl::StrCat(ToString(name), ": the answer to a listing is none"));
  const size_t prefix = name.key.empty() ? 0 : name.key.size() + 1;
  ObjectPage page;
  for (const pugi::xml_node& entry : root.children("Contents")) {
    const std::string key = entry.child("Key").text().as_string();
    if (key.size() <= prefix || key.back() == '/') continue;  // some tools create an object for the folder itself
    ListedObject object{.name = key.substr(prefix), .folder = false, .info = {}};
    object.info.tag = entry.child("ETag").text().as_string();
    if (!absl::SimpleAtoi(entry.child("Size").text().as_string(), &object.info.size)) {
      return absl::UnavailableError(absl::StrCat(ToString(name), ": a listing without the size of ", key));
    }
    page.objects.push_back(std::move(object));
  }
  for (const pugi::xml_node& entry : root.children("CommonPrefixes")) {
    const std::string key = entry.child("Prefix").text().as_string();
    if (key.size() <= prefix + 1 || key.back() != '/') continue;
    page.objects.push_back({.name = key.substr(prefix, key.size() - prefix - 1), .folder = true, .info = {}});
  }
  if (absl::string_view(root.child("IsTruncated").text().as_string()) == "true") {
    page.next = root.child("NextContinuationToken").text().as_string();
    if (page.next.empty())
      return absl::UnavailableError(absl::StrCat(ToString(name), ": a listing that does not go on"));
  }
  return page;
}

ObjectError S3Dialect::ErrorOf(const ObjectName& name, const HttpResponse& response) {
  pugi::xml_document document;
  document.load_buffer(response.body.data(), response.body.size());
  const std::string code = TextOf(document, "Code"), message = TextOf(document, "Message");
  std::string region = HeaderOf(response, "x-amz-bucket-region");
  if (region.empty()) region = TextOf(document, "Region");
  ObjectError error = HttpError(name, response, absl::StrCat(code, message.empty() ? "" : ": ", message));
  if (response.status == 404 && code == "NoSuchBucket") {
    error.status = absl::NotFoundError(absl::StrCat("there is no bucket s3://", name.place));
  }
  // Two writes conflicted. A retry shows which of them holds.
  if (response.status == 409 && code == "ConditionalRequestConflict") error.cure = ObjectError::Cure::kAgain;
  // The bucket is in another region, which the response names.
  if ((response.status == 301 || response.status == 307 || response.status == 400 || response.status == 403) &&
      LearnRegion(name.place, region)) {
    error.cure = ObjectError::Cure::kRenewed;
    return error;
  }
  if (code == "RequestTimeTooSkewed" && clock_.Learn(response)) {
    error.cure = ObjectError::Cure::kRenewed;
    return error;
  }
  if (code == "RequestTimeTooSkewed") {
    error.status = absl::PermissionDeniedError(
        absl::StrCat(ToString(name), ": the storage's clock and this machine's differ; set the machine's time"));
  }
  const bool over = code == "ExpiredToken" || code == "InvalidAccessKeyId" || code == "InvalidToken" ||
                    code == "TokenRefreshRequired";
  if (options_.is_signed && over && keys_->Forget(keys_->Current())) {
    error.cure = ObjectError::Cure::kRenewed;
    return error;
  }
  if (code == "SlowDown" || code == "RequestTimeout" || code == "InternalError" || code == "ServiceUnavailable") {
    error.cure = ObjectError::Cure::kAgain;
    error.status = absl::UnavailableError(error.status.message());
  }
  if (response.status == 403 && !options_.is_signed) {
    error.status = absl::PermissionDeniedError(
        absl::StrCat(error.status.message(), "; requests are not signed, because PENSTOCK_S3_UNSIGNED is set"));
  }
  return error;
}

}  // namespace penstock::storage
