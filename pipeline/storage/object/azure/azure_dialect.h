// Azure Blob Storage.
// https://learn.microsoft.com/en-us/rest/api/storageservices/blob-service-rest-api
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_DIALECT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_DIALECT_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/storage/object/azure/azure_account.h"
#include "pipeline/storage/object/common/bearer_token.h"
#include "pipeline/storage/object/common/object_dialect.h"
#include "pipeline/storage/object/common/storage_clock.h"

namespace penstock::storage {

// Returns the tag of the state in a response with an ETag.
std::string AzureTagOf(const HttpResponse& response);

// A state's tag is the ETag without quotes, because some responses have no quotes.
class AzureDialect final : public ObjectDialect {
 public:
  // If `account` is an error, Prepare() returns it as PermissionDenied. `tokens` must outlive this object.
  AzureDialect(absl::StatusOr<AzureAccount> account, TokenSource* tokens, std::function<int64_t()> now)
      : account_(std::move(account)), tokens_(tokens), clock_(std::move(now)) {}

  void Prepare(const ObjectName& name, CallDone<bool> done) override;
  HttpRequest Head(const ObjectName& name) override;
  HttpRequest Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) override;
  absl::StatusOr<HttpRequest> List(const ObjectName& name, const std::string& page, size_t most) override;
  absl::StatusOr<FileInfo> StateOf(const ObjectName& name, const HttpResponse& response) override;
  absl::StatusOr<ObjectPage> PageOf(const ObjectName& name, const HttpResponse& response) override;
  ObjectError ErrorOf(const ObjectName& name, const HttpResponse& response) override;

  // Makes a request for the container (`key` is empty) or for a blob in it.
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  HttpRequest Request(HttpRequest::Method method, const ObjectName& name, const std::string& key, const Pairs& query,
                      std::map<std::string, std::string> headers, std::string body = "");

 private:
  const absl::StatusOr<AzureAccount> account_;
  TokenSource* const tokens_;
  StorageClock clock_;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_DIALECT_H_
