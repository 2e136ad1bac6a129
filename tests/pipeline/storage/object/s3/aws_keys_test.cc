// The sources of keys for S3, their order, and the message if there are no keys.
#include "pipeline/storage/object/s3/aws_keys.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "pipeline/storage/storage.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::storage {
namespace {

class AwsKeysTest : public testing::Test {
 protected:
  Environment Machine() {
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

TEST_F(AwsKeysTest, TheEnvironmentHasPrecedenceOverFiles) {
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

TEST_F(AwsKeysTest, KeysOfAContainerAreRenewedBeforeTheyExpire) {
  std::atomic<int> asked{0};
  support::HttpServer server([&](const support::ServedRequest& request) {
    EXPECT_EQ(request.headers.at("authorization"), "let me");
    return support::ServedAnswer{
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

TEST_F(AwsKeysTest, ALocalServiceIsRequestedWithoutAProxy) {
  support::HttpServer server([](const support::ServedRequest&) {
    return support::ServedAnswer{.body = "{\"AccessKeyId\": \"id\", \"SecretAccessKey\": \"s\"}"};
  });
  setenv("http_proxy", "http://127.0.0.1:1", 1);  // no server listens there
  setenv("no_proxy", "", 1);
  variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url();
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  EXPECT_EQ(Get(&source).value().id, "id");
  unsetenv("http_proxy");
  setenv("no_proxy", "127.0.0.1", 1);  // HttpServer sets the same
}

TEST_F(AwsKeysTest, AnAnswerWithoutKeysIsUnavailable) {
  for (const char* body : {"<html>", "", "[]", "{}", "{\"AccessKeyId\": 7, \"SecretAccessKey\": null}"}) {
    support::HttpServer server([&](const support::ServedRequest&) { return support::ServedAnswer{.body = body}; });
    variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url();
    HttpClient http(1);
    AwsKeySource source(Machine(), &http);
    EXPECT_TRUE(absl::IsUnavailable(Get(&source).status())) << body;
  }
}

TEST_F(AwsKeysTest, TheRoleOfAProfileIsRequestedWithTheKeysOfItsSource) {
  support::HttpServer server([](const support::ServedRequest& request) {
    EXPECT_NE(request.body.find("Action=AssumeRole&"), std::string::npos) << request.body;
    EXPECT_NE(request.body.find("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Freader"), std::string::npos) << request.body;
    EXPECT_NE(request.body.find("ExternalId=outside"), std::string::npos) << request.body;
    const std::string signature = request.headers.at("authorization");
    EXPECT_NE(signature.find("Credential=b/19700101/eu-west-1/sts/aws4_request"), std::string::npos) << signature;
    EXPECT_EQ(signature.find("hunter2"), std::string::npos);
    return support::ServedAnswer{
        .body =
            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>id</AccessKeyId>"
            "<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>"
            "1970-01-01T02:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"};
  });
  files_["/home/me/.aws/config"] =
      "[profile train]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = base\nexternal_id = outside\n"
      "region = eu-west-1\n[profile alone]\nrole_arn = arn:aws:iam::1:role/reader\n"
      "[profile circle]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = round\n"
      "[profile round]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = circle\n"
      "[profile empty]\nrole_arn = arn:aws:iam::1:role/reader\nsource_profile = nobody\n";
  files_["/home/me/.aws/credentials"] = "[base]\naws_access_key_id = b\naws_secret_access_key = hunter2\n";
  variables_["AWS_ENDPOINT_URL_STS"] = server.url();
  variables_["AWS_PROFILE"] = "train";
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  EXPECT_EQ(Get(&source).value(), (AwsKeys{"id", "s", "t", 7200}));
  EXPECT_TRUE(source.Forget(source.Current())) << "the source can fetch them again";
  for (const auto& [profile, said] :
       {std::pair("alone", "without a source_profile"), {"circle", "leads in a circle"}, {"empty", "has no keys"}}) {
    variables_["AWS_PROFILE"] = profile;
    AwsKeySource lacking(Machine(), &http);
    const std::string message(Get(&lacking).status().message());
    EXPECT_NE(message.find(said), std::string::npos) << message;
    EXPECT_EQ(message.find("hunter2"), std::string::npos);
  }
}

TEST_F(AwsKeysTest, SecretsOfPodsAndRolesAreNotSentWithoutTls) {
  support::HttpServer server([](const support::ServedRequest&) {
    ADD_FAILURE() << "a request was sent";
    return support::ServedAnswer{.status = 500};
  });
  files_["/token"] = "hunter2";
  files_["/home/me/.aws/config"] = "[profile train]\nrole_arn = arn:reader\nsource_profile = base\n";
  files_["/home/me/.aws/credentials"] = "[base]\naws_access_key_id = b\naws_secret_access_key = hunter2\n";
  HttpClient http(1);
  const std::string port = server.url().substr(server.url().rfind(':'));
  for (const std::string& endpoint : {"http://localhost.example" + port, "ftp://127.0.0.1" + port, port}) {
    variables_ = {{"HOME", "/home/me"}, {"AWS_ENDPOINT_URL_STS", endpoint}, {"AWS_PROFILE", "train"}};
    AwsKeySource role(Machine(), &http);
    EXPECT_EQ(Get(&role).status().message(), "AWS_ENDPOINT_URL_STS is neither https nor this machine's");
    variables_["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
    variables_["AWS_ROLE_ARN"] = "arn:reader";
    AwsKeySource pod(Machine(), &http);
    EXPECT_EQ(Get(&pod).status().message(), "AWS_ENDPOINT_URL_STS is neither https nor this machine's");
  }
}

TEST_F(AwsKeysTest, ARoleIsRequestedWithTheKeysOfAnotherRole) {
  std::vector<std::string> asked;
  support::HttpServer server([&](const support::ServedRequest& request) {
    asked.push_back(request.headers.at("authorization").substr(0, 40) + " " + request.body);
    const std::string id = "id" + std::to_string(asked.size());
    return support::ServedAnswer{.body =
                                     "<R><Credentials><AccessKeyId>" + id +
                                     "</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
                                     "<Expiration>1970-01-01T02:00:00Z</Expiration></Credentials></R>"};
  });
  files_["/home/me/.aws/config"] =
      "[profile outer]\nrole_arn = arn:outer\nsource_profile = inner\n"
      "[profile inner]\nrole_arn = arn:inner\nsource_profile = base\n";
  files_["/home/me/.aws/credentials"] = "[base]\naws_access_key_id = b\naws_secret_access_key = hunter2\n";
  variables_["AWS_ENDPOINT_URL_STS"] = server.url();
  variables_["AWS_PROFILE"] = "outer";
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  EXPECT_EQ(Get(&source).value(), (AwsKeys{"id2", "s", "t", 7200}));
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_NE(asked[0].find("Credential=b/"), std::string::npos) << asked[0];
  EXPECT_NE(asked[0].find("RoleArn=arn%3Ainner"), std::string::npos) << asked[0];
  EXPECT_NE(asked[1].find("Credential=id1/"), std::string::npos) << asked[1];
  EXPECT_NE(asked[1].find("RoleArn=arn%3Aouter"), std::string::npos) << asked[1];
}

TEST_F(AwsKeysTest, KeysOfAProgramAreRenewedBeforeTheyExpire) {
  files_["/home/me/.aws/config"] = "[default]\ncredential_process = /opt/keys --of \"me and you\"\n";
  HttpClient http(1);
  Environment machine = Machine();
  std::atomic<int> asked{0};
  std::atomic<bool> fails{false};
  machine.output = [&](const std::string& command, const std::stop_token&) -> absl::StatusOr<std::string> {
    EXPECT_EQ(command, "/opt/keys --of \"me and you\"");
    if (fails) return absl::PermissionDeniedError("it ended with exit code 3");
    return "{\"Version\": 1, \"AccessKeyId\": \"id" + std::to_string(++asked) +
           "\", \"SecretAccessKey\": \"s\", \"SessionToken\": \"t\", \"Expiration\": \"1970-01-01T02:00:00Z\"}";
  };
  AwsKeySource source(machine, &http);
  EXPECT_EQ(Get(&source).value(), (AwsKeys{"id1", "s", "t", 7200}));
  EXPECT_EQ(Get(&source)->id, "id1");
  now_ = 7200 - 100;
  EXPECT_EQ(Get(&source)->id, "id2");
  // While the source fails, the keys serve until they expire.
  fails = true;
  EXPECT_EQ(Get(&source)->id, "id2");
  now_ = 7200;
  const absl::Status over = Get(&source).status();
  EXPECT_TRUE(absl::IsPermissionDenied(over)) << over;
  for (const char* word : {"credential_process of the profile \"default\"", "exit code 3", "run it in a shell"}) {
    EXPECT_NE(over.message().find(word), absl::string_view::npos) << over;
  }
}

TEST_F(AwsKeysTest, ErrorsDoNotContainTheOutputOfAProgram) {
  files_["/home/me/.aws/config"] = "[default]\ncredential_process = x\n";
  for (const char* output : {"hunter2", "{\"Version\": 2, \"SecretAccessKey\": \"hunter2\"}", "{\"Version\": 1}",
                             "{\"Version\": 1, \"AccessKeyId\": \"hunter2\"}"}) {
    HttpClient http(1);
    Environment machine = Machine();
    machine.output = [&](const std::string&, const std::stop_token&) { return std::string(output); };
    AwsKeySource source(machine, &http);
    const std::string message = Get(&source).status().ToString();
    EXPECT_NE(message.find("it does not print the required JSON"), std::string::npos) << message;
    EXPECT_EQ(message.find("hunter2"), std::string::npos) << message;
  }
}

TEST_F(AwsKeysTest, AnSsoLoginGivesKeysAndAnExpiredLoginNamesTheCommand) {
  std::atomic<int> status{200};
  support::HttpServer server([&](const support::ServedRequest& request) {
    EXPECT_EQ(request.path + "?" + request.query, "/federation/credentials?role_name=Reader&account_id=123");
    EXPECT_EQ(request.headers.at("x-amz-sso_bearer_token"), "hunter2");
    return support::ServedAnswer{.status = status,
                                 .body =
                                     "{\"roleCredentials\": {\"accessKeyId\": \"id\", \"secretAccessKey\": \"s\", "
                                     "\"sessionToken\": \"t\", \"expiration\": 7200000}}"};
  });
  files_["/home/me/.aws/config"] =
      "[profile mine]\nsso_session = company\nsso_account_id = 123\nsso_role_name = Reader\n"
      "[sso-session company]\nsso_region = eu-west-1\nsso_start_url = https://company.awsapps.com/start\n";
  variables_["AWS_PROFILE"] = "mine";
  variables_["AWS_ENDPOINT_URL_SSO"] = server.url();
  HttpClient http(1);
  const auto said = [&] {
    AwsKeySource source(Machine(), &http);
    return Get(&source);
  };
  EXPECT_NE(said().status().message().find("there is no login; `aws sso login --profile mine`"),
            absl::string_view::npos);
  // The SHA-1 of "company".
  files_["/home/me/.aws/sso/cache/71b21161ffa1e6516bcc072aaf5ef38cbe85b511.json"] =
      "{\"accessToken\": \"hunter2\", \"expiresAt\": \"1970-01-01T01:00:00Z\"}";
  EXPECT_EQ(said().value(), (AwsKeys{"id", "s", "t", 7200}));
  status = 401;
  EXPECT_NE(said().status().message().find("that login has expired; `aws sso login"), absl::string_view::npos);
  status = 403;
  EXPECT_NE(said().status().message().find("HTTP 403; see its sso_account_id"), absl::string_view::npos);
  now_ = 3600;
  EXPECT_NE(said().status().message().find("that login has expired; `aws sso login"), absl::string_view::npos);
}

TEST_F(AwsKeysTest, ARefusedRoleReportsTheReason) {
  support::HttpServer server([](const support::ServedRequest&) {
    return support::ServedAnswer{
        .status = 403,
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
  support::HttpServer server([](const support::ServedRequest& request) {
    EXPECT_NE(request.body.find("WebIdentityToken=from-the-cluster"), std::string::npos) << request.body;
    EXPECT_NE(request.body.find("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Freader"), std::string::npos) << request.body;
    EXPECT_EQ(request.headers.at("content-type"), "application/x-www-form-urlencoded");
    return support::ServedAnswer{
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

TEST_F(AwsKeysTest, KeysAreNotRequestedFromAnotherMachineWithoutTls) {
  HttpClient http(1);
  for (const char* url : {"http://example.com/keys", "http://127.0.0.1.example.com/keys", "ftp://127.0.0.1/"}) {
    variables_["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    AwsKeySource source(Machine(), &http);
    EXPECT_TRUE(absl::IsPermissionDenied(Get(&source).status())) << url;
  }
}

TEST_F(AwsKeysTest, TheErrorWithoutKeysNamesTheSearchedPlaces) {
  HttpClient http(1);
  AwsKeySource source(Machine(), &http);
  const absl::Status none = Get(&source).status();
  EXPECT_TRUE(absl::IsNotFound(none));
  for (const char* word : {"AWS_ACCESS_KEY_ID", "~/.aws/credentials", "PENSTOCK_S3_UNSIGNED"}) {
    EXPECT_NE(none.message().find(word), std::string::npos) << none;
  }
}

}  // namespace
}  // namespace penstock::storage
