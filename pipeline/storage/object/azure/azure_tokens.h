// Sources of tokens for Azure storage, for accounts with neither a key nor a shared access signature. The first whose
// variables are set is used:
//   1. AZURE_FEDERATED_TOKEN_FILE: a pod's identity (AKS workload identity)
//   2. AZURE_CLIENT_SECRET: a service principal
//   3. IDENTITY_ENDPOINT with IDENTITY_HEADER: the service of App Service and Container Apps
//   4. No variable: the machine's identity, from its metadata service
// Sources 1 and 2 require AZURE_CLIENT_ID and AZURE_TENANT_ID, and ask Entra ID, or AZURE_AUTHORITY_HOST if it is set.
// In sources 3 and 4, AZURE_CLIENT_ID selects one of several identities. AZURE_POD_IDENTITY_AUTHORITY_HOST replaces the
// address of the metadata service.
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

  // Returns the source of tokens. Errors of its Get():
  //   PermissionDenied  source 1 or 2 lacks the client or the tenant, its file cannot be read, or AZURE_AUTHORITY_HOST
  //                     is neither https nor on this machine
  //   NotFound          the service of source 3 or 4 cannot be reached, and has never answered; the message lists the
  //                     keys and identities that the user can provide
  //   others            from the service (TokenOf)
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
