// The sources of tokens for Google's storage, and the message if there are none.
#include "pipeline/storage/object/gcs/google_tokens.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/pipeline/storage/object/key_testing.h"

namespace penstock::storage {
namespace {

struct RsaKey {
  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key{EVP_RSA_gen(2048), &EVP_PKEY_free};
  std::string Pem() const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
    PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(out.get(), &data);
    return {data, static_cast<size_t>(size)};
  }
  bool Signed(const std::string& text, const std::string& signature) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
    const auto bytes = [](const std::string& from) { return reinterpret_cast<const unsigned char*>(from.data()); };
    return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
           EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text), text.size()) == 1;
  }
};

nlohmann::json Unpacked(const std::string& part) {
  std::string text;
  EXPECT_TRUE(absl::WebSafeBase64Unescape(part, &text));
  return nlohmann::json::parse(text);
}

class GoogleTokensTest : public KeyTest {
 protected:
  GoogleTokensTest() { variables_["NO_GCE_CHECK"] = "true"; }
  void Use(nlohmann::json file) {
    variables_["GOOGLE_APPLICATION_CREDENTIALS"] = "/key.json";
    files_["/key.json"] = file.dump();
  }
  nlohmann::json ServiceAccount() {
    return {{"type", "service_account"},
            {"client_email", "train@project.iam"},
            {"private_key_id", "k1"},
            {"private_key", key_.Pem()},
            {"token_uri", server_.url() + "/token"}};
  }

  RsaKey key_;
};

TEST_F(GoogleTokensTest, AServiceAccountAuthenticatesBySignature) {
  Use(ServiceAccount());
  GoogleTokens tokens(Machine(), &http_);
  EXPECT_EQ(Get(tokens.source())->value, "token-1");
  ASSERT_EQ(Asked().size(), 1u);
  auto form = support::FieldsOfQuery(Asked()[0].body);
  EXPECT_EQ(Asked()[0].path, "/token");
  EXPECT_EQ(form["grant_type"], "urn:ietf:params:oauth:grant-type:jwt-bearer");
  const std::vector<std::string> parts = absl::StrSplit(form["assertion"], '.');
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(Unpacked(parts[0]), (nlohmann::json{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "k1"}}));
  const nlohmann::json claims = Unpacked(parts[1]);
  EXPECT_EQ(claims["iss"], "train@project.iam");
  EXPECT_EQ(claims["aud"], server_.url() + "/token");
  EXPECT_EQ(claims["iat"], now_.load());
  EXPECT_EQ(claims["exp"], now_.load() + 3600);
  std::string signature;
  ASSERT_TRUE(absl::WebSafeBase64Unescape(parts[2], &signature));
  EXPECT_TRUE(key_.Signed(parts[0] + "." + parts[1], signature));
  now_ += 3500;
  EXPECT_TRUE(Get(tokens.source()).ok());
  EXPECT_EQ(Asked().size(), 2u) << "an expired token is fetched again";
}

TEST_F(GoogleTokensTest, AWrongClockIsCorrectedByGooglesAnswer) {
  Use(ServiceAccount());
  answer_ = [](const support::ServedRequest& request) {
    const std::vector<std::string> parts = absl::StrSplit(support::FieldsOfQuery(request.body)["assertion"], '.');
    if (Unpacked(parts[1])["iat"] == 1'790'003'600) {
      return support::ServedAnswer{.body = "{\"access_token\": \"late\", \"expires_in\": 3600}"};
    }
    return support::ServedAnswer{.status = 400,
                                 .headers = {{"Date", "Mon, 21 Sep 2026 15:13:20 GMT"}},
                                 .body = "{\"error\": \"invalid_grant\"}"};
  };
  GoogleTokens tokens(Machine(), &http_);
  EXPECT_EQ(Get(tokens.source())->value, "late");
}

TEST_F(GoogleTokensTest, TheLoginOfAUserIsRefreshed) {
  variables_["CLOUDSDK_CONFIG"] = "/config";
  files_["/config/application_default_credentials.json"] = nlohmann::json{
      {"type", "authorized_user"},
      {"client_id", "id"},
      {"client_secret", "hunter2"},
      {"refresh_token", "1//hunter2"},
      {"token_uri", server_.url()}}.dump();
  GoogleTokens tokens(Machine(), &http_);
  EXPECT_EQ(Get(tokens.source())->value, "token-1");
  const auto form = support::FieldsOfQuery(Asked()[0].body);
  EXPECT_EQ(form, (std::map<std::string, std::string>{{"grant_type", "refresh_token"},
                                                      {"client_id", "id"},
                                                      {"client_secret", "hunter2"},
                                                      {"refresh_token", "1//hunter2"}}));
}

TEST_F(GoogleTokensTest, AnExternalTokenIsExchangedForThatOfAServiceAccount) {
  nlohmann::json file = {{"type", "external_account"},
                         {"audience", "//iam/pool"},
                         {"subject_token_type", "urn:ietf:params:oauth:token-type:jwt"},
                         {"token_url", server_.url() + "/sts"},
                         {"service_account_impersonation_url", server_.url() + "/impersonate"},
                         {"credential_source",
                          {{"file", "/var/token"}, {"format", {{"type", "json"}, {"subject_token_field_name", "t"}}}}}};
  files_["/var/token"] = "{\"t\": \"pod\"}";
  Use(file);
  answer_ = [](const support::ServedRequest& request) {
    if (request.path == "/sts")
      return support::ServedAnswer{.body = "{\"access_token\": \"sts\", \"expires_in\": 3600}"};
    return support::ServedAnswer{.body = "{\"accessToken\": \"account\", \"expireTime\": \"2026-09-21T15:13:20Z\"}"};
  };
  GoogleTokens tokens(Machine(), &http_);
  const auto token = Get(tokens.source());
  ASSERT_TRUE(token.ok()) << token.status();
  EXPECT_EQ(token->value, "account");
  EXPECT_EQ(token->ends_at, 1'790'003'600);
  auto form = support::FieldsOfQuery(Asked()[0].body);
  EXPECT_EQ(form["subject_token"], "pod");
  EXPECT_EQ(form["audience"], "//iam/pool");
  EXPECT_EQ(Asked()[1].headers.at("authorization"), "Bearer sts");
}

TEST_F(GoogleTokensTest, AUserOrAServiceAccountMayImpersonateAnother) {
  answer_ = [](const support::ServedRequest& request) {
    if (request.path == "/token")
      return support::ServedAnswer{.body = "{\"access_token\": \"mine\", \"expires_in\": 3600}"};
    return support::ServedAnswer{.body = "{\"accessToken\": \"account\", \"expireTime\": \"2026-09-21T15:13:20Z\"}"};
  };
  const nlohmann::json user = {{"type", "authorized_user"},
                               {"client_id", "c"},
                               {"client_secret", "hunter2"},
                               {"refresh_token", "r"},
                               {"token_uri", server_.url() + "/token"}};
  size_t asked = 0;
  for (const nlohmann::json& source : {user, ServiceAccount()}) {
    Use({{"type", "impersonated_service_account"},
         {"service_account_impersonation_url", server_.url() + "/impersonate"},
         {"delegates", {"between@project.iam"}},
         {"source_credentials", source}});
    GoogleTokens tokens(Machine(), &http_);
    const auto token = Get(tokens.source());
    ASSERT_TRUE(token.ok()) << token.status();
    EXPECT_EQ(token->value, "account");
    ASSERT_EQ(Asked().size(), asked += 2);
    const support::ServedRequest impersonation = Asked().back();
    EXPECT_EQ(impersonation.headers.at("authorization"), "Bearer mine");
    const auto body = nlohmann::json::parse(impersonation.body);
    EXPECT_EQ(body["delegates"][0], "between@project.iam");
    EXPECT_EQ(body["scope"][0], "https://www.googleapis.com/auth/devstorage.read_write");
  }
  // Only a token with this scope may request a token of another account.
  const std::vector<std::string> jwt = absl::StrSplit(support::FieldsOfQuery(Asked()[2].body)["assertion"], '.');
  EXPECT_EQ(Unpacked(jwt.at(1))["scope"], "https://www.googleapis.com/auth/cloud-platform");

  for (const nlohmann::json& source : {nlohmann::json(), nlohmann::json{{"type", "impersonated_service_account"}}}) {
    Use({{"type", "impersonated_service_account"},
         {"service_account_impersonation_url", server_.url() + "/impersonate"},
         {"source_credentials", source}});
    GoogleTokens tokens(Machine(), &http_);
    EXPECT_TRUE(absl::StrContains(Get(tokens.source()).status().message(), "(source_credentials)"));
  }
}

TEST_F(GoogleTokensTest, AMachineUsesTheMetadataServer) {
  variables_["NO_GCE_CHECK"] = "";
  variables_["GCE_METADATA_HOST"] = server_.url().substr(std::string("http://").size());
  GoogleTokens tokens(Machine(), &http_);
  EXPECT_EQ(Get(tokens.source())->value, "token-1");
  EXPECT_EQ(Asked()[0].path, "/computeMetadata/v1/instance/service-accounts/default/token");
  EXPECT_EQ(Asked()[0].headers.at("metadata-flavor"), "Google");
}

TEST_F(GoogleTokensTest, FederationByAwsOrAProgramIsRejectedWithTheFix) {
  const auto message_of = [this](const nlohmann::json& source) {
    nlohmann::json file = {{"type", "external_account"},
                           {"audience", "//iam/pool"},
                           {"subject_token_type", "urn:ietf:params:aws:token-type:aws4_request"},
                           {"token_url", server_.url() + "/sts"}};
    if (!source.is_null()) file["credential_source"] = source;
    Use(file);
    GoogleTokens tokens(Machine(), &http_);
    const absl::Status status = Get(tokens.source()).status();
    EXPECT_FALSE(status.ok());
    EXPECT_TRUE(Asked().empty()) << "no request was sent";
    return std::string(status.message());
  };
  const std::string aws = message_of(
      {{"environment_id", "aws1"}, {"regional_cred_verification_url", "https://sts.us-east-1.amazonaws.com"}});
  EXPECT_TRUE(absl::StrContains(aws, "/key.json: its credential_source is AWS (environment_id)")) << aws;
  EXPECT_TRUE(absl::StrContains(aws, "have the token written to a file, and name that in credential_source.file"));
  const std::string program = message_of({{"executable", {{"command", "/bin/print-token hunter2"}}}});
  EXPECT_TRUE(absl::StrContains(program, "its credential_source is a program (executable)")) << program;
  EXPECT_FALSE(absl::StrContains(program, "hunter2")) << program;
  for (const nlohmann::json& odd : {nlohmann::json(), nlohmann::json("text"), nlohmann::json({{"file", 5}})}) {
    const std::string neither = message_of(odd);
    EXPECT_TRUE(absl::StrContains(neither, "its credential_source is neither a file nor a URL")) << neither;
  }
}

TEST_F(GoogleTokensTest, ErrorsNameTheMistakeWithoutSecrets) {
  const auto message = [this] {
    GoogleTokens tokens(Machine(), &http_);
    const absl::Status status = Get(tokens.source()).status();
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(absl::StrContains(status.message(), "hunter2")) << status;
    return std::string(status.message());
  };
  EXPECT_TRUE(absl::StrContains(message(), "there are no keys for gs:// here"));
  variables_["GOOGLE_APPLICATION_CREDENTIALS"] = "/missing.json";
  EXPECT_TRUE(absl::StrContains(message(), "/missing.json"));
  nlohmann::json file = ServiceAccount();
  file["private_key"] = "hunter2";
  Use(file);
  EXPECT_TRUE(absl::StrContains(message(), "/key.json: its private key is not an RSA key"));
  file["token_uri"] = "http://elsewhere/token";
  Use(file);
  EXPECT_TRUE(absl::StrContains(message(), "token_uri is neither https nor this machine's"));
  Use({{"type", "aws"}, {"secret", "hunter2"}});
  EXPECT_TRUE(absl::StrContains(message(), "\"type\": \"aws\" is none of"));
  Use(ServiceAccount());
  answer_ = [](const support::ServedRequest&) {
    return support::ServedAnswer{
        .status = 400, .body = "{\"error\": \"invalid_grant\", \"error_description\": \"Invalid JWT Signature.\"}"};
  };
  EXPECT_TRUE(absl::StrContains(message(), "train@project.iam: HTTP 400: invalid_grant: Invalid JWT Signature."));

  // A service that returns what it received.
  Use({{"type", "external_account"},
       {"credential_source", {{"url", server_.url()}, {"headers", {{"X-Key", "hunter2"}}}}}});
  answer_ = [](const support::ServedRequest& request) {
    return support::ServedAnswer{.status = 400,
                                 .body = absl::StrCat("{\"error\": \"wrong key: ", request.headers.at("x-key"), "\"}")};
  };
  EXPECT_TRUE(absl::StrContains(message(), "HTTP 400: wrong key: (hidden)"));
}

}  // namespace
}  // namespace penstock::storage
