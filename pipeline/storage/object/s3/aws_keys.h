// Sources of keys for S3. The first that exists is used:
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//   2. AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN: STS exchanges a token that the cluster writes for a pod
//   3. The profile AWS_PROFILE ("default") of the files AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and
//      AWS_CONFIG_FILE (~/.aws/config). It has one of:
//        aws_access_key_id, aws_secret_access_key, aws_session_token
//        role_arn with source_profile: a role that STS grants to that profile's keys. That profile may have a role_arn
//        role_arn with credential_source or web_identity_token_file
//        a login by `aws sso login`
//        credential_process: a program that prints keys
//      If AWS_PROFILE is set, no later source is used.
//   4. AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI: the service of ECS and EKS for a container
//   5. The instance's metadata service (IMDSv2), unless AWS_EC2_METADATA_DISABLED is true
// https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_AWS_KEYS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_AWS_KEYS_H_

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/storage/object/common/environment.h"
#include "pipeline/storage/object/common/http_client.h"
#include "pipeline/storage/object/s3/aws_profile.h"
#include "pipeline/storage/object/s3/aws_signature.h"

namespace penstock::storage {

// Thread-safe. Renews keys five minutes before they expire. Makes one request at a time.
class AwsKeySource {
 public:
  // `http` must outlive this object, and this object must outlive the requests that it sends.
  AwsKeySource(Environment environment, HttpClient* http);
  // Calls StopPrograms().
  ~AwsKeySource();

  // Calls `done` once, possibly inside the call. If a renewal fails, passes the old keys as long as they last.
  // NotFound: there is no source of keys, or the token file of a source cannot be read. The message names the sources
  // or the file. Other errors come from the source.
  void Get(CallDone<AwsKeys> done);
  // Returns the last fetched keys, for requests that follow Get() directly. Empty if there are none.
  AwsKeys Current() const;
  // Reports that a storage refused `keys` as expired or unknown: the next Get() fetches new ones. Returns false if a
  // fetch could only return the same keys.
  bool Forget(const AwsKeys& keys);

  // Kills a program that runs for its keys, and runs no further one. Returns after its callers have an answer. Must not
  // be called from `done`.
  void StopPrograms();

 private:
  using Answered = std::function<void(absl::StatusOr<HttpResponse>)>;

  void Ask();
  void AskWebIdentity(const std::string& role, const std::string& token_file, std::string session_name);
  // Returns false if the profile names no source of keys.
  bool AskProfile(const std::string& name);
  // Requests the role of `profile` with the keys of its source.
  void AskRole(const AwsProfile& profile, const AwsKeys& keys);
  void AskSso(const std::string& name, const AwsProfile& profile);
  void TakeSso(const std::string& who, const absl::StatusOr<HttpResponse>& response);
  // Runs `command` on a thread of its own, not on the caller's.
  void AskProgram(const std::string& name, const std::string& command);
  void RunPrograms();
  void TakeProgram(const std::string& name, const absl::StatusOr<std::string>& output);
  AwsProfile ProfileOf(const std::string& name) const;
  // Returns a section "[...]" of ~/.aws/config.
  AwsProfile SectionOf(const std::string& section) const;
  // Returns the URL of STS ("https://...") in `region`, or the global one if `region` is empty. PermissionDenied: the
  // configured URL must not receive secrets.
  absl::StatusOr<std::string> StsEndpoint(const std::string& region) const;
  void AskContainer(const std::string& url);
  void AskInstance();
  // Sends a request for keys. Only `answered` receives the response.
  void Send(HttpRequest request, Answered answered);
  void TakeSts(const std::string& role, const absl::StatusOr<HttpResponse>& response);
  void TakeJson(const std::string& who, const absl::StatusOr<HttpResponse>& response);
  // Receives keys of a source. Requests the next role in roles_ with them, or answers the callers.
  void Got(const absl::StatusOr<AwsKeys>& keys);
  void Answer(const absl::StatusOr<AwsKeys>& keys);

  const Environment environment_;
  HttpClient* const http_;
  mutable Mutex mutex_;
  AwsKeys current_ ABSL_GUARDED_BY(mutex_);
  bool known_ ABSL_GUARDED_BY(mutex_) = false;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t ask_again_at_ ABSL_GUARDED_BY(mutex_) = 0;  // time of the next try, if a renewal failed while the keys last
  std::vector<AwsProfile> roles_ ABSL_GUARDED_BY(mutex_) = {};  // roles still to be requested, the next one last
  std::vector<CallDone<AwsKeys>> waiting_ ABSL_GUARDED_BY(mutex_);

  struct Program {
    std::string profile, command;
  };
  std::stop_source stop_;
  CondVar program_changed_;
  std::optional<Program> program_ ABSL_GUARDED_BY(mutex_);  // the next program to run
  std::thread programs_ ABSL_GUARDED_BY(mutex_);            // started by the first program
};

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_AWS_KEYS_H_
