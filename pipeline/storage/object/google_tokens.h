// Where tokens for Google Cloud Storage come from: in this order, the first that is there.
//   1. the file GOOGLE_APPLICATION_CREDENTIALS
//   2. application_default_credentials.json in CLOUDSDK_CONFIG (~/.config/gcloud), as `gcloud auth application-default
//      login` writes it
//   3. the machine's or pod's own service (GCE_METADATA_HOST), unless NO_GCE_CHECK is true
// A file holds a service account's key, a user's refresh token, either of them for another service account
// (impersonated_service_account), or says where a token of others is that is exchanged
// (workload identity federation, from a file or a URL).
// https://google.aip.dev/auth/4110 and those behind it
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_GOOGLE_TOKENS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_GOOGLE_TOKENS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/storage/object/bearer_token.h"
#include "pipeline/storage/object/http_client.h"
#include "pipeline/storage/object/surroundings.h"

namespace penstock {

// Thread-safe.
class GoogleTokens {
 public:
  // `http` lives as long as this and the calls it began.
  GoogleTokens(Surroundings surroundings, HttpClient* http);
  ~GoogleTokens();

  // NotFound: nobody has keys for us; says where was looked.
  TokenSource* source() { return &source_; }

 private:
  struct File;  // the parts of a file of credentials
  using Done = CallDone<BearerToken>;
  using Shared = std::shared_ptr<Done>;

  void Ask(Done done);
  void AskAsFileSays(const std::string& path, const std::string& text, Done done);
  void AskAs(std::shared_ptr<const File> file, Shared done);
  void AskAsImpersonator(std::shared_ptr<const File> file, Shared done);
  void AskAsServiceAccount(std::shared_ptr<const File> file, int tries, Shared done);
  void AskAsUser(std::shared_ptr<const File> file, Shared done);
  void AskAsOther(std::shared_ptr<const File> file, Shared done);
  void Exchange(std::shared_ptr<const File> file, const std::string& subject, Shared done);
  void Impersonate(std::shared_ptr<const File> file, const BearerToken& token, Shared done);
  void AskMachine(Done done);

  const Surroundings surroundings_;
  HttpClient* const http_;
  std::atomic<int64_t> clock_ahead_{0};       // Google's, of ours, in seconds
  std::atomic<bool> machine_answers_{false};  // its metadata service did once
  TokenSource source_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_GOOGLE_TOKENS_H_
