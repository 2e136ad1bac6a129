// Which account of Azure's storage az:// is, and what it is opened with, as the environment says:
//   1. AZURE_STORAGE_CONNECTION_STRING: account, key or shared access signature, endpoint
//   2. AZURE_STORAGE_ACCOUNT, with AZURE_STORAGE_KEY, or AZURE_STORAGE_SAS_TOKEN, or neither: then tokens are asked for
//      (azure_tokens.h)
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_ACCOUNT_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_ACCOUNT_H_

#include <string>

#include "absl/status/statusor.h"
#include "pipeline/storage/object/surroundings.h"

namespace penstock {

struct AzureAccount {
  enum class Opens : uint8_t { kKey, kSas, kToken, kNothing };
  std::string name;
  std::string endpoint;  // "https://account.blob.core.windows.net", "http://127.0.0.1:10000/devstoreaccount1"
  Opens opens = Opens::kToken;
  // Secret: never in a message or a log.
  std::string key;  // as bytes
  std::string sas;  // a query, encoded, without '?'

  // Also AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SERVICE_ENDPOINT,
  // PENSTOCK_AZURE_UNSIGNED=1. NotFound: no account is named; InvalidArgument: a variable is wrong, and which.
  static absl::StatusOr<AzureAccount> FromEnvironment(const Surroundings& surroundings);
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_ACCOUNT_H_
