#include "pipeline/storage/object/gcs/google_tokens.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "pipeline/storage/object/common/answer_fields.h"
#include "pipeline/storage/object/common/object_dialect.h"
#include "pipeline/storage/object/gcs/signed_jwt.h"

namespace penstock::storage {
namespace {

constexpr char kScope[] = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr char kWideScope[] = "https://www.googleapis.com/auth/cloud-platform";  // scope of exchanged tokens
constexpr char kTokens[] = "https://oauth2.googleapis.com/token";
constexpr int64_t kLasts = 3600;  // seconds; Google's maximum
constexpr int64_t kTokenSkew = 60;

CallOptions Urgent() { return {.priority = CallPriority::kUrgent, .stop = {}}; }

}  // namespace

struct GoogleTokens::File {
  std::string path;
  nlohmann::json json;
  bool for_another = false;  // its token is used to request one of another account

  std::string Get(const char* name) const { return TextOf(json, name); }
  std::string Get(const char* name, const char* otherwise) const {
    const std::string value = Get(name);
    return value.empty() ? otherwise : value;
  }
  absl::Status Wrong(const std::string& what) const {
    return absl::PermissionDeniedError(absl::StrCat("the credentials in ", path, ": ", what));
  }
};

GoogleTokens::GoogleTokens(Environment environment, HttpClient* http)
    : environment_(std::move(environment)),
      http_(http),
      source_([this](Done done) { Ask(std::move(done)); }, environment_.now) {}

GoogleTokens::~GoogleTokens() = default;

void GoogleTokens::Ask(Done done) {
  if (const std::string path = environment_.variable("GOOGLE_APPLICATION_CREDENTIALS"); !path.empty()) {
    const absl::StatusOr<std::string> text = environment_.file(path);
    if (!text.ok()) {
      return std::move(done)(
          absl::PermissionDeniedError(absl::StrCat("GOOGLE_APPLICATION_CREDENTIALS: ", text.status().message())));
    }
    return AskAsFileSays(path, *text, std::move(done));
  }
  std::string folder = environment_.variable("CLOUDSDK_CONFIG");
  if (folder.empty()) folder = absl::StrCat(environment_.variable("HOME"), "/.config/gcloud");
  const std::string path = absl::StrCat(folder, "/application_default_credentials.json");
  if (const absl::StatusOr<std::string> text = environment_.file(path); text.ok()) {
    return AskAsFileSays(path, *text, std::move(done));
  }
  AskMachine(std::move(done));
}

void GoogleTokens::AskAsFileSays(const std::string& path, const std::string& text, Done done) {
  auto file = std::make_shared<File>();
  file->path = path;
  file->json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  AskAs(std::move(file), std::make_shared<Done>(std::move(done)));
}

void GoogleTokens::AskAs(std::shared_ptr<const File> file, Shared shared) {
  const std::string type = file->Get("type");
  for (const char* url : {"token_uri", "token_url", "service_account_impersonation_url"}) {
    if (const std::string value = file->Get(url); !value.empty() && !MayHoldSecrets(value)) {
      return std::move(*shared)(file->Wrong(absl::StrCat(url, " is neither https nor this machine's")));
    }
  }
  if (type == "service_account") return AskAsServiceAccount(std::move(file), 0, std::move(shared));
  if (type == "authorized_user") return AskAsUser(std::move(file), std::move(shared));
  if (type == "external_account") return AskAsOther(std::move(file), std::move(shared));
  if (type == "impersonated_service_account" && !file->for_another) {
    return AskAsImpersonator(std::move(file), std::move(shared));
  }
  std::move (*shared)(file->Wrong(type.empty() ? std::string("no JSON with a \"type\"")
                                               : absl::StrCat("\"type\": \"", type,
                                                              "\" is none of service_account, authorized_user, "
                                                              "external_account and impersonated_service_account")));
}

void GoogleTokens::AskAsImpersonator(std::shared_ptr<const File> file, Shared done) {
  if (file->Get("service_account_impersonation_url").empty()) {
    return std::move(*done)(file->Wrong("it has no service_account_impersonation_url"));
  }
  auto source = std::make_shared<File>();
  source->path = absl::StrCat(file->path, " (source_credentials)");
  const auto found = file->json.find("source_credentials");
  if (found != file->json.end()) source->json = *found;
  source->for_another = true;
  AskAs(std::move(source), std::make_shared<Done>([this, file, done](absl::StatusOr<BearerToken> token) {
          if (!token.ok()) return std::move(*done)(std::move(token));
          Impersonate(file, *token, done);
        }));
}

void GoogleTokens::AskAsServiceAccount(std::shared_ptr<const File> file, int tries, Shared done) {
  const std::string url = file->Get("token_uri", kTokens), who = file->Get("client_email");
  const int64_t now = environment_.now() + clock_ahead_.load();
  nlohmann::json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  if (const std::string id = file->Get("private_key_id"); !id.empty()) header["kid"] = id;
  const nlohmann::json claims = {{"iss", who},
                                 {"scope", file->for_another ? kWideScope : kScope},
                                 {"aud", url},
                                 {"iat", now},
                                 {"exp", now + kLasts}};
  // Names may be invalid UTF-8, which is replaced.
  const auto dump = [](const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const absl::StatusOr<std::string> jwt = SignedJwt(dump(header), dump(claims), file->Get("private_key"));
  if (!jwt.ok()) return std::move(*done)(file->Wrong(std::string(jwt.status().message())));
  HttpRequest request =
      PostForm(url, {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"}, {"assertion", *jwt}});
  http_->Send(std::move(request), Urgent(), [this, file, who, tries, done](absl::StatusOr<HttpResponse> response) {
    absl::Time date;
    if (tries == 0 && response.ok() && response->status == 400 &&
        absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", HeaderOf(*response, "date"), &date, nullptr)) {
      const int64_t ahead = absl::ToUnixSeconds(date) - environment_.now();
      if (std::abs(ahead - clock_ahead_.load()) > kTokenSkew) {  // this machine's clock is wrong
        clock_ahead_.store(ahead);
        return AskAsServiceAccount(file, 1, done);
      }
    }
    std::move (*done)(TokenOf(absl::StrCat("Google, asked for a token of ", who), response, environment_.now()));
  });
}

void GoogleTokens::AskAsUser(std::shared_ptr<const File> file, Shared done) {
  HttpRequest request = PostForm(file->Get("token_uri", kTokens), {{"grant_type", "refresh_token"},
                                                                   {"client_id", file->Get("client_id")},
                                                                   {"client_secret", file->Get("client_secret")},
                                                                   {"refresh_token", file->Get("refresh_token")}});
  http_->Send(std::move(request), Urgent(), [this, file, done](absl::StatusOr<HttpResponse> response) {
    std::move (*done)(
        TokenOf(absl::StrCat("Google, asked for a token of the user in ", file->path), response, environment_.now()));
  });
}

void GoogleTokens::AskAsOther(std::shared_ptr<const File> file, Shared done) {
  const auto found = file->json.find("credential_source");
  const nlohmann::json source = found == file->json.end() ? nlohmann::json() : *found;
  const nlohmann::json format = source.is_object() && source.contains("format") ? source["format"] : nlohmann::json();
  const std::string field = TextOf(format, "type") == "json" ? TextOf(format, "subject_token_field_name") : "";
  // The token is the whole text, or a field of JSON.
  const auto take = [this, file, done, field](const std::string& text) {
    std::string subject(absl::StripAsciiWhitespace(text));
    if (!field.empty())
      subject = TextOf(nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false), field.c_str());
    if (subject.empty()) return std::move(*done)(file->Wrong("its credential_source holds no token"));
    Exchange(file, subject, done);
  };
  if (const std::string path = TextOf(source, "file"); !path.empty()) {
    const absl::StatusOr<std::string> text = environment_.file(path);
    if (!text.ok()) return std::move(*done)(file->Wrong(std::string(text.status().message())));
    return take(*text);
  }
  if (const std::string url = TextOf(source, "url"); !url.empty() && !source.contains("environment_id")) {
    HttpRequest request;
    request.url = url;
    if (source.contains("headers") && source["headers"].is_object()) {
      for (const auto& [name, value] : source["headers"].items()) {
        if (!value.is_string()) continue;
        request.headers.push_back(absl::StrCat(name, ": ", value.get<std::string>()));
        request.secrets.push_back(value.get<std::string>());
      }
    }
    return http_->Send(std::move(request), Urgent(), [take, done](absl::StatusOr<HttpResponse> response) {
      const absl::Status refused = WhyRefused("the credential_source", response);
      if (!refused.ok()) return std::move(*done)(refused);
      take(response->body);
    });
  }
  const bool of_aws = source.is_object() && source.contains("environment_id");
  std::move (*done)(file->Wrong(absl::StrCat(
      of_aws                                                ? "its credential_source is AWS (environment_id)"
      : source.is_object() && source.contains("executable") ? "its credential_source is a program (executable)"
                                                            : "its credential_source is neither a file nor a URL",
      ", which is not followed; have the token written to a file, and name that in credential_source.file, or take "
      "the key or login of a service account (`gcloud auth application-default login`)")));
}

void GoogleTokens::Exchange(std::shared_ptr<const File> file, const std::string& subject, Shared done) {
  const bool impersonates = !file->Get("service_account_impersonation_url").empty();
  const bool wide = impersonates || file->for_another;
  HttpRequest request = PostForm(file->Get("token_url", "https://sts.googleapis.com/v1/token"),
                                 {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                                  {"audience", file->Get("audience")},
                                  {"scope", wide ? kWideScope : kScope},
                                  {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                                  {"subject_token_type", file->Get("subject_token_type")},
                                  {"subject_token", subject}});
  http_->Send(std::move(request), Urgent(), [this, file, impersonates, done](absl::StatusOr<HttpResponse> response) {
    absl::StatusOr<BearerToken> token = TokenOf("Google, asked to exchange a token", response, environment_.now());
    if (token.ok() && impersonates) return Impersonate(file, *token, done);
    std::move (*done)(std::move(token));
  });
}

void GoogleTokens::Impersonate(std::shared_ptr<const File> file, const BearerToken& token, Shared done) {
  HttpRequest request;
  request.method = HttpRequest::Method::kPost;
  request.url = file->Get("service_account_impersonation_url");
  request.headers = {"Content-Type: application/json", absl::StrCat("Authorization: Bearer ", token.value)};
  const char* const scope = file->for_another ? kWideScope : kScope;
  nlohmann::json body = {{"scope", {scope}}, {"lifetime", absl::StrCat(kLasts, "s")}};
  if (const auto delegates = file->json.find("delegates"); delegates != file->json.end() && delegates->is_array()) {
    body["delegates"] = *delegates;
  }
  request.body = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  http_->Send(std::move(request), Urgent(), [done](absl::StatusOr<HttpResponse> response) {
    const absl::Status refused = WhyRefused("Google, asked for a token of the service account", response);
    if (!refused.ok()) return std::move(*done)(refused);
    const auto json = nlohmann::json::parse(response->body, nullptr, /*allow_exceptions=*/false);
    BearerToken given{.value = TextOf(json, "accessToken"), .ends_at = SecondsOf(TextOf(json, "expireTime"))};
    if (given.value.empty() || given.ends_at == 0) {
      return std::move(*done)(absl::UnavailableError("Google's answer holds no token of the service account"));
    }
    std::move (*done)(std::move(given));
  });
}

void GoogleTokens::AskMachine(Done done) {
  const auto nobody = [] {
    return absl::NotFoundError(
        "there are no keys for gs:// here: no GOOGLE_APPLICATION_CREDENTIALS, no login of gcloud "
        "(`gcloud auth application-default login`), and no metadata service of the machine. Provide one of them, or "
        "PENSTOCK_GCS_UNSIGNED=1 if the bucket is public");
  };
  if (Says(environment_, "NO_GCE_CHECK")) return std::move(done)(nobody());
  std::string host = environment_.variable("GCE_METADATA_HOST");
  if (host.empty()) host = "metadata.google.internal";
  HttpRequest request;
  request.url = absl::StrCat("http://", host, "/computeMetadata/v1/instance/service-accounts/default/token");
  request.headers = {"Metadata-Flavor: Google"};
  request.direct = true;
  request.connecting = kSecond;
  http_->Send(std::move(request), Urgent(),
              [this, nobody, done = std::move(done)](absl::StatusOr<HttpResponse> response) mutable {
                if (!response.ok() && machine_answers_.load()) {
                  return std::move(done)(WhyRefused("the machine's metadata service", response));
                }
                if (!response.ok()) return std::move(done)(nobody());
                machine_answers_.store(true);
                if (response->status == 404) {
                  return std::move(done)(absl::NotFoundError(
                      "this machine has no service account (its metadata service names none), and there are no other "
                      "keys for gs://; give it one, or set GOOGLE_APPLICATION_CREDENTIALS"));
                }
                std::move(done)(TokenOf("the machine's metadata service", response, environment_.now()));
              });
}

}  // namespace penstock::storage
