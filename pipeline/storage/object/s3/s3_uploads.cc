#include "pipeline/storage/object/s3/s3_uploads.h"

#include <map>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock::storage {
namespace {

constexpr Nanos kCompleting = 120 * kSecond;  // S3 joins the parts, which may take minutes

std::map<std::string, std::string> ObjectHeaders(const WriteCondition& condition) {
  if (condition.is_new) return {{"if-none-match", "*"}};
  if (!condition.tag.empty()) return {{"if-match", condition.tag}};
  return {};
}

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c;
    }
  }
  return out;
}

class S3Uploads final : public ObjectUploads {
 public:
  explicit S3Uploads(S3Dialect* s3) : s3_(s3) {}

  HttpRequest Put(const ObjectName& name, std::string body, const WriteCondition& condition) override {
    return s3_->Request(HttpRequest::Method::kPut, name, name.key, {}, ObjectHeaders(condition), std::move(body));
  }

  HttpRequest Remove(const ObjectName& name, const WriteCondition& condition) override {
    return s3_->Request(HttpRequest::Method::kDelete, name, name.key, {}, ObjectHeaders(condition));
  }

  std::string TagOf(const HttpResponse& response) override { return HeaderOf(response, "etag"); }

  HttpRequest Begin(const ObjectName& name, const WriteCondition& condition) override {
    return s3_->Request(HttpRequest::Method::kPost, name, name.key, {{"uploads", ""}}, {});
  }

  absl::StatusOr<std::string> IdOf(const ObjectName& name, const HttpResponse& response) override {
    pugi::xml_document document;
    document.load_buffer(response.body.data(), response.body.size());
    std::string id = document.document_element().child("UploadId").text().as_string();
    if (id.empty()) return absl::UnavailableError(absl::StrCat(ToString(name), ": the answer names no upload"));
    return id;
  }

  HttpRequest Send(const ObjectName& name, const std::string& id, const UploadPart& part, std::string body) override {
    return s3_->Request(HttpRequest::Method::kPut, name, name.key,
                        {{"partNumber", absl::StrCat(part.number + 1)}, {"uploadId", id}}, {}, std::move(body));
  }

  absl::StatusOr<std::string> PartOf(const ObjectName& name, const UploadPart& part,
                                     const HttpResponse& response) override {
    std::string tag = HeaderOf(response, "etag");
    if (tag.empty()) return absl::UnavailableError(absl::StrCat(ToString(name), ": the answer to a part has no ETag"));
    return tag;
  }

  std::optional<HttpRequest> Complete(const ObjectName& name, const std::string& id,
                                      const std::vector<std::string>& parts, const WriteCondition& condition) override {
    std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    for (size_t i = 0; i < parts.size(); ++i) {
      absl::StrAppend(&body, "<Part><PartNumber>", i + 1, "</PartNumber><ETag>", Escaped(parts[i]), "</ETag></Part>");
    }
    body += "</CompleteMultipartUpload>";
    auto headers = ObjectHeaders(condition);
    headers["content-type"] = "application/xml";
    HttpRequest request = s3_->Request(HttpRequest::Method::kPost, name, name.key, {{"uploadId", id}}, headers, body);
    request.silence = kCompleting;
    return request;
  }

  // S3 may begin a success response before it knows the result, so the body may hold an error.
  absl::Status CheckComplete(const ObjectName& name, const HttpResponse& response) override {
    pugi::xml_document document;
    document.load_buffer(response.body.data(), response.body.size());
    const pugi::xml_node root = document.document_element();
    if (absl::string_view(root.name()) != "Error") return absl::OkStatus();
    const absl::string_view code = root.child("Code").text().as_string();
    const std::string text =
        absl::StrCat(ToString(name), ": completing it: ", code, ": ", root.child("Message").text().as_string());
    return code == "InternalError" || code == "SlowDown" ? absl::UnavailableError(text)
                                                         : absl::FailedPreconditionError(text);
  }

  std::optional<HttpRequest> Abort(const ObjectName& name, const std::string& id) override {
    return s3_->Request(HttpRequest::Method::kDelete, name, name.key, {{"uploadId", id}}, {});
  }

  std::optional<HttpRequest> ListPending(const ObjectName& folder) override {
    return s3_->Request(HttpRequest::Method::kGet, folder, "",
                        {{"uploads", ""}, {"prefix", folder.key.empty() ? "" : folder.key + "/"}}, {});
  }

  std::vector<PendingUpload> PendingOf(const ObjectName& folder, const HttpResponse& response) override {
    pugi::xml_document document;
    document.load_buffer(response.body.data(), response.body.size());
    std::vector<PendingUpload> pending;
    const std::string prefix = folder.key.empty() ? "" : folder.key + "/";
    for (const pugi::xml_node& upload : document.document_element().children("Upload")) {
      PendingUpload each{.name = folder, .id = upload.child("UploadId").text().as_string()};
      each.name.key = upload.child("Key").text().as_string();
      // Some storages ignore the prefix.
      if (!each.id.empty() && absl::StartsWith(each.name.key, prefix)) pending.push_back(std::move(each));
    }
    return pending;
  }

 private:
  S3Dialect* const s3_;
};

}  // namespace

std::unique_ptr<ObjectUploads> MakeS3Uploads(S3Dialect* s3) { return std::make_unique<S3Uploads>(s3); }

}  // namespace penstock::storage
