// Where keys for S3 come from: in this order, the first that is there.
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//   2. AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN: a token that a cluster writes for a pod, exchanged at STS
//   3. the profile AWS_PROFILE ("default") of the files AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and
//   AWS_CONFIG_FILE
//      (~/.aws/config): aws_access_key_id, aws_secret_access_key, aws_session_token; or role_arn with source_profile,
//      a role that STS gives to who has that profile's keys, which may be a role again (or with credential_source, or
//      web_identity_token_file); or a login by `aws sso login`; or credential_process, a program that prints keys
//   4. AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI: what ECS and EKS serve a container
//   5. the instance's own service (IMDSv2), unless AWS_EC2_METADATA_DISABLED is true
// https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_KEYS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_KEYS_H_

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
#include "pipeline/storage/object/aws_profile.h"
#include "pipeline/storage/object/aws_signature.h"
#include "pipeline/storage/object/http_client.h"
#include "pipeline/storage/object/surroundings.h"

namespace penstock {

// Thread-safe. Keys that end are had anew five minutes before; one request at a time.
class AwsKeySource {
 public:
  // Both live as long as this and the calls it began.
  AwsKeySource(Surroundings surroundings, HttpClient* http);
  ~AwsKeySource();  // ends a program that is asked

  // `done` once, perhaps inside the call. NotFound: nobody has keys for us; says where was looked.
  void Get(CallDone<AwsKeys> done);
  // What was had last, for requests that are made right behind Get; empty keys where there are none.
  AwsKeys Current() const;
  // A storage refused them as over or unknown: the next Get asks again. False where they could only be the same.
  bool Forget(const AwsKeys& keys);

 private:
  using Answered = std::function<void(absl::StatusOr<HttpResponse>)>;

  void Ask();
  void AskWebIdentity(const std::string& role, const std::string& token_file, std::string session_name);
  // False: the profile says nothing of keys.
  bool AskProfile(const std::string& name);
  // A profile's role, for keys of another.
  void AskRole(const AwsProfile& profile, const AwsKeys& keys);
  void AskSso(const std::string& name, const AwsProfile& profile);
  void TakeSso(const std::string& who, const absl::StatusOr<HttpResponse>& response);
  // Elsewhere than on the caller's thread.
  void AskProgram(const std::string& name, const std::string& command);
  void RunPrograms();
  void TakeProgram(const std::string& name, const absl::StatusOr<std::string>& output);
  AwsProfile ProfileOf(const std::string& name) const;
  // A section of ~/.aws/config, "[...]".
  AwsProfile SectionOf(const std::string& section) const;
  // Of STS, "https://...", of a region or, empty, of none. PermissionDenied where it is set to what must hold no
  // secret.
  absl::StatusOr<std::string> StsEndpoint(const std::string& region) const;
  void AskContainer(const std::string& url);
  void AskInstance();
  // A request for keys, whose answer nobody but `answered` sees.
  void Send(HttpRequest request, Answered answered);
  void TakeSts(const std::string& role, const absl::StatusOr<HttpResponse>& response);
  void TakeJson(const std::string& who, const absl::StatusOr<HttpResponse>& response);
  // Those of a source: of the profile asked for, or of the roles that are to be taken with them.
  void Got(const absl::StatusOr<AwsKeys>& keys);
  void Answer(const absl::StatusOr<AwsKeys>& keys);

  const Surroundings surroundings_;
  HttpClient* const http_;
  mutable Mutex mutex_;
  AwsKeys current_ ABSL_GUARDED_BY(mutex_);
  bool known_ ABSL_GUARDED_BY(mutex_) = false;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t ask_again_at_ ABSL_GUARDED_BY(mutex_) = 0;            // where asking failed and the keys last
  std::vector<AwsProfile> roles_ ABSL_GUARDED_BY(mutex_) = {};  // to be taken yet, the next one last
  std::vector<CallDone<AwsKeys>> waiting_ ABSL_GUARDED_BY(mutex_);

  struct Program {
    std::string profile, command;
  };
  std::stop_source stop_;
  CondVar program_changed_;
  std::optional<Program> program_ ABSL_GUARDED_BY(mutex_);  // to be asked next
  std::thread programs_ ABSL_GUARDED_BY(mutex_);            // where there was ever one
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_KEYS_H_
