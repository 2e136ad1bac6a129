// Where keys for S3 come from, in which order, and what is said where there are none.
#include "pipeline/storage/object/aws_keys.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "pipeline/storage/storage.h"
#include "tests/support/http_server/http_server.h"

namespace penstock {
namespace {

class AwsKeysTest : public testing::Test {
 protected:
  Surroundings Machine() {
    return {.variable = [this](const std::string& name) { return variables_[name]; },
            .file = [this](const std::string& path) -> absl::StatusOr<std::string> {
              const auto found = files_.find(path);
              if (found == files_.end()) return absl::NotFoundError(path);
              return found->second;
            },
            .now = [this] { return now_.load(); }};
  }
  static absl::StatusOr<AwsKeys> Get(AwsKeySource* source) {
    return WaitForCall<AwsKeys>([source](CallDone<AwsKeys> done) { source->Get(std::move(done)); });
  }

  std::map<std::string, std::string> variables_ = {{"HOME", "/home/me"}, {"AWS_EC2_METADATA_DISABLED", "true"}};
  std::map<std::string, std::string> files_;
  std::atomic<int64_t> now_{1000};
};

TEST_F(AwsKeysTest, TheEnvironmentGoesBeforeFiles) {
  variables_["AWS_ACCESS_KEY_ID"] = "id";
  variables_["AWS_SECRET_ACCESS_KEY"] = "secret";
  variables_["AWS_SESSION_TOKEN"] = "token";
  files_["/home/me/.aws/credentials"] = "[default]\naws_access_key_id = other\naws_secret_access_key = other\n";
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  EXPECT_EQ(Get(&source).value(), (AwsKeys{"id", "secret", "token", 0}));
}

TEST_F(AwsKeysTest, AProfileIsReadFromEitherFile) {
  files_["/home/me/.aws/credentials"] =
      "# mine\n[other]\naws_access_key_id=o\naws_secret_access_key=os\n\n[default]\naws_access_key_id = "
      "d\naws_secret_access_key = ds=/+\n";
  files_["/home/me/.aws/config"] =
      "[profile work]\nregion = eu-west-1\naws_access_key_id = w\naws_secret_access_key = ws\n";
  HttpClient http(1);
  AwsKeySource by_default(Machine(), &http);
  EXPECT_EQ(Get(&by_default).value(), (AwsKeys{"d", "ds=/+", "", 0}));
  variables_["AWS_PROFILE"] = "work";
  AwsKeySource by_name(Machine(), &http);
  EXPECT_EQ(Get(&by_name).value(), (AwsKeys{"w", "ws", "", 0}));
  variables_["AWS_PROFILE"] = "wrok";
  AwsKeySource mistyped(Machine(), &http);
  EXPECT_NE(Get(&mistyped).status().message().find("wrok"), std::string::npos);
}

TEST_F(AwsKeysTest, AContainersKeysAreHadAnewBeforeTheyEnd) {
  std::atomic<int> asked{0};
  HttpServer server([&](const ServedRequest& request) {
    EXPECT_EQ(request.headers.at("authorization"), "let me");
    return ServedAnswer{
        .body = "{\"AccessKeyId\": \"id" + std::to_string(++asked) +
                "\", \"SecretAccessKey\": \"s\", \"Token\": \"t\", \"Expiration\": \"1970-01-01T02:00:00Z\"}"};
  });
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url() + "/keys";
  variables_["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "let me";
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  EXPECT_EQ(Get(&source).value(), (AwsKeys{"id1", "s", "t", 7200}));
  EXPECT_EQ(Get(&source)->id, "id1");
  now_ = 7200 - 100;
  EXPECT_EQ(Get(&source)->id, "id2");
  EXPECT_TRUE(source.Forget(source.Current()));
  EXPECT_EQ(Get(&source)->id, "id3");
}

TEST_F(AwsKeysTest, AServiceOfTheMachineIsAskedWithoutAProxy) {
  HttpServer server([](const ServedRequest&) {
    return ServedAnswer{.body = "{\"AccessKeyId\": \"id\", \"SecretAccessKey\": \"s\"}"};
  });
  setenv("http_proxy", "http://127.0.0.1:1", 1);  // where nobody is
  setenv("no_proxy", "", 1);
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url();
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  EXPECT_EQ(Get(&source).value().id, "id");
  unsetenv("http_proxy");
  setenv("no_proxy", "127.0.0.1", 1);  // as HttpServer has it
}

TEST_F(AwsKeysTest, AnAnswerThatHoldsNoKeysIsSaidToHoldNone) {
  for (const char* body : {"<html>", "", "[]", "{}", "{\"AccessKeyId\": 7, \"SecretAccessKey\": null}"}) {
    HttpServer server([&](const ServedRequest&) { return ServedAnswer{.body = body}; });
    variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url();
    HttpClient http(1);
    AwsKeySource source(Machine(), &http);
    EXPECT_TRUE(absl::IsUnavailable(Get(&source).status())) << body;
  }
}

TEST_F(AwsKeysTest, AProfilesRoleIsAskedForByTheKeysOfItsSource) {
  HttpServer server([](const ServedRequest& request) {
    EXPECT_NE(request.body.find("Action=AssumeRole&"), std::string::npos) << request.body;
    EXPECT_NE(request.body.find("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Freader"), std::string::npos) << request.body;
    EXPECT_NE(request.body.find("ExternalId=outside"), std::string::npos) << request.body;
    const std::string signature = request.headers.at("authorization");
    EXPECT_NE(signature.find("Credential=b/19700101/eu-west-1/sts/aws4_request"), std::string::npos) << signature;
    EXPECT_EQ(signature.find("hunter2"), std::string::npos);
    return ServedAnswer{.body =
                            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>id</AccessKeyId>"
                            "<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>"
                            "1970-01-01T02:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"};
  });
  files_["/home/me/.aws/config"] =
      "[profile train]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = base\nexternal_id = outside\n"
      "region = eu-west-1\n[profile alone]\nrole_arn = arn:aws:iam::1:role/reader\n"
      "[profile chain]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = train\n";
  files_["/home/me/.aws/credentials"] = "[base]\naws_access_key_id = b\naws_secret_access_key = hunter2\n";
  variables_["AWS_ENDPOINT_URL_STS"] = server.url();
  variables_["AWS_PROFILE"] = "train";
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  EXPECT_EQ(Get(&source).value(), (AwsKeys{"id", "s", "t", 7200}));
  EXPECT_TRUE(source.Forget(source.Current())) << "they can be had anew";
  for (const auto& [profile, said] :
       {std::pair("alone", "without a source_profile"), {"chain", "\"train\" has no keys"}}) {
    variables_["AWS_PROFILE"] = profile;
    AwsKeySource lacking(Machine(), &http);
    const std::string message(Get(&lacking).status().message());
    EXPECT_NE(message.find(said), std::string::npos) << message;
    EXPECT_EQ(message.find("hunter2"), std::string::npos);
  }
}

TEST_F(AwsKeysTest, ARoleThatIsRefusedSaysWhy) {
  HttpServer server([](const ServedRequest&) {
    return ServedAnswer{.status = 403,
                        .body =
                            "<ErrorResponse><Error><Message>not authorized to perform: sts:AssumeRole</Message>"
                            "</Error></ErrorResponse>"};
  });
  files_["/home/me/.aws/config"] =
      "[default]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = default\n"
      "aws_access_key_id = b\naws_secret_access_key = hunter2\n";
  variables_["AWS_ENDPOINT_URL_STS"] = server.url();
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  const std::string message(Get(&source).status().message());
  EXPECT_NE(message.find("role/reader: HTTP 403 not authorized to perform"), std::string::npos) << message;
  EXPECT_EQ(message.find("hunter2"), std::string::npos);
}

TEST_F(AwsKeysTest, APodsTokenIsExchanged) {
  HttpServer server([](const ServedRequest& request) {
    EXPECT_NE(request.body.find("WebIdentityToken=from-the-cluster"), std::string::npos) << request.body;
    EXPECT_NE(request.body.find("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Freader"), std::string::npos) << request.body;
    EXPECT_EQ(request.headers.at("content-type"), "application/x-www-form-urlencoded");
    return ServedAnswer{
        .body =
            "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>id"
            "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>"
            "1970-01-01T02:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>"
            "</AssumeRoleWithWebIdentityResponse>"};
  });
  variables_["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/reader";
  variables_["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/var/token";
  variables_["AWS_ENDPOINT_URL_STS"] = server.url();
  files_["/var/token"] = "from-the-cluster\n";
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  EXPECT_EQ(Get(&source).value(), (AwsKeys{"id", "s", "t", 7200}));
}

TEST_F(AwsKeysTest, KeysAreNotAskedForInTheClearOfAnotherMachine) {
  HttpClient http(1);
  for (const char* url : {"http://example.com/keys", "http://127.0.0.1.example.com/keys", "ftp://127.0.0.1/"}) {
    variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    AwsKeySource source(Machine(), &http);
    EXPECT_TRUE(absl::IsPermissionDenied(Get(&source).status())) << url;
  }
}

TEST_F(AwsKeysTest, WithoutKeysItIsSaidWhereTheyWereLookedFor) {
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  const absl::Status none = Get(&source).status();
  EXPECT_TRUE(absl::IsNotFound(none));
  for (const char* word : {"AWS_ACCESS_KEY_ID", "~/.aws/credentials", "PENSTOCK_S3_UNSIGNED"}) {
    EXPECT_NE(none.message().find(word), std::string::npos) << none;
  }
}

}  // namespace
}  // namespace penstock
