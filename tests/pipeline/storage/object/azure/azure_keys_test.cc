// The account of az://, the credentials that open it, and the sources of tokens.
#include "absl/strings/match.h"
#include "pipeline/storage/object/azure/azure_account.h"
#include "pipeline/storage/object/azure/azure_tokens.h"
#include "tests/pipeline/storage/object/key_testing.h"

namespace penstock::storage {
namespace {

using AzureKeysTest = KeyTest;

TEST_F(AzureKeysTest, AConnectionStringSetsEndpointAndCredentials) {
  variables_["AZURE_STORAGE_CONNECTION_STRING"] =
      "DefaultEndpointsProtocol=https;AccountName=mine;AccountKey=a2V5PT0=;EndpointSuffix=core.chinacloudapi.cn";
  const auto account = AzureAccount::FromEnvironment(Machine());
  ASSERT_TRUE(account.ok()) << account.status();
  EXPECT_EQ(account->endpoint, "https://mine.blob.core.chinacloudapi.cn");
  EXPECT_EQ(account->key, "key==");
  EXPECT_EQ(account->opens, AzureAccount::Opens::kKey);
  variables_["AZURE_STORAGE_CONNECTION_STRING"] =
      "BlobEndpoint=https://mine.blob.core.windows.net/;SharedAccessSignature=sv=2021&sig=a%2Fb%3D";
  const auto shared = AzureAccount::FromEnvironment(Machine());
  EXPECT_EQ(shared->endpoint, "https://mine.blob.core.windows.net");
  EXPECT_EQ(shared->sas, "sv=2021&sig=a%2Fb%3D");
  EXPECT_EQ(shared->opens, AzureAccount::Opens::kSas);
  variables_["AZURE_STORAGE_CONNECTION_STRING"] = "UseDevelopmentStorage=true";
  EXPECT_EQ(AzureAccount::FromEnvironment(Machine())->endpoint, "http://127.0.0.1:10000/devstoreaccount1");
}

TEST_F(AzureKeysTest, AnAccountUsesItsKeyOrSignatureOrToken) {
  variables_["AZURE_STORAGE_ACCOUNT"] = "mine";
  EXPECT_EQ(AzureAccount::FromEnvironment(Machine())->endpoint, "https://mine.blob.core.windows.net");
  EXPECT_EQ(AzureAccount::FromEnvironment(Machine())->opens, AzureAccount::Opens::kToken);
  variables_["AZURE_STORAGE_SAS_TOKEN"] = "?sig=x";
  EXPECT_EQ(AzureAccount::FromEnvironment(Machine())->sas, "sig=x");
  variables_["AZURE_STORAGE_KEY"] = "a2V5";
  EXPECT_EQ(AzureAccount::FromEnvironment(Machine())->opens, AzureAccount::Opens::kKey);
  variables_["PENSTOCK_AZURE_UNSIGNED"] = "1";
  EXPECT_EQ(AzureAccount::FromEnvironment(Machine())->opens, AzureAccount::Opens::kNothing);
}

TEST_F(AzureKeysTest, ErrorsNameTheMistakeWithoutSecrets) {
  EXPECT_TRUE(absl::IsNotFound(AzureAccount::FromEnvironment(Machine()).status()));
  variables_["AZURE_STORAGE_ACCOUNT"] = "mine";
  variables_["AZURE_STORAGE_KEY"] = "hunter2!";
  const absl::Status key = AzureAccount::FromEnvironment(Machine()).status();
  EXPECT_TRUE(absl::StrContains(key.message(), "AZURE_STORAGE_KEY is not base64")) << key;
  EXPECT_FALSE(absl::StrContains(key.message(), "hunter2")) << key;
  variables_.erase("AZURE_STORAGE_KEY");
  variables_["AZURE_STORAGE_ACCOUNT_KEY"] = "hunter2!";
  const absl::Status other_name = AzureAccount::FromEnvironment(Machine()).status();
  EXPECT_TRUE(absl::StrContains(other_name.message(), "AZURE_STORAGE_ACCOUNT_KEY is not base64")) << other_name;
  variables_.erase("AZURE_STORAGE_ACCOUNT_KEY");
  variables_["AZURE_STORAGE_SERVICE_ENDPOINT"] = "account.example.com";
  const absl::Status endpoint = AzureAccount::FromEnvironment(Machine()).status();
  EXPECT_TRUE(absl::StrContains(endpoint.message(), "AZURE_STORAGE_SERVICE_ENDPOINT is not")) << endpoint;
  variables_.erase("AZURE_STORAGE_SERVICE_ENDPOINT");
  variables_["AZURE_STORAGE_CONNECTION_STRING"] = "AccountName=mine;BlobEndpoint=account.example.com";
  const absl::Status blob = AzureAccount::FromEnvironment(Machine()).status();
  EXPECT_TRUE(absl::StrContains(blob.message(), "AZURE_STORAGE_CONNECTION_STRING is not")) << blob;
  variables_["AZURE_STORAGE_CONNECTION_STRING"] = "hunter2";
  const absl::Status text = AzureAccount::FromEnvironment(Machine()).status();
  EXPECT_TRUE(absl::StrContains(text.message(), "AccountName")) << text;
  EXPECT_FALSE(absl::StrContains(text.message(), "hunter2")) << text;
}

TEST_F(AzureKeysTest, APodsTokenIsExchanged) {
  variables_["AZURE_FEDERATED_TOKEN_FILE"] = "/token";
  variables_["AZURE_TENANT_ID"] = "tenant";
  variables_["AZURE_CLIENT_ID"] = "client";
  variables_["AZURE_AUTHORITY_HOST"] = server_.url() + "/";
  files_["/token"] = "pod\n";
  AzureTokens tokens(Machine(), &http_);
  EXPECT_EQ(Get(tokens.source())->value, "token-1");
  EXPECT_EQ(Asked()[0].path, "/tenant/oauth2/v2.0/token");
  auto form = support::FieldsOfQuery(Asked()[0].body);
  EXPECT_EQ(form["client_assertion"], "pod");
  EXPECT_EQ(form["scope"], "https://storage.azure.com/.default");
}

TEST_F(AzureKeysTest, ARefusalOfAServicePrincipalHidesItsSecret) {
  variables_["AZURE_CLIENT_SECRET"] = "hunter2";
  variables_["AZURE_TENANT_ID"] = "tenant";
  variables_["AZURE_CLIENT_ID"] = "client";
  variables_["AZURE_AUTHORITY_HOST"] = server_.url();
  answer_ = [](const support::ServedRequest&) {
    return support::ServedAnswer{.status = 401, .body = "{\"error\": \"invalid_client\"}"};
  };
  AzureTokens tokens(Machine(), &http_);
  const absl::Status status = Get(tokens.source()).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "client: HTTP 401: invalid_client")) << status;
  EXPECT_FALSE(absl::StrContains(status.message(), "hunter2")) << status;
}

TEST_F(AzureKeysTest, AMachineUsesItsManagedIdentity) {
  variables_["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = server_.url();
  variables_["AZURE_CLIENT_ID"] = "client";
  AzureTokens tokens(Machine(), &http_);
  EXPECT_EQ(Get(tokens.source())->value, "token-1");
  EXPECT_EQ(Asked()[0].path, "/metadata/identity/oauth2/token");
  EXPECT_EQ(Asked()[0].headers.at("metadata"), "true");
  EXPECT_EQ(support::FieldsOfQuery(Asked()[0].query)["client_id"], "client");
  variables_["IDENTITY_ENDPOINT"] = server_.url() + "/msi";
  variables_["IDENTITY_HEADER"] = "let me";
  AzureTokens of_service(Machine(), &http_);
  EXPECT_TRUE(Get(of_service.source()).ok());
  EXPECT_EQ(Asked()[1].path, "/msi");
  EXPECT_EQ(Asked()[1].headers.at("x-identity-header"), "let me");
}

}  // namespace
}  // namespace penstock::storage
