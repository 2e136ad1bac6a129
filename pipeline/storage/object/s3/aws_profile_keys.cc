// The part of AwsKeySource for profiles: chains of roles, logins, programs.
#include <openssl/evp.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pipeline/storage/object/common/answer_fields.h"
#include "pipeline/storage/object/common/bearer_token.h"
#include "pipeline/storage/object/s3/aws_keys.h"

namespace penstock::storage {
namespace {

constexpr size_t kMostRoles = 8;  // in a chain of source_profile

// `aws sso login` names the file of a token by this hash.
std::string Sha1(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), size));
}

}  // namespace

bool AwsKeySource::AskProfile(const std::string& name) {
  std::vector<AwsProfile> roles;
  std::set<std::string> seen;
  std::string at = name;
  const auto refuse = [&](const std::string& why) {
    Answer(absl::PermissionDeniedError(absl::StrCat("the profile \"", at, "\" of ~/.aws/config",
                                                    at == name ? "" : absl::StrCat(", a source of \"", name, "\""),
                                                    ": ", why)));
    return true;
  };
  // Stores the roles, which Got() requests with the keys of the source.
  const auto remember = [&] {
    MutexLock lock(&mutex_);
    roles_ = std::move(roles);
  };
  for (;;) {
    const AwsProfile profile = ProfileOf(at);
    const std::string role = SettingOf(profile, "role_arn");
    const auto keys = KeysIn(profile);
    if (role.empty() || (keys && !roles.empty())) {
      const std::string command = SettingOf(profile, "credential_process");
      const bool sso = !SettingOf(profile, "sso_session").empty() || !SettingOf(profile, "sso_start_url").empty();
      if (!keys && !sso && command.empty()) {
        if (roles.empty()) return false;
        return refuse("it has no keys (aws_access_key_id, aws_secret_access_key), login or credential_process");
      }
      remember();
      if (keys) {
        Got(*keys);
      } else if (sso) {
        AskSso(at, profile);
      } else {
        AskProgram(at, command);
      }
      return true;
    }
    if (!seen.insert(at).second || roles.size() == kMostRoles) return refuse("its source_profile leads in a circle");
    if (const std::string file = SettingOf(profile, "web_identity_token_file"); !file.empty()) {
      remember();
      AskWebIdentity(role, file, SettingOf(profile, "role_session_name"));
      return true;
    }
    roles.push_back(profile);
    if (const std::string source = SettingOf(profile, "source_profile"); !source.empty()) {
      at = source;
      continue;
    }
    const std::string source = SettingOf(profile, "credential_source");
    if (source == "Ec2InstanceMetadata") {
      remember();
      AskInstance();
      return true;
    }
    const std::string relative = environment_.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const std::string full = environment_.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (source == "EcsContainer" && (!relative.empty() || !full.empty())) {
      remember();
      AskContainer(relative.empty() ? full : absl::StrCat("http://169.254.170.2", relative));
      return true;
    }
    if (source == "Environment")
      return refuse("its credential_source is Environment, where AWS_ACCESS_KEY_ID is not set");
    if (source == "EcsContainer") return refuse("its credential_source is EcsContainer, and this is none");
    return refuse("it has a role_arn without a source_profile");
  }
}

void AwsKeySource::AskSso(const std::string& name, const AwsProfile& profile) {
  const std::string again = absl::StrCat("; `aws sso login --profile ", name,
                                         "`, or keys by "
                                         "`aws configure export-credentials --profile ",
                                         name, " --format env`");
  const std::string who = absl::StrCat("the profile \"", name, "\" logs in by SSO, ");
  const std::string session = SettingOf(profile, "sso_session");
  const AwsProfile login = session.empty() ? profile : SectionOf(absl::StrCat("sso-session ", session));
  const std::string region = SettingOf(login, "sso_region");
  const std::string path = absl::StrCat(environment_.variable("HOME"), "/.aws/sso/cache/",
                                        Sha1(session.empty() ? SettingOf(login, "sso_start_url") : session), ".json");
  const absl::StatusOr<std::string> text = environment_.file(path);
  if (!text.ok()) return Answer(absl::PermissionDeniedError(absl::StrCat(who, "and there is no login", again)));
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const std::string token = json.is_object() ? TextOf(json, "accessToken") : "";
  if (token.empty() || SecondsOf(TextOf(json, "expiresAt")) <= environment_.now()) {
    return Answer(absl::PermissionDeniedError(absl::StrCat(who, "and that login has expired", again)));
  }
  std::string endpoint = environment_.variable("AWS_ENDPOINT_URL_SSO");
  if (endpoint.empty()) endpoint = absl::StrCat("https://portal.sso.", region, ".amazonaws.com");
  if (!MayHoldSecrets(endpoint)) {
    return Answer(absl::PermissionDeniedError("AWS_ENDPOINT_URL_SSO is neither https nor this machine's"));
  }
  HttpRequest request;
  request.url = absl::StrCat(endpoint, "/federation/credentials?",
                             FormOf({{"role_name", SettingOf(profile, "sso_role_name")},
                                     {"account_id", SettingOf(profile, "sso_account_id")}}));
  request.headers = {absl::StrCat("x-amz-sso_bearer_token: ", token)};
  Send(std::move(request), [this, who, again](const absl::StatusOr<HttpResponse>& response) {
    if (response.ok() && response->status == 401) {
      return Answer(absl::PermissionDeniedError(absl::StrCat(who, "and that login has expired", again)));
    }
    TakeSso(who, response);
  });
}

void AwsKeySource::TakeSso(const std::string& who, const absl::StatusOr<HttpResponse>& response) {
  if (!response.ok()) return Answer(absl::UnavailableError(absl::StrCat(who, response.status().message())));
  if (response->status != 200) {
    const std::string text = absl::StrCat(who, "which gives it no keys: HTTP ", response->status,
                                          "; see its sso_account_id and sso_role_name");
    return Answer(response->status >= 500 || response->status == 429 ? absl::UnavailableError(text)
                                                                     : absl::PermissionDeniedError(text));
  }
  const auto json = nlohmann::json::parse(response->body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("roleCredentials") || !json["roleCredentials"].is_object()) {
    return Answer(absl::UnavailableError(absl::StrCat(who, "and the answer holds no keys")));
  }
  const nlohmann::json& given = json["roleCredentials"];
  AwsKeys keys{.id = TextOf(given, "accessKeyId"),
               .secret = TextOf(given, "secretAccessKey"),
               .token = TextOf(given, "sessionToken")};
  if (given.contains("expiration") && given["expiration"].is_number_integer()) {
    keys.ends_at = given["expiration"].get<int64_t>() / 1000;
  }
  Got(keys);
}

void AwsKeySource::AskProgram(const std::string& name, const std::string& command) {
  {
    MutexLock lock(&mutex_);
    if (!stop_.stop_requested()) {
      program_ = Program{name, command};
      if (!programs_.joinable()) programs_ = std::thread([this] { RunPrograms(); });
      program_changed_.NotifyAll();
      return;
    }
  }
  Answer(absl::CancelledError("cancelled"));
}

void AwsKeySource::RunPrograms() {
  for (;;) {
    Program program;
    {
      MutexLock lock(&mutex_);
      while (!program_.has_value() && !stop_.stop_requested()) program_changed_.Wait(&mutex_);
      if (!program_.has_value()) return;
      program = *std::move(program_);
      program_.reset();
    }
    TakeProgram(program.profile,
                environment_.output == nullptr
                    ? absl::StatusOr<std::string>(absl::PermissionDeniedError("no programs are run here"))
                    : environment_.output(program.command, stop_.get_token()));
  }
}

void AwsKeySource::TakeProgram(const std::string& name, const absl::StatusOr<std::string>& output) {
  const std::string who = absl::StrCat("the credential_process of the profile \"", name, "\": ");
  const std::string look = "; run it in a shell to see its own error output";
  if (!output.ok()) {
    return Answer(absl::Status(output.status().code(), absl::StrCat(who, output.status().message(), look)));
  }
  const auto json = nlohmann::json::parse(*output, nullptr, /*allow_exceptions=*/false);
  const bool known = json.is_object() && json.contains("Version") && json["Version"].is_number_integer() &&
                     json["Version"].get<int64_t>() == 1;
  AwsKeys keys;
  if (known) {
    keys = {.id = TextOf(json, "AccessKeyId"),
            .secret = TextOf(json, "SecretAccessKey"),
            .token = TextOf(json, "SessionToken"),
            .ends_at = SecondsOf(TextOf(json, "Expiration"))};
  }
  if (keys.id.empty() || keys.secret.empty()) {
    return Answer(absl::PermissionDeniedError(absl::StrCat(
        who, "it does not print the required JSON (\"Version\": 1, \"AccessKeyId\", \"SecretAccessKey\")", look)));
  }
  if (keys.ends_at != 0 && keys.ends_at <= environment_.now()) {
    return Answer(absl::PermissionDeniedError(absl::StrCat(who, "the keys that it prints have expired")));
  }
  Got(keys);
}

AwsProfile AwsKeySource::ProfileOf(const std::string& name) const {
  AwsProfile all;
  std::string path = environment_.variable("AWS_SHARED_CREDENTIALS_FILE");
  if (path.empty()) path = absl::StrCat(environment_.variable("HOME"), "/.aws/credentials");
  const absl::StatusOr<std::string> text = environment_.file(path);
  if (text.ok()) all = SettingsOf(*text, SectionOfProfile(name, false));
  all.merge(SectionOf(SectionOfProfile(name, true)));  // if both files have a setting, the credentials file wins
  return all;
}

AwsProfile AwsKeySource::SectionOf(const std::string& section) const {
  std::string path = environment_.variable("AWS_CONFIG_FILE");
  if (path.empty()) path = absl::StrCat(environment_.variable("HOME"), "/.aws/config");
  const absl::StatusOr<std::string> text = environment_.file(path);
  return text.ok() ? SettingsOf(*text, section) : AwsProfile();
}

}  // namespace penstock::storage
