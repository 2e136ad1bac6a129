// Where keys for S3 come from: in this order, the first that is there.
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//   2. AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN: a token that a cluster writes for a pod, exchanged at STS
//   3. the profile AWS_PROFILE ("default") of the files AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and
//   AWS_CONFIG_FILE
//      (~/.aws/config): aws_access_key_id, aws_secret_access_key, aws_session_token; or role_arn with source_profile
//      (or credential_source = Environment), a role that STS gives to who has that profile's keys
//   4. AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI: what ECS and EKS serve a container
//   5. the instance's own service (IMDSv2), unless AWS_EC2_METADATA_DISABLED is true
// https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_KEYS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_KEYS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/storage/object/aws_signature.h"
#include "pipeline/storage/object/http_client.h"
#include "pipeline/storage/object/surroundings.h"

namespace penstock {

// What a profile says: "role_arn", ...; names in lower case.
using AwsProfile = std::map<std::string, std::string>;

// Thread-safe. Keys that end are had anew five minutes before; one request at a time.
class AwsKeySource {
 public:
  // Both live as long as this and the calls it began.
  AwsKeySource(Surroundings surroundings, HttpClient* http);

  // `done` once, perhaps inside the call. NotFound: nobody has keys for us; says where was looked.
  void Get(CallDone<AwsKeys> done);
  // What was had last, for requests that are made right behind Get; empty keys where there are none.
  AwsKeys Current() const;
  // A storage refused them as over or unknown: the next Get asks again. False where they could only be the same.
  bool Forget(const AwsKeys& keys);

 private:
  using Answered = std::function<void(absl::StatusOr<HttpResponse>)>;

  void Ask();
  void AskWebIdentity(const std::string& role);
  // A profile's role, for keys of another.
  void AskRole(const AwsProfile& profile, const AwsKeys& keys);
  absl::StatusOr<AwsKeys> SourceOf(const AwsProfile& profile) const;
  AwsProfile ProfileOf(const std::string& name) const;
  // Of STS, "https://..."; `region` is that of signatures.
  std::string StsEndpoint(const std::string& region) const;
  void AskContainer(const std::string& url);
  void AskInstance();
  // A request for keys, whose answer nobody but `answered` sees.
  void Send(HttpRequest request, Answered answered);
  void TakeSts(const std::string& role, const absl::StatusOr<HttpResponse>& response);
  void TakeJson(const std::string& who, const absl::StatusOr<HttpResponse>& response);
  void Answer(const absl::StatusOr<AwsKeys>& keys);

  const Surroundings surroundings_;
  HttpClient* const http_;
  mutable Mutex mutex_;
  AwsKeys current_ ABSL_GUARDED_BY(mutex_);
  bool known_ ABSL_GUARDED_BY(mutex_) = false;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<CallDone<AwsKeys>> waiting_ ABSL_GUARDED_BY(mutex_);
};

// A profile's keys in the text of a credentials or config file; none where it has no such profile, or no keys in it.
std::optional<AwsKeys> KeysOfProfile(const std::string& text, const std::string& profile, bool config_file);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_KEYS_H_
