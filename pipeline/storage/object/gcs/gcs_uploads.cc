#include "pipeline/storage/object/gcs/gcs_uploads.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"

namespace penstock {

HttpRequest GcsUploads::New(const ObjectName& name, const char* type, const WriteCondition& condition) {
  std::vector<std::pair<std::string, std::string>> query = {{"uploadType", type}, {"name", name.key}};
  if (condition.is_new) query.emplace_back("ifGenerationMatch", "0");
  if (!condition.tag.empty()) query.emplace_back("ifGenerationMatch", condition.tag);
  HttpRequest request = gcs_->Request("/upload/storage/v1/b/", name, "", query);
  request.method = HttpRequest::Method::kPost;
  return request;
}

HttpRequest GcsUploads::Put(const ObjectName& name, std::string body, const WriteCondition& condition) {
  HttpRequest request = New(name, "media", condition);
  request.headers.emplace_back("Content-Type: application/octet-stream");
  request.body = std::move(body);
  return request;
}

HttpRequest GcsUploads::Remove(const ObjectName& name, const WriteCondition& condition) {
  std::vector<std::pair<std::string, std::string>> query;
  if (!condition.tag.empty()) query.emplace_back("ifGenerationMatch", condition.tag);
  HttpRequest request = gcs_->Request("/storage/v1/b/", name, name.key, query);
  request.method = HttpRequest::Method::kDelete;
  return request;
}

std::string GcsUploads::TagOf(const HttpResponse& response) {
  const auto json = nlohmann::json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("generation")) return "";
  const nlohmann::json& generation = json["generation"];
  return generation.is_string() ? generation.get<std::string>() : generation.dump();
}

HttpRequest GcsUploads::Begin(const ObjectName& name, const WriteCondition& condition) {
  HttpRequest request = New(name, "resumable", condition);
  request.headers.emplace_back("X-Upload-Content-Type: application/octet-stream");
  return request;
}

absl::StatusOr<std::string> GcsUploads::IdOf(const ObjectName& name, const HttpResponse& response) {
  std::string url = HeaderOf(response, "location");
  if (url.empty()) return absl::UnavailableError(absl::StrCat(ToString(name), ": the answer names no upload"));
  return url;
}

HttpRequest GcsUploads::Send(const ObjectName& name, const std::string& id, const UploadPart& part, std::string body) {
  HttpRequest request;
  request.method = HttpRequest::Method::kPut;
  request.url = id;
  // The storage ignores bytes that it already has, so a part can be sent again.
  request.headers = {absl::StrCat("Content-Range: bytes ", part.offset, "-", part.offset + part.size - 1, "/",
                                  part.last ? absl::StrCat(part.offset + part.size) : "*")};
  request.body = std::move(body);
  return request;
}

absl::StatusOr<std::string> GcsUploads::PartOf(const ObjectName& name, const UploadPart& part,
                                               const HttpResponse& response) {
  const bool complete = response.status != 308;
  const bool all = HeaderOf(response, "range") == absl::StrCat("bytes=0-", part.offset + part.size - 1);
  if (part.last ? complete : !complete && all) return "";
  return absl::UnavailableError(
      absl::StrCat(ToString(name), ": the service accepted less than the ", part.size, " bytes of a part"));
}

std::optional<HttpRequest> GcsUploads::Complete(const ObjectName& name, const std::string& id,
                                                const std::vector<std::string>& parts,
                                                const WriteCondition& condition) {
  return std::nullopt;
}

std::optional<HttpRequest> GcsUploads::Abort(const ObjectName& name, const std::string& id) {
  HttpRequest request;
  request.method = HttpRequest::Method::kDelete;
  request.url = id;
  return request;
}

}  // namespace penstock
