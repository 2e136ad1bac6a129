#include "pipeline/storage/object/azure/azure_uploads.h"

#include <map>
#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock {
namespace {

std::map<std::string, std::string> BlobHeaders(const WriteCondition& condition) {
  if (condition.is_new) return {{"if-none-match", "*"}};
  if (!condition.tag.empty()) return {{"if-match", absl::StrCat("\"", condition.tag, "\"")}};
  return {};
}

// Azure requires names of one length for all blocks of a blob.
std::string BlockName(const std::string& id, size_t number) {
  return absl::Base64Escape(absl::StrFormat("%s-%08d", id, number));
}

}  // namespace

HttpRequest AzureUploads::Put(const ObjectName& name, std::string body, const WriteCondition& condition) {
  auto headers = BlobHeaders(condition);
  headers["x-ms-blob-type"] = "BlockBlob";
  return azure_->Request(HttpRequest::Method::kPut, name, name.key, {}, std::move(headers), std::move(body));
}

HttpRequest AzureUploads::Remove(const ObjectName& name, const WriteCondition& condition) {
  return azure_->Request(HttpRequest::Method::kDelete, name, name.key, {}, BlobHeaders(condition));
}

std::string AzureUploads::TagOf(const HttpResponse& response) { return AzureTagOf(response); }

// Azure needs no request to begin an upload. IdOf() draws a random prefix of block names, so that blocks of two writers
// do not mix.
HttpRequest AzureUploads::Begin(const ObjectName& name, const WriteCondition& condition) { return {}; }

absl::StatusOr<std::string> AzureUploads::IdOf(const ObjectName& name, const HttpResponse& response) {
  std::random_device random;
  return absl::StrFormat("%08x%08x", random(), random());
}

HttpRequest AzureUploads::Send(const ObjectName& name, const std::string& id, const UploadPart& part,
                               std::string body) {
  return azure_->Request(HttpRequest::Method::kPut, name, name.key,
                         {{"comp", "block"}, {"blockid", BlockName(id, part.number)}}, {}, std::move(body));
}

absl::StatusOr<std::string> AzureUploads::PartOf(const ObjectName& name, const UploadPart& part,
                                                 const HttpResponse& response) {
  return "";
}

std::optional<HttpRequest> AzureUploads::Complete(const ObjectName& name, const std::string& id,
                                                  const std::vector<std::string>& parts,
                                                  const WriteCondition& condition) {
  std::string body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
  for (size_t i = 0; i < parts.size(); ++i) absl::StrAppend(&body, "<Latest>", BlockName(id, i), "</Latest>");
  body += "</BlockList>";
  return azure_->Request(HttpRequest::Method::kPut, name, name.key, {{"comp", "blocklist"}}, BlobHeaders(condition),
                         std::move(body));
}

}  // namespace penstock
