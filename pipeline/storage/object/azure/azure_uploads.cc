#include "pipeline/storage/object/azure/azure_uploads.h"

#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace penstock::storage {
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

// Blocks that no list names cannot be removed. Azure drops them after a week, or with the next blob of that name.
class AzureUploads final : public ObjectUploads {
 public:
  explicit AzureUploads(AzureDialect* azure) : azure_(azure) {}

  HttpRequest Put(const ObjectName& name, std::string body, const WriteCondition& condition) override {
    auto headers = BlobHeaders(condition);
    headers["x-ms-blob-type"] = "BlockBlob";
    return azure_->Request(HttpRequest::Method::kPut, name, name.key, {}, std::move(headers), std::move(body));
  }

  HttpRequest Remove(const ObjectName& name, const WriteCondition& condition) override {
    return azure_->Request(HttpRequest::Method::kDelete, name, name.key, {}, BlobHeaders(condition));
  }

  std::string TagOf(const HttpResponse& response) override { return AzureTagOf(response); }

  bool begins() const override { return false; }
  // Azure needs no request to begin an upload. IdOf() draws a random prefix of block names, so that blocks of two
  // writers do not mix.
  HttpRequest Begin(const ObjectName& name, const WriteCondition& condition) override { return {}; }

  absl::StatusOr<std::string> IdOf(const ObjectName& name, const HttpResponse& response) override {
    std::random_device random;
    return absl::StrFormat("%08x%08x", random(), random());
  }

  HttpRequest Send(const ObjectName& name, const std::string& id, const UploadPart& part, std::string body) override {
    return azure_->Request(HttpRequest::Method::kPut, name, name.key,
                           {{"comp", "block"}, {"blockid", BlockName(id, part.number)}}, {}, std::move(body));
  }

  absl::StatusOr<std::string> PartOf(const ObjectName& name, const UploadPart& part,
                                     const HttpResponse& response) override {
    return "";
  }

  std::optional<HttpRequest> Complete(const ObjectName& name, const std::string& id,
                                      const std::vector<std::string>& parts, const WriteCondition& condition) override {
    std::string body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
    for (size_t i = 0; i < parts.size(); ++i) absl::StrAppend(&body, "<Latest>", BlockName(id, i), "</Latest>");
    body += "</BlockList>";
    return azure_->Request(HttpRequest::Method::kPut, name, name.key, {{"comp", "blocklist"}}, BlobHeaders(condition),
                           std::move(body));
  }

 private:
  AzureDialect* const azure_;
};

}  // namespace

std::unique_ptr<ObjectUploads> MakeAzureUploads(AzureDialect* azure) { return std::make_unique<AzureUploads>(azure); }

}  // namespace penstock::storage
