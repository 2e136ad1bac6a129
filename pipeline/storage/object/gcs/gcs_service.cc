#include "pipeline/storage/object/gcs/gcs_service.h"

#include <utility>

#include "pipeline/storage/object/gcs/gcs_uploads.h"
#include "pipeline/storage/object/gcs/google_tokens.h"

namespace penstock::storage {
namespace {

class GcsService final : public ObjectService {
 public:
  GcsService(GcsOptions options, Environment environment, HttpClient* http)
      : tokens_(std::move(environment), http), dialect_(std::move(options), tokens_.source()) {}

  ObjectDialect* dialect() override { return &dialect_; }
  ObjectUploads* uploads() override { return uploads_.get(); }
  int64_t credentials_end() override { return tokens_.source()->Current().ends_at; }

 private:
  GoogleTokens tokens_;
  GcsDialect dialect_;
  const std::unique_ptr<ObjectUploads> uploads_ = MakeGcsUploads(&dialect_);
};

}  // namespace

std::unique_ptr<ObjectService> MakeGcsService(GcsOptions options, Environment environment, HttpClient* http) {
  return std::make_unique<GcsService>(std::move(options), std::move(environment), http);
}

}  // namespace penstock::storage
