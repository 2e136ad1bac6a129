// Writes to S3 and compatible storages: PutObject and multipart uploads.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_UPLOADS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_UPLOADS_H_

#include <optional>
#include <string>
#include <vector>

#include "pipeline/storage/object/common/object_uploads.h"
#include "pipeline/storage/object/s3/s3_dialect.h"

namespace penstock {

class S3Uploads final : public ObjectUploads {
 public:
  // `s3` must outlive this object.
  explicit S3Uploads(S3Dialect* s3) : s3_(s3) {}

  HttpRequest Put(const ObjectName& name, std::string body, const WriteCondition& condition) override;
  HttpRequest Remove(const ObjectName& name, const WriteCondition& condition) override;
  std::string TagOf(const HttpResponse& response) override;
  HttpRequest Begin(const ObjectName& name, const WriteCondition& condition) override;
  absl::StatusOr<std::string> IdOf(const ObjectName& name, const HttpResponse& response) override;
  HttpRequest Send(const ObjectName& name, const std::string& id, const UploadPart& part, std::string body) override;
  absl::StatusOr<std::string> PartOf(const ObjectName& name, const UploadPart& part,
                                     const HttpResponse& response) override;
  std::optional<HttpRequest> Complete(const ObjectName& name, const std::string& id,
                                      const std::vector<std::string>& parts, const WriteCondition& condition) override;
  absl::Status CheckComplete(const ObjectName& name, const HttpResponse& response) override;
  std::optional<HttpRequest> Abort(const ObjectName& name, const std::string& id) override;
  std::optional<HttpRequest> ListPending(const ObjectName& folder) override;
  std::vector<PendingUpload> PendingOf(const ObjectName& folder, const HttpResponse& response) override;

 private:
  S3Dialect* const s3_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_S3_UPLOADS_H_
