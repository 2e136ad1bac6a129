#include "pipeline/storage/object/azure/azure_dialect.h"

#include <cstdlib>
#include <pugixml.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "pipeline/storage/object/azure/azure_signature.h"

namespace penstock::storage {
namespace {

constexpr char kVersion[] = "2021-12-02";

std::string WithoutQuotes(const std::string& tag) {
  return tag.size() >= 2 && tag.front() == '"' && tag.back() == '"' ? tag.substr(1, tag.size() - 2) : tag;
}

}  // namespace

std::string AzureTagOf(const HttpResponse& response) { return WithoutQuotes(HeaderOf(response, "etag")); }

void AzureDialect::Prepare(const ObjectName& name, CallDone<bool> done) {
  if (!account_.ok()) {
    return std::move(done)(
        absl::PermissionDeniedError(absl::StrCat(ToString(name), ": ", account_.status().message())));
  }
  if (account_->opens != AzureAccount::Opens::kToken) return std::move(done)(true);
  tokens_->Get([name, done = std::move(done)](const absl::StatusOr<BearerToken>& token) mutable {
    std::move(done)(Prepared(name, token.status()));
  });
}

HttpRequest AzureDialect::Request(HttpRequest::Method method, const ObjectName& name, const std::string& key,
                                  const Pairs& query, std::map<std::string, std::string> headers, std::string body) {
  const AzureAccount& account = *account_;
  const std::string path =
      absl::StrCat("/", PercentEncoded(name.place, "$"), key.empty() ? "" : "/", PercentEncoded(key, "/"));
  headers["x-ms-date"] = HttpDate(clock_.Now());
  headers["x-ms-version"] = kVersion;
  HttpRequest request;
  request.method = method;
  request.url = absl::StrCat(account.endpoint, path, query.empty() ? "" : "?", FormOf(query));
  request.body = std::move(body);
  switch (account.opens) {
    case AzureAccount::Opens::kKey: {
      const size_t slash = account.endpoint.find('/', account.endpoint.find("://") + 3);
      AzureRequest to_sign;
      to_sign.method = NameOf(method);
      to_sign.account = account.name;
      to_sign.path = absl::StrCat(slash == std::string::npos ? "" : account.endpoint.substr(slash), path);
      to_sign.query = query;
      to_sign.headers = headers;
      to_sign.body_size = request.body.size();
      headers["authorization"] = AzureAuthorization(to_sign, account.key);
      break;
    }
    case AzureAccount::Opens::kSas:
      absl::StrAppend(&request.url, query.empty() ? "?" : "&", account.sas);
      break;
    case AzureAccount::Opens::kToken:
      headers["authorization"] = absl::StrCat("Bearer ", tokens_->Current().value);
      break;
    case AzureAccount::Opens::kNothing:
      break;
  }
  for (const auto& [header, value] : headers) request.headers.push_back(absl::StrCat(header, ": ", value));
  return request;
}

// HEAD suffices, because Azure repeats the reason of an error in a header.
HttpRequest AzureDialect::Head(const ObjectName& name) {
  return Request(HttpRequest::Method::kHead, name, name.key, {}, {});
}

HttpRequest AzureDialect::Range(const ObjectName& name, const FileInfo& state, uint64_t offset, uint64_t length) {
  std::map<std::string, std::string> headers = {
      {"x-ms-range", absl::StrCat("bytes=", offset, "-", offset + length - 1)}};
  if (!state.tag.empty()) headers["if-match"] = absl::StrCat("\"", state.tag, "\"");
  return Request(HttpRequest::Method::kGet, name, name.key, {}, std::move(headers));
}

absl::StatusOr<HttpRequest> AzureDialect::List(const ObjectName& name, const std::string& page, size_t most) {
  Pairs query = {{"restype", "container"}, {"comp", "list"}, {"delimiter", "/"}, {"maxresults", absl::StrCat(most)}};
  if (!name.key.empty()) query.emplace_back("prefix", name.key + "/");
  if (!page.empty()) query.emplace_back("marker", page);
  return Request(HttpRequest::Method::kGet, name, "", query, {});
}

absl::StatusOr<FileInfo> AzureDialect::StateOf(const ObjectName& name, const HttpResponse& response) {
  // Accounts with a hierarchical namespace have folders, which appear as empty blobs.
  if (HeaderOf(response, "x-ms-resource-type") == "directory" ||
      HeaderOf(response, "x-ms-meta-hdi_isfolder") == "true") {
    return absl::NotFoundError(absl::StrCat(ToString(name), " is a folder"));
  }
  absl::StatusOr<FileInfo> info = StateOfHeaders(name, response);
  if (info.ok()) info->tag = WithoutQuotes(info->tag);
  return info;
}

absl::StatusOr<ObjectPage> AzureDialect::PageOf(const ObjectName& name, const HttpResponse& response) {
  pugi::xml_document document;
  const pugi::xml_node root = document.load_buffer(response.body.data(), response.body.size())
                                  ? document.child("EnumerationResults")
                                  : pugi::xml_node();
  if (!root) return absl::UnavailableError(absl::StrCat(ToString(name), ": the answer to a listing is none"));
  const size_t prefix = name.key.empty() ? 0 : name.key.size() + 1;
  ObjectPage page;
  for (const pugi::xml_node& entry : root.child("Blobs").children()) {
    const std::string key = entry.child("Name").text().as_string();
    if (absl::string_view(entry.name()) == "BlobPrefix") {
      if (key.size() <= prefix + 1 || key.back() != '/') continue;
      page.objects.push_back({.name = key.substr(prefix, key.size() - prefix - 1), .folder = true, .info = {}});
      continue;
    }
    const pugi::xml_node properties = entry.child("Properties");
    const absl::string_view type = properties.child("ResourceType").text().as_string();
    if (key.size() <= prefix || key.back() == '/' || type == "directory") continue;
    ListedObject object{.name = key.substr(prefix), .folder = false, .info = {}};
    object.info.tag = WithoutQuotes(properties.child("Etag").text().as_string());
    if (!absl::SimpleAtoi(properties.child("Content-Length").text().as_string(), &object.info.size)) {
      return absl::UnavailableError(absl::StrCat(ToString(name), ": a listing without the size of ", key));
    }
    page.objects.push_back(std::move(object));
  }
  page.next = root.child("NextMarker").text().as_string();
  return page;
}

ObjectError AzureDialect::ErrorOf(const ObjectName& name, const HttpResponse& response) {
  pugi::xml_document document;
  document.load_buffer(response.body.data(), response.body.size());
  const auto text = [&document](const char* field) {
    const std::string all = document.document_element().child(field).text().as_string();
    return all.substr(0, all.find_first_of("\r\n"));  // the request's id and the signed text follow
  };
  std::string code = HeaderOf(response, "x-ms-error-code");
  if (code.empty()) code = text("Code");
  const std::string message = text("Message");
  ObjectError error = HttpError(name, response, absl::StrCat(code, message.empty() ? "" : ": ", message));
  if (code == "ContainerNotFound") {
    error.status = absl::NotFoundError(
        absl::StrCat("there is no container az://", name.place, " in the account at ", account_->endpoint));
  }
  if (code == "BlobAlreadyExists") error.status = absl::AbortedError(absl::StrCat(ToString(name), " is there already"));
  if (code == "AuthenticationFailed" && clock_.Learn(response)) {
    error.cure = ObjectError::Cure::kRenewed;
    return error;
  }
  const bool by_token = account_->opens == AzureAccount::Opens::kToken;
  if (by_token && (response.status == 401 || code == "InvalidAuthenticationInfo")) {
    tokens_->Forget(tokens_->Current().value);
    error.cure = ObjectError::Cure::kRenewed;
  }
  if ((response.status == 401 || response.status == 403 || response.status == 409) &&
      account_->opens == AzureAccount::Opens::kNothing) {
    error.status = absl::PermissionDeniedError(
        absl::StrCat(error.status.message(), "; requests are not signed, because PENSTOCK_AZURE_UNSIGNED is set"));
  }
  return error;
}

}  // namespace penstock::storage
