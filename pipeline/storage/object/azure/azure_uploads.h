// Writes to Azure Blob Storage: block blobs, in one request or in blocks that a final list joins.
// https://learn.microsoft.com/en-us/rest/api/storageservices/put-block-list
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_UPLOADS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_UPLOADS_H_

#include <optional>
#include <string>
#include <vector>

#include "pipeline/storage/object/azure/azure_dialect.h"
#include "pipeline/storage/object/common/object_uploads.h"

namespace penstock {

// Blocks that no list names cannot be removed. Azure drops them after a week, or with the next blob of that name.
class AzureUploads final : public ObjectUploads {
 public:
  // `azure` must outlive this object.
  explicit AzureUploads(AzureDialect* azure) : azure_(azure) {}

  HttpRequest Put(const ObjectName& name, std::string body, const WriteCondition& condition) override;
  HttpRequest Remove(const ObjectName& name, const WriteCondition& condition) override;
  std::string TagOf(const HttpResponse& response) override;
  bool begins() const override { return false; }
  HttpRequest Begin(const ObjectName& name, const WriteCondition& condition) override;
  absl::StatusOr<std::string> IdOf(const ObjectName& name, const HttpResponse& response) override;
  HttpRequest Send(const ObjectName& name, const std::string& id, const UploadPart& part, std::string body) override;
  absl::StatusOr<std::string> PartOf(const ObjectName& name, const UploadPart& part,
                                     const HttpResponse& response) override;
  std::optional<HttpRequest> Complete(const ObjectName& name, const std::string& id,
                                      const std::vector<std::string>& parts, const WriteCondition& condition) override;

 private:
  AzureDialect* const azure_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_UPLOADS_H_
