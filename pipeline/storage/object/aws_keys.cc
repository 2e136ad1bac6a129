#include "pipeline/storage/object/aws_keys.h"

#include <nlohmann/json.hpp>
#include <pugixml.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace penstock {
namespace {

constexpr int64_t kRenewBefore = 5 * 60;  // seconds
constexpr char kInstance[] = "http://169.254.169.254";
constexpr char kContainer[] = "http://169.254.170.2";

int64_t SecondsOf(const std::string& text) {
  absl::Time time;
  return absl::ParseTime(absl::RFC3339_full, text, &time, nullptr) ? absl::ToUnixSeconds(time) : 0;
}

std::string Field(const nlohmann::json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() || !found->is_string() ? "" : found->get<std::string>();
}

// Keys of a container may be asked for only where the network cannot be another's.
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

namespace {

AwsProfile SettingsOf(const std::string& text, const std::string& profile, bool config_file) {
  const std::string wanted = config_file && profile != "default" ? absl::StrCat("profile ", profile) : profile;
  AwsProfile settings;
  bool inside = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      inside = line.back() == ']' && absl::StripAsciiWhitespace(line.substr(1, line.size() - 2)) == wanted;
      continue;
    }
    const size_t equals = line.find('=');
    if (!inside || equals == absl::string_view::npos) continue;
    settings[absl::AsciiStrToLower(absl::StripAsciiWhitespace(line.substr(0, equals)))] =
        std::string(absl::StripAsciiWhitespace(line.substr(equals + 1)));
  }
  return settings;
}

std::string Setting(const AwsProfile& profile, const char* name) {
  const auto found = profile.find(name);
  return found == profile.end() ? "" : found->second;
}

std::optional<AwsKeys> KeysIn(const AwsProfile& profile) {
  AwsKeys keys{.id = Setting(profile, "aws_access_key_id"),
               .secret = Setting(profile, "aws_secret_access_key"),
               .token = Setting(profile, "aws_session_token")};
  if (keys.id.empty() || keys.secret.empty()) return std::nullopt;
  return keys;
}

}  // namespace

std::optional<AwsKeys> KeysOfProfile(const std::string& text, const std::string& profile, bool config_file) {
  return KeysIn(SettingsOf(text, profile, config_file));
}

AwsKeySource::AwsKeySource(Surroundings surroundings, HttpClient* http)
    : surroundings_(std::move(surroundings)), http_(http) {}

void AwsKeySource::Get(CallDone<AwsKeys> done) {
  AwsKeys keys;
  {
    MutexLock lock(&mutex_);
    if (!known_ || (current_.ends_at != 0 && surroundings_.now() > current_.ends_at - kRenewBefore)) {
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
  // Those of the environment are what they are for as long as the process lives.
  if (surroundings_.variable("AWS_ACCESS_KEY_ID") == keys.id) return false;
  MutexLock lock(&mutex_);
  if (current_ == keys) known_ = false;
  return true;
}

void AwsKeySource::Ask() {
  const auto variable = [this](const char* name) { return surroundings_.variable(name); };
  AwsKeys keys{.id = variable("AWS_ACCESS_KEY_ID"),
               .secret = variable("AWS_SECRET_ACCESS_KEY"),
               .token = variable("AWS_SESSION_TOKEN")};
  if (!keys.id.empty() && !keys.secret.empty()) return Answer(keys);
  if (const std::string role = variable("AWS_ROLE_ARN");
      !role.empty() && !variable("AWS_WEB_IDENTITY_TOKEN_FILE").empty()) {
    return AskWebIdentity(role);
  }
  const std::string name = variable("AWS_PROFILE").empty() ? "default" : variable("AWS_PROFILE");
  const AwsProfile profile = ProfileOf(name);
  if (!Setting(profile, "role_arn").empty()) {
    const absl::StatusOr<AwsKeys> source = SourceOf(profile);
    if (!source.ok()) {
      return Answer(absl::NotFoundError(
          absl::StrCat("the profile \"", name, "\" of ~/.aws/config: ", source.status().message())));
    }
    return AskRole(profile, *source);
  }
  if (const auto found = KeysIn(profile)) return Answer(*found);
  if (!variable("AWS_PROFILE").empty()) {
    return Answer(absl::NotFoundError(absl::StrCat(
        "AWS_PROFILE is \"", name, "\", and neither ~/.aws/credentials nor ~/.aws/config has keys of it")));
  }
  if (const std::string relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); !relative.empty()) {
    return AskContainer(absl::StrCat(kContainer, relative));
  }
  if (const std::string full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI"); !full.empty()) return AskContainer(full);
  if (absl::EqualsIgnoreCase(variable("AWS_EC2_METADATA_DISABLED"), "true")) {
    return Answer(
        absl::NotFoundError("nobody has keys for S3 here: not AWS_ACCESS_KEY_ID, ~/.aws/credentials, or a container's "
                            "or pod's role; set them, or "
                            "PENSTOCK_S3_UNSIGNED=1 where the bucket is public"));
  }
  AskInstance();
}

void AwsKeySource::Send(HttpRequest request, Answered answered) {
  http_->Send(
      std::move(request), {.priority = CallPriority::kUrgent},
      [answered = std::move(answered)](absl::StatusOr<HttpResponse> response) { answered(std::move(response)); });
}

AwsProfile AwsKeySource::ProfileOf(const std::string& name) const {
  AwsProfile all;
  // What both files say, the credentials' has.
  for (const bool config_file : {false, true}) {
    std::string path = surroundings_.variable(config_file ? "AWS_CONFIG_FILE" : "AWS_SHARED_CREDENTIALS_FILE");
    if (path.empty()) {
      path = absl::StrCat(surroundings_.variable("HOME"), config_file ? "/.aws/config" : "/.aws/credentials");
    }
    const absl::StatusOr<std::string> text = surroundings_.file(path);
    if (text.ok()) all.merge(SettingsOf(*text, name, config_file));
  }
  return all;
}

absl::StatusOr<AwsKeys> AwsKeySource::SourceOf(const AwsProfile& profile) const {
  if (const std::string source = Setting(profile, "source_profile"); !source.empty()) {
    if (const auto keys = KeysIn(ProfileOf(source))) return *keys;
    return absl::NotFoundError(absl::StrCat("its source_profile \"", source,
                                            "\" has no keys (aws_access_key_id, aws_secret_access_key); roles of roles "
                                            "and logins by SSO are not followed"));
  }
  const std::string source = Setting(profile, "credential_source");
  if (source == "Environment") {
    return absl::NotFoundError("its credential_source is Environment, where AWS_ACCESS_KEY_ID is not set");
  }
  return absl::NotFoundError(absl::StrCat("it has a role_arn without a source_profile",
                                          source.empty() ? "" : " (credential_source is not followed)"));
}

std::string AwsKeySource::StsEndpoint(const std::string& region) const {
  const std::string endpoint = surroundings_.variable("AWS_ENDPOINT_URL_STS");
  return endpoint.empty() ? absl::StrCat("https://sts.", region, ".amazonaws.com") : endpoint;
}

void AwsKeySource::AskRole(const AwsProfile& profile, const AwsKeys& keys) {
  std::string region = surroundings_.variable("AWS_REGION");
  if (region.empty()) region = surroundings_.variable("AWS_DEFAULT_REGION");
  if (region.empty()) region = Setting(profile, "region");
  if (region.empty()) region = "us-east-1";
  const std::string role = Setting(profile, "role_arn");
  std::string name = Setting(profile, "role_session_name");
  if (name.empty()) name = "penstock";
  std::vector<std::pair<std::string, std::string>> fields = {
      {"Action", "AssumeRole"}, {"Version", "2011-06-15"}, {"RoleArn", role}, {"RoleSessionName", name}};
  for (const auto& [setting, field] :
       {std::pair("external_id", "ExternalId"), {"duration_seconds", "DurationSeconds"}}) {
    if (const std::string value = Setting(profile, setting); !value.empty()) fields.emplace_back(field, value);
  }
  HttpRequest request;
  request.method = HttpRequest::Method::kPost;
  const std::string endpoint = StsEndpoint(region);
  request.url = absl::StrCat(endpoint, "/");
  request.body = AwsQuery(fields);
  const std::map<std::string, std::string> headers = {{"content-type", "application/x-www-form-urlencoded"}};
  const AwsRequest signed_request{.method = "POST",
                                  .host = endpoint.substr(endpoint.find("://") + 3),
                                  .path = "/",
                                  .query = {},
                                  .headers = headers,
                                  .body = request.body,
                                  .service = "sts",
                                  .region = region,
                                  .time = surroundings_.now()};
  for (const auto& [header, value] : headers) request.headers.push_back(absl::StrCat(header, ": ", value));
  for (const auto& [header, value] : AwsSignedHeaders(signed_request, keys)) {
    request.headers.push_back(absl::StrCat(header, ": ", value));
  }
  Send(std::move(request), [this, role](const absl::StatusOr<HttpResponse>& response) { TakeSts(role, response); });
}

void AwsKeySource::AskWebIdentity(const std::string& role) {
  const std::string path = surroundings_.variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  const absl::StatusOr<std::string> token = surroundings_.file(path);
  if (!token.ok())
    return Answer(absl::NotFoundError(absl::StrCat("AWS_WEB_IDENTITY_TOKEN_FILE: ", token.status().message())));
  std::string name = surroundings_.variable("AWS_ROLE_SESSION_NAME");
  if (name.empty()) name = "penstock";
  std::string region = surroundings_.variable("AWS_REGION");
  if (region.empty()) region = surroundings_.variable("AWS_DEFAULT_REGION");
  std::string endpoint = surroundings_.variable("AWS_ENDPOINT_URL_STS");
  if (endpoint.empty()) {
    endpoint = region.empty() ? "https://sts.amazonaws.com" : absl::StrCat("https://sts.", region, ".amazonaws.com");
  }
  HttpRequest request;
  request.method = HttpRequest::Method::kPost;
  request.url = endpoint;
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
  Answer(AwsKeys{.id = text("AccessKeyId"),
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
  request.direct = absl::StartsWith(url, "http://");  // of this machine
  std::string token = surroundings_.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string path = surroundings_.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !path.empty()) {
    const absl::StatusOr<std::string> content = surroundings_.file(path);
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
  request.url = absl::StrCat(kInstance, "/latest/api/token");
  request.headers = {"X-aws-ec2-metadata-token-ttl-seconds: 21600"};
  request.connecting = kSecond;
  request.silence = 2 * kSecond;
  Send(std::move(request), [this](const absl::StatusOr<HttpResponse>& token) {
    if (!token.ok() || token->status != 200) {
      return Answer(absl::NotFoundError(
          "nobody has keys for S3 here: not AWS_ACCESS_KEY_ID, ~/.aws/credentials, a container's or pod's role, or the "
          "instance's metadata service; set them, or PENSTOCK_S3_UNSIGNED=1 where the bucket is public"));
    }
    const std::string header = absl::StrCat("X-aws-ec2-metadata-token: ", token->body);
    HttpRequest role;
    role.url = absl::StrCat(kInstance, "/latest/meta-data/iam/security-credentials/");
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
  Answer(AwsKeys{.id = Field(json, "AccessKeyId"),
                 .secret = Field(json, "SecretAccessKey"),
                 .token = Field(json, "Token"),
                 .ends_at = SecondsOf(Field(json, "Expiration"))});
}

void AwsKeySource::Answer(const absl::StatusOr<AwsKeys>& answer) {
  absl::StatusOr<AwsKeys> keys = answer;
  if (keys.ok() && (keys->id.empty() || keys->secret.empty())) {
    keys = absl::UnavailableError("an answer about keys for S3 holds none");
  }
  std::vector<CallDone<AwsKeys>> waiting;
  {
    MutexLock lock(&mutex_);
    asking_ = false;
    known_ = keys.ok();
    if (keys.ok()) current_ = *keys;
    waiting.swap(waiting_);
  }
  for (CallDone<AwsKeys>& done : waiting) std::move(done)(keys);
}

}  // namespace penstock
