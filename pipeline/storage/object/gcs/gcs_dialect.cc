#include "pipeline/storage/object/gcs/gcs_dialect.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pipeline/storage/object/common/bearer_token.h"

namespace penstock::storage {
namespace {

constexpr char kObjects[] = "/storage/v1/b/";
constexpr size_t kLongestGcsError = 300;

// Google's JSON has 64-bit numbers as strings. Some emulators have numbers.
std::string Text(const nlohmann::json& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  if (!json.is_object() || found == json.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number_integer() ? found->dump() : "";
}

nlohmann::json Parsed(const std::string& text) {
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

absl::StatusOr<FileInfo> StateOfJson(const std::string& name, const nlohmann::json& object) {
  FileInfo info;
  info.tag = Text(object, "generation");
  if (!absl::SimpleAtoi(Text(object, "size"), &info.size)) {
    return absl::UnavailableError(absl::StrCat(name, ": the answer does not contain its size"));
  }
  return info;
}

}  // namespace

GcsOptions GcsOptions::FromEnvironment(const Environment& environment) {
  GcsOptions options;
  if (std::string emulator = environment.variable("STORAGE_EMULATOR_HOST"); !emulator.empty()) {
    if (!absl::StrContains(emulator, "://")) emulator.insert(0, "http://");
    while (emulator.back() == '/') emulator.pop_back();
    options.endpoint = emulator;
    options.is_signed = false;
  }
  // gcloud's variable for a private endpoint, whose requests carry a token.
  if (std::string other = environment.variable("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE");
      options.is_signed && MayHoldSecrets(other)) {
    other.resize(other.find("/storage/v1") == std::string::npos ? other.size() : other.find("/storage/v1"));
    while (other.back() == '/') other.pop_back();
    options.endpoint = other;
  }
  if (Says(environment, "PENSTOCK_GCS_UNSIGNED")) options.is_signed = false;
  options.project = environment.variable("GOOGLE_CLOUD_QUOTA_PROJECT");
  return options;
}

void GcsDialect::Prepare(const ObjectName& name, CallDone<bool> done) {
  if (!options_.is_signed) return std::move(done)(true);
  tokens_->Get([name, done = std::move(done)](const absl::StatusOr<BearerToken>& token) mutable {
    std::move(done)(Prepared(name, token.status()));
  });
}

HttpRequest GcsDialect::Request(const std::string& api, const ObjectName& name, const std::string& key,
                                const std::vector<std::pair<std::string, std::string>>& query) {
  HttpRequest request;
  request.url = absl::StrCat(options_.endpoint, api, PercentEncoded(name.place), "/o", key.empty() ? "" : "/",
                             PercentEncoded(key), query.empty() ? "" : "?", FormOf(query));
  if (options_.is_signed) {
    request.headers.push_back(absl::StrCat("Authorization: Bearer ", tokens_->Current().value));
    if (!options_.project.empty()) request.headers.push_back(absl::StrCat("x-goog-user-project: ", options_.project));
  }
  return request;
}

HttpRequest GcsDialect::Head(const ObjectName& name) {
  return Request(kObjects, name, name.key, {{"fields", "size,generation"}});
}

HttpRequest GcsDialect::Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) {
  HttpRequest request = Request(kObjects, name, name.key, {{"alt", "media"}, {"ifGenerationMatch", state.tag}});
  request.headers.push_back(absl::StrCat("Range: bytes=", offset, "-", offset + length - 1));
  // Returns compressed objects as they are stored. Ranges would have no meaning if the storage unpacked them.
  request.headers.emplace_back("Accept-Encoding: gzip");
  return request;
}

absl::StatusOr<HttpRequest> GcsDialect::List(const ObjectName& name, const std::string& page, size_t most) {
  std::vector<std::pair<std::string, std::string>> query = {
      {"delimiter", "/"},
      {"maxResults", absl::StrCat(most)},
      {"fields", "items(name,size,generation),prefixes,nextPageToken"}};
  if (!name.key.empty()) query.emplace_back("prefix", name.key + "/");
  if (!page.empty()) query.emplace_back("pageToken", page);
  return Request(kObjects, name, "", query);
}

absl::StatusOr<FileInfo> GcsDialect::StateOf(const ObjectName& name, const HttpResponse& response) {
  if (!response.body.empty()) return StateOfJson(ToString(name), Parsed(response.body));
  absl::StatusOr<FileInfo> info = StateOfHeaders(name, response);
  if (info.ok()) info->tag = HeaderOf(response, "x-goog-generation");
  return info;
}

absl::StatusOr<ObjectPage> GcsDialect::PageOf(const ObjectName& name, const HttpResponse& response) {
  const nlohmann::json root = Parsed(response.body);
  if (!root.is_object()) {
    return absl::UnavailableError(absl::StrCat(ToString(name), ": the answer to a listing is none"));
  }
  const size_t prefix = name.key.empty() ? 0 : name.key.size() + 1;
  ObjectPage page;
  if (const auto items = root.find("items"); items != root.end() && items->is_array()) {
    for (const nlohmann::json& item : *items) {
      const std::string key = Text(item, "name");
      if (key.size() <= prefix || key.back() == '/') continue;  // some tools create an object for the folder itself
      absl::StatusOr<FileInfo> info = StateOfJson(absl::StrCat("gs://", name.place, "/", key), item);
      if (!info.ok()) return info.status();
      page.objects.push_back({.name = key.substr(prefix), .folder = false, .info = *std::move(info)});
    }
  }
  if (const auto prefixes = root.find("prefixes"); prefixes != root.end() && prefixes->is_array()) {
    for (const nlohmann::json& each : *prefixes) {
      const std::string key = each.is_string() ? each.get<std::string>() : "";
      if (key.size() <= prefix + 1 || key.back() != '/') continue;
      page.objects.push_back({.name = key.substr(prefix, key.size() - prefix - 1), .folder = true, .info = {}});
    }
  }
  page.next = Text(root, "nextPageToken");
  return page;
}

ObjectError GcsDialect::ErrorOf(const ObjectName& name, const HttpResponse& response) {
  const nlohmann::json root = Parsed(response.body);
  // Responses to requests for bytes are plain text.
  std::string why = root.is_discarded() ? response.body : "";
  if (root.is_object() && root.contains("error")) why = Text(root["error"], "message");
  why.resize(std::min({why.size(), why.find_first_of("\r\n"), kLongestGcsError}));
  ObjectError error = HttpError(name, response, why);
  if (response.status == 404 && absl::StrContains(why, "bucket does not exist")) {
    error.status = absl::NotFoundError(absl::StrCat("there is no bucket gs://", name.place));
  }
  if (response.status == 401 && options_.is_signed) {
    tokens_->Forget(tokens_->Current().value);
    error.cure = ObjectError::Cure::kRenewed;
  }
  if ((response.status == 401 || response.status == 403) && !options_.is_signed) {
    error.status = absl::PermissionDeniedError(
        absl::StrCat(error.status.message(), "; requests hold no token, because PENSTOCK_GCS_UNSIGNED is set"));
  }
  return error;
}

}  // namespace penstock::storage
