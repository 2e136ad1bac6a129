#include "pipeline/storage/object/azure/azure_tokens.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace penstock::storage {
namespace {

constexpr char kStorage[] = "https://storage.azure.com/";

}  // namespace

AzureTokens::AzureTokens(Environment environment, HttpClient* http)
    : environment_(std::move(environment)),
      http_(http),
      source_([this](CallDone<BearerToken> done) { Ask(std::move(done)); }, environment_.now) {}

void AzureTokens::Ask(CallDone<BearerToken> done) {
  const auto has = [this](const char* name) { return !environment_.variable(name).empty(); };
  if (has("AZURE_FEDERATED_TOKEN_FILE") || has("AZURE_CLIENT_SECRET")) return AskDirectory(std::move(done));
  AskMachine(std::move(done));
}

void AzureTokens::AskDirectory(CallDone<BearerToken> done) {
  const std::string tenant = environment_.variable("AZURE_TENANT_ID"),
                    client = environment_.variable("AZURE_CLIENT_ID");
  if (tenant.empty() || client.empty()) {
    return std::move(done)(absl::PermissionDeniedError(
        "AZURE_FEDERATED_TOKEN_FILE and AZURE_CLIENT_SECRET need AZURE_TENANT_ID and AZURE_CLIENT_ID besides"));
  }
  std::string authority = environment_.variable("AZURE_AUTHORITY_HOST");
  if (authority.empty()) authority = "https://login.microsoftonline.com";
  while (!authority.empty() && authority.back() == '/') authority.pop_back();
  if (!MayHoldSecrets(authority)) {
    return std::move(done)(absl::PermissionDeniedError("AZURE_AUTHORITY_HOST is neither https nor this machine's"));
  }
  std::vector<std::pair<std::string, std::string>> fields = {
      {"grant_type", "client_credentials"}, {"client_id", client}, {"scope", absl::StrCat(kStorage, ".default")}};
  if (const std::string path = environment_.variable("AZURE_FEDERATED_TOKEN_FILE"); !path.empty()) {
    // Read each time, because the cluster replaces the file.
    const absl::StatusOr<std::string> text = environment_.file(path);
    if (!text.ok()) {
      return std::move(done)(
          absl::PermissionDeniedError(absl::StrCat("AZURE_FEDERATED_TOKEN_FILE: ", text.status().message())));
    }
    fields.emplace_back("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    fields.emplace_back("client_assertion", std::string(absl::StripAsciiWhitespace(*text)));
  } else {
    fields.emplace_back("client_secret", environment_.variable("AZURE_CLIENT_SECRET"));
  }
  http_->Send(PostForm(absl::StrCat(authority, "/", tenant, "/oauth2/v2.0/token"), fields),
              {.priority = CallPriority::kUrgent, .stop = {}},
              [this, client, done = std::move(done)](absl::StatusOr<HttpResponse> response) mutable {
                std::move(done)(TokenOf(absl::StrCat("Entra ID, asked for a token of the client ", client), response,
                                        environment_.now()));
              });
}

void AzureTokens::AskMachine(CallDone<BearerToken> done) {
  std::vector<std::pair<std::string, std::string>> query = {{"resource", kStorage}};
  if (const std::string client = environment_.variable("AZURE_CLIENT_ID"); !client.empty()) {
    query.emplace_back("client_id", client);
  }
  HttpRequest request;
  const std::string endpoint = environment_.variable("IDENTITY_ENDPOINT"),
                    header = environment_.variable("IDENTITY_HEADER");
  if (!endpoint.empty() && !header.empty()) {
    query.emplace_back("api-version", "2019-08-01");
    request.url = absl::StrCat(endpoint, "?", FormOf(query));
    request.headers = {absl::StrCat("X-IDENTITY-HEADER: ", header)};
  } else {
    query.emplace_back("api-version", "2018-02-01");
    std::string host = environment_.variable("AZURE_POD_IDENTITY_AUTHORITY_HOST");
    if (host.empty()) host = "http://169.254.169.254";
    while (!host.empty() && host.back() == '/') host.pop_back();
    request.url = absl::StrCat(host, "/metadata/identity/oauth2/token?", FormOf(query));
    request.headers = {"Metadata: true"};
  }
  request.connecting = kSecond;
  request.direct = true;
  http_->Send(
      std::move(request), {.priority = CallPriority::kUrgent, .stop = {}},
      [this, done = std::move(done)](absl::StatusOr<HttpResponse> response) mutable {
        if (!response.ok() && !machine_answers_.load()) {
          return std::move(done)(absl::NotFoundError(
              "there are no keys for az:// here: no AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or "
              "AZURE_STORAGE_CONNECTION_STRING, no identity of a pod, no AZURE_CLIENT_SECRET, and no metadata "
              "service of the machine. Provide one of them, or PENSTOCK_AZURE_UNSIGNED=1 if the container is public"));
        }
        machine_answers_.store(true);
        std::move(done)(TokenOf("the machine's metadata service", response, environment_.now()));
      });
}

}  // namespace penstock::storage
