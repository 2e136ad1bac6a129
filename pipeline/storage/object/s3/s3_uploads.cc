#include "pipeline/storage/object/s3/s3_uploads.h"

#include <map>
#include <pugixml.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace penstock {
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

}  // namespace

HttpRequest S3Uploads::Put(const ObjectName& name, std::string body, const WriteCondition& condition) {
  return s3_->Request(HttpRequest::Method::kPut, name, name.key, {}, ObjectHeaders(condition), std::move(body));
}

HttpRequest S3Uploads::Remove(const ObjectName& name, const WriteCondition& condition) {
  return s3_->Request(HttpRequest::Method::kDelete, name, name.key, {}, ObjectHeaders(condition));
}

std::string S3Uploads::TagOf(const HttpResponse& response) { return HeaderOf(response, "etag"); }

HttpRequest S3Uploads::Begin(const ObjectName& name, const WriteCondition& condition) {
  return s3_->Request(HttpRequest::Method::kPost, name, name.key, {{"uploads", ""}}, {});
}

absl::StatusOr<std::string> S3Uploads::IdOf(const ObjectName& name, const HttpResponse& response) {
  pugi::xml_document document;
  document.load_buffer(response.body.data(), response.body.size());
  std::string id = document.document_element().child("UploadId").text().as_string();
  if (id.empty()) return absl::UnavailableError(absl::StrCat(ToString(name), ": the answer names no upload"));
  return id;
}

HttpRequest S3Uploads::Send(const ObjectName& name, const std::string& id, const UploadPart& part, std::string body) {
  return s3_->Request(HttpRequest::Method::kPut, name, name.key,
                      {{"partNumber", absl::StrCat(part.number + 1)}, {"uploadId", id}}, {}, std::move(body));
}

absl::StatusOr<std::string> S3Uploads::PartOf(const ObjectName& name, const UploadPart& part,
                                              const HttpResponse& response) {
  std::string tag = HeaderOf(response, "etag");
  if (tag.empty()) return absl::UnavailableError(absl::StrCat(ToString(name), ": the answer to a part has no ETag"));
  return tag;
}

std::optional<HttpRequest> S3Uploads::Complete(const ObjectName& name, const std::string& id,
                                               const std::vector<std::string>& parts, const WriteCondition& condition) {
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
absl::Status S3Uploads::CheckComplete(const ObjectName& name, const HttpResponse& response) {
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

std::optional<HttpRequest> S3Uploads::Abort(const ObjectName& name, const std::string& id) {
  return s3_->Request(HttpRequest::Method::kDelete, name, name.key, {{"uploadId", id}}, {});
}

std::optional<HttpRequest> S3Uploads::ListPending(const ObjectName& folder) {
  return s3_->Request(HttpRequest::Method::kGet, folder, "",
                      {{"uploads", ""}, {"prefix", folder.key.empty() ? "" : folder.key + "/"}}, {});
}

std::vector<PendingUpload> S3Uploads::PendingOf(const ObjectName& folder, const HttpResponse& response) {
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

}  // namespace penstock
