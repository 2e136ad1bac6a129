// Writes to Google Cloud Storage: simple and resumable uploads.
// https://cloud.google.com/storage/docs/performing-resumable-uploads
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_UPLOADS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_UPLOADS_H_

#include <optional>
#include <string>
#include <vector>

#include "pipeline/storage/object/common/object_uploads.h"
#include "pipeline/storage/object/gcs/gcs_dialect.h"

namespace penstock {

// The id of an upload is the URL of its session. It is secret, because it permits writing.
class GcsUploads final : public ObjectUploads {
 public:
  // `gcs` must outlive this object.
  explicit GcsUploads(GcsDialect* gcs) : gcs_(gcs) {}

  HttpRequest Put(const ObjectName& name, std::string body, const WriteCondition& condition) override;
  HttpRequest Remove(const ObjectName& name, const WriteCondition& condition) override;
  std::string TagOf(const HttpResponse& response) override;
  bool in_order() const override { return true; }
  HttpRequest Begin(const ObjectName& name, const WriteCondition& condition) override;
  absl::StatusOr<std::string> IdOf(const ObjectName& name, const HttpResponse& response) override;
  HttpRequest Send(const ObjectName& name, const std::string& id, const UploadPart& part, std::string body) override;
  absl::StatusOr<std::string> PartOf(const ObjectName& name, const UploadPart& part,
                                     const HttpResponse& response) override;
  std::optional<HttpRequest> Complete(const ObjectName& name, const std::string& id,
                                      const std::vector<std::string>& parts, const WriteCondition& condition) override;
  std::optional<HttpRequest> Abort(const ObjectName& name, const std::string& id) override;

 private:
  HttpRequest New(const ObjectName& name, const char* type, const WriteCondition& condition);

  GcsDialect* const gcs_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GCS_UPLOADS_H_
