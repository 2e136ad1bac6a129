#include "pipeline/storage/object/gcs/gcs_uploads.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::storage {
namespace {

// The id of an upload is the URL of its session. It is secret, because it permits writing.
class GcsUploads final : public ObjectUploads {
 public:
  explicit GcsUploads(GcsDialect* gcs) : gcs_(gcs) {}

  HttpRequest Put(const ObjectName& name, std::string body, const WriteCondition& condition) override {
    HttpRequest request = New(name, "media", condition);
    request.headers.emplace_back("Content-Type: application/octet-stream");
    request.body = std::move(body);
    return request;
  }

  HttpRequest Remove(const ObjectName& name, const WriteCondition& condition) override {
    std::vector<std::pair<std::string, std::string>> query;
    if (!condition.tag.empty()) query.emplace_back("ifGenerationMatch", condition.tag);
    HttpRequest request = gcs_->Request("/storage/v1/b/", name, name.key, query);
    request.method = HttpRequest::Method::kDelete;
    return request;
  }

  std::string TagOf(const HttpResponse& response) override {
    const auto json = nlohmann::json::parse(response.body, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("generation")) return "";
    const nlohmann::json& generation = json["generation"];
    return generation.is_string() ? generation.get<std::string>() : generation.dump();
  }

  bool in_order() const override { return true; }
  HttpRequest Begin(const ObjectName& name, const WriteCondition& condition) override {
    HttpRequest request = New(name, "resumable", condition);
    request.headers.emplace_back("X-Upload-Content-Type: application/octet-stream");
    return request;
  }

  absl::StatusOr<std::string> IdOf(const ObjectName& name, const HttpResponse& response) override {
    std::string url = HeaderOf(response, "location");
    if (url.empty()) return absl::UnavailableError(absl::StrCat(ToString(name), ": the answer names no upload"));
    return url;
  }

  HttpRequest Send(const ObjectName& name, const std::string& id, const UploadPart& part, std::string body) override {
    HttpRequest request = OfSession(HttpRequest::Method::kPut, id);
    // The storage ignores bytes that it already has, so a part can be sent again.
    request.headers = {absl::StrCat("Content-Range: bytes ", part.offset, "-", part.offset + part.size - 1, "/",
                                    part.last ? absl::StrCat(part.offset + part.size) : "*")};
    request.body = std::move(body);
    return request;
  }

  absl::StatusOr<std::string> PartOf(const ObjectName& name, const UploadPart& part,
                                     const HttpResponse& response) override {
    const bool complete = response.status != 308;
    const bool all = HeaderOf(response, "range") == absl::StrCat("bytes=0-", part.offset + part.size - 1);
    if (part.last ? complete : !complete && all) return "";
    return absl::UnavailableError(
        absl::StrCat(ToString(name), ": the service accepted less than the ", part.size, " bytes of a part"));
  }

  std::optional<HttpRequest> Complete(const ObjectName& name, const std::string& id,
                                      const std::vector<std::string>& parts, const WriteCondition& condition) override {
    return std::nullopt;
  }

  std::optional<HttpRequest> Abort(const ObjectName& name, const std::string& id) override {
    return OfSession(HttpRequest::Method::kDelete, id);
  }

 private:
  static HttpRequest OfSession(HttpRequest::Method method, const std::string& url) {
    HttpRequest request;
    request.method = method;
    request.url = url;
    request.secrets = {url};
    const size_t host = url.find("://"), path = url.find('/', host == std::string::npos ? 0 : host + 3);
    if (path != std::string::npos) request.secrets.push_back(url.substr(path));  // as in a line of HTTP
    return request;
  }

  HttpRequest New(const ObjectName& name, const char* type, const WriteCondition& condition) {
    std::vector<std::pair<std::string, std::string>> query = {{"uploadType", type}, {"name", name.key}};
    if (condition.is_new) query.emplace_back("ifGenerationMatch", "0");
    if (!condition.tag.empty()) query.emplace_back("ifGenerationMatch", condition.tag);
    HttpRequest request = gcs_->Request("/upload/storage/v1/b/", name, "", query);
    request.method = HttpRequest::Method::kPost;
    return request;
  }

  GcsDialect* const gcs_;
};

}  // namespace

std::unique_ptr<ObjectUploads> MakeGcsUploads(GcsDialect* gcs) { return std::make_unique<GcsUploads>(gcs); }

}  // namespace penstock::storage
