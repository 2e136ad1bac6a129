#include "pipeline/storage/object/s3/s3_service.h"

#include <utility>

#include "pipeline/storage/object/s3/aws_keys.h"
#include "pipeline/storage/object/s3/s3_uploads.h"

namespace penstock::storage {
namespace {

class S3Service final : public ObjectService {
 public:
  S3Service(S3Options options, Environment environment, HttpClient* http)
      : keys_(std::move(environment), http), dialect_(std::move(options), &keys_) {}

  ObjectDialect* dialect() override { return &dialect_; }
  ObjectUploads* uploads() override { return uploads_.get(); }
  void StopPrograms() override { keys_.StopPrograms(); }
  int64_t credentials_end() override { return keys_.Current().ends_at; }

 private:
  AwsKeySource keys_;
  S3Dialect dialect_;
  const std::unique_ptr<ObjectUploads> uploads_ = MakeS3Uploads(&dialect_);
};

}  // namespace

std::unique_ptr<ObjectService> MakeS3Service(S3Options options, Environment environment, HttpClient* http) {
  return std::make_unique<S3Service>(std::move(options), std::move(environment), http);
}

}  // namespace penstock::storage
