#include "pipeline/storage/object/s3/aws_keys.h"

#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pipeline/storage/object/common/answer_fields.h"
#include "pipeline/storage/object/common/bearer_token.h"

namespace penstock::storage {
namespace {

constexpr int64_t kKeysRenewedBefore = 5 * 60;  // seconds
constexpr int64_t kKeysAskedAgainAfter = 10;
constexpr char kInstance[] = "http://169.254.169.254";
constexpr char kContainer[] = "http://169.254.170.2";

// Returns whether keys of a container may be requested from `url`. Plain HTTP is allowed only for loopback and
// for the fixed addresses of ECS and EKS, which no foreign network serves.
bool MayBeAsked(absl::string_view url) {
  if (absl::StartsWith(url, "https://")) return true;
  for (const absl::string_view host : {"http://127.0.0.1", "http://localhost", "http://[::1]", "http://169.254.170.2",
                                       "http://169.254.170.23", "http://[fd00:ec2::23]"}) {
    if (!absl::StartsWith(url, host)) continue;
    const absl::string_view rest = url.substr(host.size());
    if (rest.empty() || rest[0] == ':' || rest[0] == '/') return true;
  }
  return false;
}

}  // namespace

AwsKeySource::AwsKeySource(Environment environment, HttpClient* http)
    : environment_(std::move(environment)), http_(http) {}

AwsKeySource::~AwsKeySource() { StopPrograms(); }

void AwsKeySource::StopPrograms() {
  stop_.request_stop();
  std::thread programs;
  {
    MutexLock lock(&mutex_);
    programs.swap(programs_);
    program_changed_.NotifyAll();
  }
  if (programs.joinable()) programs.join();
}

void AwsKeySource::Get(CallDone<AwsKeys> done) {
  AwsKeys keys;
  {
    MutexLock lock(&mutex_);
    const int64_t now = environment_.now();
    const bool ends = current_.ends_at != 0 && now > current_.ends_at - kKeysRenewedBefore;
    // If new keys could not be fetched, the old ones serve as long as they last.
    const bool serves = now < current_.ends_at && now < ask_again_at_;
    if (!known_ || (ends && !serves)) {
      waiting_.push_back(std::move(done));
      if (std::exchange(asking_, true)) return;
    } else {
      keys = current_;
    }
  }
  if (keys.id.empty()) {
    Ask();
  } else {
    std::move(done)(std::move(keys));
  }
}

AwsKeys AwsKeySource::Current() const {
  MutexLock lock(&mutex_);
  return current_;
}

bool AwsKeySource::Forget(const AwsKeys& keys) {
  // Keys in the environment do not change while the process lives.
  if (environment_.variable("AWS_ACCESS_KEY_ID") == keys.id) return false;
  MutexLock lock(&mutex_);
  if (current_ == keys) known_ = false;
  return true;
}

void AwsKeySource::Ask() {
  const auto variable = [this](const char* name) { return environment_.variable(name); };
  AwsKeys keys{.id = variable("AWS_ACCESS_KEY_ID"),
               .secret = variable("AWS_SECRET_ACCESS_KEY"),
               .token = variable("AWS_SESSION_TOKEN")};
  if (!keys.id.empty() && !keys.secret.empty()) return Answer(keys);
  if (const std::string role = variable("AWS_ROLE_ARN");
      !role.empty() && !variable("AWS_WEB_IDENTITY_TOKEN_FILE").empty()) {
    return AskWebIdentity(role, variable("AWS_WEB_IDENTITY_TOKEN_FILE"), variable("AWS_ROLE_SESSION_NAME"));
  }
  const std::string name = variable("AWS_PROFILE").empty() ? "default" : variable("AWS_PROFILE");
  if (AskProfile(name)) return;
  if (!variable("AWS_PROFILE").empty()) {
    return Answer(absl::NotFoundError(absl::StrCat(
        "AWS_PROFILE is \"", name, "\", and neither ~/.aws/credentials nor ~/.aws/config has keys of it")));
  }
  if (const std::string relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); !relative.empty()) {
    return AskContainer(absl::StrCat(kContainer, relative));
  }
  if (const std::string full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI"); !full.empty()) return AskContainer(full);
  if (absl::EqualsIgnoreCase(variable("AWS_EC2_METADATA_DISABLED"), "true")) {
    return Answer(absl::NotFoundError(
        "there are no keys for S3 here: no AWS_ACCESS_KEY_ID, no ~/.aws/credentials, no role of a container or "
        "pod. Provide one of them, or PENSTOCK_S3_UNSIGNED=1 if the bucket is public"));
  }
  AskInstance();
}

void AwsKeySource::Send(HttpRequest request, Answered answered) {
  http_->Send(
      std::move(request), {.priority = CallPriority::kUrgent},
      [answered = std::move(answered)](absl::StatusOr<HttpResponse> response) { answered(std::move(response)); });
}

absl::StatusOr<std::string> AwsKeySource::StsEndpoint(const std::string& region) const {
  std::string endpoint = environment_.variable("AWS_ENDPOINT_URL_STS");
  if (endpoint.empty()) return absl::StrCat("https://sts.", region, region.empty() ? "" : ".", "amazonaws.com");
  if (!MayHoldSecrets(endpoint)) {
    return absl::PermissionDeniedError("AWS_ENDPOINT_URL_STS is neither https nor this machine's");
  }
  return endpoint;
}

void AwsKeySource::AskRole(const AwsProfile& profile, const AwsKeys& keys) {
  std::string region = environment_.variable("AWS_REGION");
  if (region.empty()) region = environment_.variable("AWS_DEFAULT_REGION");
  if (region.empty()) region = SettingOf(profile, "region");
  if (region.empty()) region = "us-east-1";
  const std::string role = SettingOf(profile, "role_arn");
  std::string name = SettingOf(profile, "role_session_name");
  if (name.empty()) name = "penstock";
  std::vector<std::pair<std::string, std::string>> fields = {
      {"Action", "AssumeRole"}, {"Version", "2011-06-15"}, {"RoleArn", role}, {"RoleSessionName", name}};
  for (const auto& [setting, field] :
       {std::pair("external_id", "ExternalId"), {"duration_seconds", "DurationSeconds"}}) {
    if (const std::string value = SettingOf(profile, setting); !value.empty()) fields.emplace_back(field, value);
  }
  HttpRequest request;
  request.method = HttpRequest::Method::kPost;
  const absl::StatusOr<std::string> endpoint = StsEndpoint(region);
  if (!endpoint.ok()) return Answer(endpoint.status());
  request.url = absl::StrCat(*endpoint, "/");
  request.body = AwsQuery(fields);
  const std::map<std::string, std::string> headers = {{"content-type", "application/x-www-form-urlencoded"}};
  const AwsRequest signed_request{.method = "POST",
                                  .host = endpoint->substr(endpoint->find("://") + 3),
                                  .path = "/",
                                  .query = {},
                                  .headers = headers,
                                  .body = request.body,
                                  .service = "sts",
                                  .region = region,
                                  .time = environment_.now()};
  for (const auto& [header, value] : headers) request.headers.push_back(absl::StrCat(header, ": ", value));
  for (const auto& [header, value] : AwsSignedHeaders(signed_request, keys)) {
    request.headers.push_back(absl::StrCat(header, ": ", value));
  }
  Send(std::move(request), [this, role](const absl::StatusOr<HttpResponse>& response) { TakeSts(role, response); });
}

void AwsKeySource::AskWebIdentity(const std::string& role, const std::string& token_file, std::string name) {
  const absl::StatusOr<std::string> token = environment_.file(token_file);
  if (!token.ok())
    return Answer(absl::NotFoundError(absl::StrCat("AWS_WEB_IDENTITY_TOKEN_FILE: ", token.status().message())));
  if (name.empty()) name = "penstock";
  std::string region = environment_.variable("AWS_REGION");
  if (region.empty()) region = environment_.variable("AWS_DEFAULT_REGION");
  const absl::StatusOr<std::string> endpoint = StsEndpoint(region);
  if (!endpoint.ok()) return Answer(endpoint.status());
  HttpRequest request;
  request.method = HttpRequest::Method::kPost;
  request.url = *endpoint;
  request.headers = {"Content-Type: application/x-www-form-urlencoded"};
  request.body = AwsQuery({{"Action", "AssumeRoleWithWebIdentity"},
                           {"Version", "2011-06-15"},
                           {"RoleArn", role},
                           {"RoleSessionName", name},
                           {"WebIdentityToken", std::string(absl::StripAsciiWhitespace(*token))}});
  Send(std::move(request), [this, role](const absl::StatusOr<HttpResponse>& response) { TakeSts(role, response); });
}

void AwsKeySource::TakeSts(const std::string& role, const absl::StatusOr<HttpResponse>& response) {
  const std::string who = absl::StrCat("STS, asked for the role ", role, ": ");
  if (!response.ok()) return Answer(absl::UnavailableError(absl::StrCat(who, response.status().message())));
  pugi::xml_document document;
  document.load_buffer(response->body.data(), response->body.size());
  if (response->status != 200) {
    const std::string message = document.select_node("//Message").node().text().as_string();
    return Answer(absl::PermissionDeniedError(absl::StrCat(who, "HTTP ", response->status, " ", message)));
  }
  const pugi::xml_node given = document.select_node("//Credentials").node();
  const auto text = [&given](const char* field) { return std::string(given.child(field).text().as_string()); };
  Got(AwsKeys{.id = text("AccessKeyId"),
              .secret = text("SecretAccessKey"),
              .token = text("SessionToken"),
              .ends_at = SecondsOf(text("Expiration"))});
}

void AwsKeySource::AskContainer(const std::string& url) {
  if (!MayBeAsked(url)) {
    return Answer(absl::PermissionDeniedError(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor this machine's; keys are not asked for there"));
  }
  HttpRequest request;
  request.url = url;
  request.direct = absl::StartsWith(url, "http://");  // the service runs on this machine
  std::string token = environment_.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string path = environment_.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !path.empty()) {
    const absl::StatusOr<std::string> content = environment_.file(path);
    if (!content.ok()) {
      return Answer(
          absl::NotFoundError(absl::StrCat("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: ", content.status().message())));
    }
    token = std::string(absl::StripAsciiWhitespace(*content));
  }
  if (!token.empty()) request.headers.push_back(absl::StrCat("Authorization: ", token));
  Send(std::move(request),
       [this](const absl::StatusOr<HttpResponse>& response) { TakeJson("the container's service of keys", response); });
}

void AwsKeySource::AskInstance() {
  HttpRequest request;
  request.method = HttpRequest::Method::kPut;
  request.direct = true;
  std::string endpoint = environment_.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  while (!endpoint.empty() && endpoint.back() == '/') endpoint.pop_back();
  if (endpoint.empty()) endpoint = kInstance;
  request.url = absl::StrCat(endpoint, "/latest/api/token");
  request.headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"};
  request.connecting = kSecond;
  request.silence = 2 * kSecond;
  Send(std::move(request), [this, endpoint](const absl::StatusOr<HttpResponse>& token) {
    if (!token.ok() || token->status != 200) {
      return Answer(absl::NotFoundError(
          "there are no keys for S3 here: no AWS_ACCESS_KEY_ID, no ~/.aws/credentials, no role of a container or pod, "
          "and no "
          "metadata service of the instance. Provide one of them, or PENSTOCK_S3_UNSIGNED=1 if the bucket is public"));
    }
    const std::string header = absl::StrCat("X-aws-ec2-metadata-token: ", token->body);
    HttpRequest role;
    role.url = absl::StrCat(endpoint, "/latest/meta-data/iam/security-credentials/");
    role.headers = {header};
    role.direct = true;
    Send(role, [this, role, header](const absl::StatusOr<HttpResponse>& name) {
      if (!name.ok() || name->status != 200) {
        return Answer(
            absl::NotFoundError("this instance has no role (its metadata service names none), and there are no other "
                                "keys for S3; give it one, or set AWS_ACCESS_KEY_ID"));
      }
      HttpRequest keys = role;
      absl::StrAppend(&keys.url, absl::StripAsciiWhitespace(name->body));
      Send(std::move(keys), [this](const absl::StatusOr<HttpResponse>& response) {
        TakeJson("the instance's metadata service", response);
      });
    });
  });
}

void AwsKeySource::TakeJson(const std::string& who, const absl::StatusOr<HttpResponse>& response) {
  if (!response.ok()) return Answer(absl::UnavailableError(absl::StrCat(who, ": ", response.status().message())));
  if (response->status != 200) return Answer(absl::UnavailableError(absl::StrCat(who, ": HTTP ", response->status)));
  const auto json = nlohmann::json::parse(response->body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Answer(absl::UnavailableError(absl::StrCat(who, ": its answer is no JSON")));
  }
  Got(AwsKeys{.id = TextOf(json, "AccessKeyId"),
              .secret = TextOf(json, "SecretAccessKey"),
              .token = TextOf(json, "Token"),
              .ends_at = SecondsOf(TextOf(json, "Expiration"))});
}

void AwsKeySource::Got(const absl::StatusOr<AwsKeys>& keys) {
  if (!keys.ok()) return Answer(keys);
  if (keys->id.empty() || keys->secret.empty()) {
    return Answer(absl::UnavailableError("an answer about keys for S3 holds none"));
  }
  AwsProfile role;
  {
    MutexLock lock(&mutex_);
    if (!roles_.empty()) {
      role = std::move(roles_.back());
      roles_.pop_back();
    }
  }
  role.empty() ? Answer(keys) : AskRole(role, *keys);
}

void AwsKeySource::Answer(const absl::StatusOr<AwsKeys>& answer) {
  absl::StatusOr<AwsKeys> keys = answer;
  std::vector<CallDone<AwsKeys>> waiting;
  {
    MutexLock lock(&mutex_);
    asking_ = false;
    roles_.clear();
    const int64_t now = environment_.now();
    if (!keys.ok() && known_ && now < current_.ends_at) {
      keys = current_;
      ask_again_at_ = now + kKeysAskedAgainAfter;
    }
    known_ = keys.ok();
    if (keys.ok()) current_ = *keys;
    waiting.swap(waiting_);
  }
  for (CallDone<AwsKeys>& done : waiting) std::move(done)(keys);
}

}  // namespace penstock::storage
