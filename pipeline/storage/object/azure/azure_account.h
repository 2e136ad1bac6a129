// The Azure storage account for az:// and its credentials, from the environment:
//   1. AZURE_STORAGE_CONNECTION_STRING: account, key or shared access signature, endpoint
//   2. AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN
// An account without a key and without a shared access signature uses tokens (azure_tokens.h).
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_ACCOUNT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_ACCOUNT_H_

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/storage/object/common/environment.h"

namespace penstock::storage {

struct AzureAccount {
  enum class Opens : uint8_t { kKey, kSas, kToken, kNothing };
  std::string name;
  std::string endpoint;  // "https://account.blob.core.windows.net" or "http://127.0.0.1:10000/devstoreaccount1"
  Opens opens = Opens::kToken;
  // Secret: never put them in a message or a log.
  std::string key;  // bytes, not base64
  std::string sas;  // encoded query without '?'

  // Also reads AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SERVICE_ENDPOINT and
  // PENSTOCK_AZURE_UNSIGNED=1. NotFound: no variable names an account. InvalidArgument: a key, the connection string or
  // the endpoint is wrong.
  static absl::StatusOr<AzureAccount> FromEnvironment(const Environment& environment);
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_ACCOUNT_H_
