#include "pipeline/storage/object/azure/azure_account.h"

#include <initializer_list>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/url.h"

namespace penstock::storage {
namespace {

constexpr char kConnectionString[] = "AZURE_STORAGE_CONNECTION_STRING", kEndpoint[] = "AZURE_STORAGE_SERVICE_ENDPOINT";
constexpr char kSuffix[] = "core.windows.net";
// The default account of the emulator Azurite. Its key is public.
// https://learn.microsoft.com/en-us/azure/storage/common/storage-connect-azurite
constexpr char kDevelopment[] =
    "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey="
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6I"
    "FsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1";

// Parses "name=value;name=value". Returns the values by name, with names in lower case. Ignores parts without '='.
std::map<std::string, std::string> FieldsOf(absl::string_view text) {
  std::map<std::string, std::string> fields;
  for (const absl::string_view part : absl::StrSplit(text, ';')) {
    const size_t equals = part.find('=');
    if (equals == absl::string_view::npos) continue;
    fields[absl::AsciiStrToLower(absl::StripAsciiWhitespace(part.substr(0, equals)))] =
        std::string(absl::StripAsciiWhitespace(part.substr(equals + 1)));
  }
  return fields;
}

std::string WithoutQuestionMark(const std::string& sas) { return absl::StartsWith(sas, "?") ? sas.substr(1) : sas; }

// Sets the account's credentials: the key if there is one, otherwise the shared access signature if there is one.
// `from` is the name of the variable that has the key, for the error message.
absl::Status Open(AzureAccount* account, const std::string& key, const std::string& sas, const std::string& from) {
  if (!key.empty()) {
    account->opens = AzureAccount::Opens::kKey;
    if (!absl::Base64Unescape(key, &account->key) || account->key.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the account's key in ", from, " is not base64; copy it from the account's access keys"));
    }
  } else if (!sas.empty()) {
    account->opens = AzureAccount::Opens::kSas;
    account->sas = WithoutQuestionMark(sas);
  }
  return absl::OkStatus();
}

absl::StatusOr<AzureAccount> OfConnectionString(const std::string& text) {
  auto fields = FieldsOf(text);
  if (absl::EqualsIgnoreCase(fields["usedevelopmentstorage"], "true")) fields = FieldsOf(kDevelopment);
  AzureAccount account;
  account.name = fields["accountname"];
  account.endpoint = WithoutLastSlashes(fields["blobendpoint"]);
  if (account.endpoint.empty()) {
    if (account.name.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(kConnectionString,
                       " has neither AccountName=... nor BlobEndpoint=...; copy it from the account's access keys"));
    }
    const std::string protocol = fields["defaultendpointsprotocol"], suffix = fields["endpointsuffix"];
    account.endpoint = absl::StrCat(protocol.empty() ? "https" : protocol, "://", account.name, ".blob.",
                                    suffix.empty() ? kSuffix : suffix);
  }
  if (absl::Status wrong = Open(&account, fields["accountkey"], fields["sharedaccesssignature"], kConnectionString);
      !wrong.ok()) {
    return wrong;
  }
  if (account.opens == AzureAccount::Opens::kKey && account.name.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(kConnectionString, " has an AccountKey, but no AccountName"));
  }
  return account;
}

}  // namespace

absl::StatusOr<AzureAccount> AzureAccount::FromEnvironment(const Environment& environment) {
  struct Variable {
    const char* variable = "";
    std::string value = {};
  };
  const auto first = [&environment](std::initializer_list<const char*> names) {
    for (const char* variable : names) {
      if (std::string value = environment.variable(variable); !value.empty())
        return Variable{variable, std::move(value)};
    }
    return Variable();
  };
  absl::StatusOr<AzureAccount> account = AzureAccount();
  if (const std::string text = environment.variable(kConnectionString); !text.empty()) {
    account = OfConnectionString(text);
    if (!account.ok()) return account;
  } else {
    account->name = first({"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"}).value;
    if (account->name.empty()) {
      return absl::NotFoundError(
          "no storage account is named for az://: set AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_CONNECTION_STRING");
    }
    account->endpoint = absl::StrCat("https://", account->name, ".blob.", kSuffix);
    const Variable key = first({"AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY"});
    absl::Status wrong = Open(&*account, key.value, environment.variable("AZURE_STORAGE_SAS_TOKEN"), key.variable);
    if (!wrong.ok()) return wrong;
  }
  const std::string endpoint = environment.variable(kEndpoint);
  if (!endpoint.empty()) account->endpoint = WithoutLastSlashes(endpoint);
  if (Says(environment, "PENSTOCK_AZURE_UNSIGNED")) account->opens = Opens::kNothing;
  const bool http = absl::StartsWith(account->endpoint, "http://");
  if (!http && !absl::StartsWith(account->endpoint, "https://")) {
    return absl::InvalidArgumentError(absl::StrCat("the endpoint in ", endpoint.empty() ? kConnectionString : kEndpoint,
                                                   " is not an http:// or https:// URL"));
  }
  return account;
}

}  // namespace penstock::storage
