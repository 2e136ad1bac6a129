// Sources of tokens for Azure storage, for accounts with neither a key nor a shared access signature. The first that
// exists is used:
//   1. AZURE_FEDERATED_TOKEN_FILE with AZURE_CLIENT_ID, AZURE_TENANT_ID: a pod's identity (AKS workload identity)
//   2. AZURE_CLIENT_SECRET with the same two: a service principal
//   3. IDENTITY_ENDPOINT with IDENTITY_HEADER: the service of App Service and Container Apps
//   4. The machine's identity (its metadata service); AZURE_CLIENT_ID selects one of several
// https://learn.microsoft.com/en-us/entra/identity/managed-identities-azure-resources/how-to-use-vm-token
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_TOKENS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_TOKENS_H_

#include <atomic>
#include <string>

#include "pipeline/storage/object/common/bearer_token.h"
#include "pipeline/storage/object/common/environment.h"
#include "pipeline/storage/object/common/http_client.h"

namespace penstock::storage {

// Thread-safe.
class AzureTokens {
 public:
  // `http` must outlive this object, and this object must outlive the requests that it sends.
  AzureTokens(Environment environment, HttpClient* http);

  // Returns the source of tokens. Its Get() reports NotFound if no source exists; the message names those that were
  // tried.
  TokenSource* source() { return &source_; }

 private:
  void Ask(CallDone<BearerToken> done);
  void AskDirectory(CallDone<BearerToken> done);
  void AskMachine(CallDone<BearerToken> done);

  const Environment environment_;
  HttpClient* const http_;
  std::atomic<bool> machine_answers_{false};  // whether the metadata service has ever answered
  TokenSource source_;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_TOKENS_H_
