// Sources of tokens for Google Cloud Storage. The first that exists is used:
//   1. The file GOOGLE_APPLICATION_CREDENTIALS
//   2. application_default_credentials.json in CLOUDSDK_CONFIG (~/.config/gcloud), the file of `gcloud auth
//      application-default login`
//   3. The metadata service of the machine or pod (GCE_METADATA_HOST), unless NO_GCE_CHECK is set (Says())
// A file holds one of:
//   - a service account's key
//   - a user's refresh token
//   - the place of a foreign token to exchange (workload identity federation, from a file or a URL)
//   - one of these for another service account (impersonated_service_account)
// https://google.aip.dev/auth/4110 and the pages that it links
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GOOGLE_TOKENS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GOOGLE_TOKENS_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "pipeline/storage/object/common/bearer_token.h"
#include "pipeline/storage/object/common/environment.h"
#include "pipeline/storage/object/common/http_client.h"

namespace penstock::storage {

// Thread-safe.
class GoogleTokens {
 public:
  // `http` must outlive this object, and this object must outlive the requests that it sends.
  GoogleTokens(Environment environment, HttpClient* http);
  ~GoogleTokens();

  // Returns the source of tokens. Errors of its Get(): NotFound if no source exists, or the machine has no service
  // account; the message names the sources that were tried. PermissionDenied for a file that cannot be used. Others
  // come from the service (TokenOf).
  TokenSource* source() { return &source_; }

 private:
  struct File;  // a parsed file of credentials
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

  const Environment environment_;
  HttpClient* const http_;
  std::atomic<int64_t> clock_ahead_{0};       // seconds that Google's clock is ahead of ours
  std::atomic<bool> machine_answers_{false};  // whether the metadata service has ever answered
  TokenSource source_;
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_GCS_GOOGLE_TOKENS_H_
