// Where tokens for Azure's storage come from, where there is no key and no shared access signature: in this order, the
// first that is there.
//   1. AZURE_FEDERATED_TOKEN_FILE with AZURE_CLIENT_ID, AZURE_TENANT_ID: a pod's identity (AKS workload identity)
//   2. AZURE_CLIENT_SECRET with the same: a service principal
//   3. IDENTITY_ENDPOINT with IDENTITY_HEADER: what App Service and Container Apps give a program
//   4. the machine's own identity (its metadata service); AZURE_CLIENT_ID says which, where it has several
// https://learn.microsoft.com/en-us/entra/identity/managed-identities-azure-resources/how-to-use-vm-token
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_TOKENS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_TOKENS_H_

#include <atomic>
#include <string>

#include "pipeline/storage/object/bearer_token.h"
#include "pipeline/storage/object/http_client.h"
#include "pipeline/storage/object/surroundings.h"

namespace penstock {

// Thread-safe.
class AzureTokens {
 public:
  // `http` lives as long as this and the calls it began.
  AzureTokens(Surroundings surroundings, HttpClient* http);

  // NotFound: nobody has keys for us; says where was looked.
  TokenSource* source() { return &source_; }

 private:
  void Ask(CallDone<BearerToken> done);
  void AskDirectory(CallDone<BearerToken> done);
  void AskMachine(CallDone<BearerToken> done);

  const Surroundings surroundings_;
  HttpClient* const http_;
  std::atomic<bool> machine_answers_{false};  // its metadata service did once
  TokenSource source_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_TOKENS_H_
