#include "pipeline/storage/object/azure/azure_service.h"

#include "pipeline/storage/object/azure/azure_account.h"
#include "pipeline/storage/object/azure/azure_dialect.h"
#include "pipeline/storage/object/azure/azure_tokens.h"
#include "pipeline/storage/object/azure/azure_uploads.h"

namespace penstock::storage {
namespace {

class AzureService final : public ObjectService {
 public:
  AzureService(const Environment& environment, HttpClient* http)
      : tokens_(environment, http),
        dialect_(AzureAccount::FromEnvironment(environment), tokens_.source(), environment.now) {}

  ObjectDialect* dialect() override { return &dialect_; }
  ObjectUploads* uploads() override { return uploads_.get(); }
  int64_t credentials_end() override { return tokens_.source()->Current().ends_at; }

 private:
  AzureTokens tokens_;
  AzureDialect dialect_;
  const std::unique_ptr<ObjectUploads> uploads_ = MakeAzureUploads(&dialect_);
};

}  // namespace

std::unique_ptr<ObjectService> MakeAzureService(const Environment& environment, HttpClient* http) {
  return std::make_unique<AzureService>(environment, http);
}

}  // namespace penstock::storage
