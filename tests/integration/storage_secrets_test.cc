// No secret appears in an output, a log, a status, a process list, or a file on disk. This holds for every source of a
// storage's keys and for every failure.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/mutex.h"
#include "tests/server/http/raw_client.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/http_server/fake_clouds.h"
#include "tests/support/http_server/fake_s3.h"
#include "tests/support/http_server/http_server.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"
#include "tests/support/wait_until.h"

namespace penstock::integration {
namespace {

namespace fs = std::filesystem;

// Part of every secret that a service returns or a variable sets.
constexpr char kMark[] = "hunter2";

std::string Base64(const std::string& text) {
  std::string out;
  absl::Base64Escape(text, &out);
  return out;
}

const std::string& PrivateKey() {
  static const std::string pem = [] {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_RSA_gen(2048), &EVP_PKEY_free);
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
    PEM_write_bio_PrivateKey(out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    char* data = nullptr;
    const long size = BIO_get_mem_data(out.get(), &data);
    return std::string(data, static_cast<size_t>(size));
  }();
  return pem;
}

// Texts that must not appear anywhere.
std::vector<std::string> Secrets() { return {kMark, Base64("hunter2-of-the-account"), PrivateKey().substr(200, 40)}; }

// S3, Google's and Azure's storage, and all services that return keys for them. The server rejects requests below
// "denied/", with an answer that contains the whole request.
class Clouds {
 public:
  std::string url() const { return server_.url(); }
  void Put(const std::string& key, const std::string& content) {
    s3_.Put("photos", key, content);
    others_.Put("photos", key, content);
  }
  // Storages that received a request with a key: "s3", "gs", "az".
  std::set<std::string> asked() {
    MutexLock lock(&mutex_);
    return asked_;
  }

 private:
  support::ServedAnswer Answer(const support::ServedRequest& request) {
    const std::string& path = request.path;
    if (absl::StrContains(request.body, "Action=Assume")) {
      return {.body =
                  "<R><Credentials><AccessKeyId>id</AccessKeyId><SecretAccessKey>hunter2-sts</SecretAccessKey>"
                  "<SessionToken>hunter2-sts-session</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>"
                  "</Credentials></R>"};
    }
    if (absl::StartsWith(path, "/latest/api/token")) return {.body = "hunter2-imds"};
    if (absl::EndsWith(path, "/security-credentials/")) return {.body = "role"};
    if (path == "/keys" || absl::EndsWith(path, "/security-credentials/role")) {
      return {.body =
                  "{\"AccessKeyId\": \"id\", \"SecretAccessKey\": \"hunter2-secret\", \"Token\": \"hunter2-session\", "
                  "\"Expiration\": \"2099-01-01T00:00:00Z\"}"};
    }
    if (path == "/federation/credentials") {
      return {.body =
                  "{\"roleCredentials\": {\"accessKeyId\": \"id\", \"secretAccessKey\": \"hunter2-sso\", "
                  "\"sessionToken\": \"hunter2-sso-session\", \"expiration\": 4070908800000}}"};
    }
    if (path == "/subject") return {.body = "hunter2-subject"};
    if (path == "/impersonated") {
      return {.body = "{\"accessToken\": \"hunter2-impersonated\", \"expireTime\": \"2099-01-01T00:00:00Z\"}"};
    }
    if (absl::EndsWith(path, "/token")) {
      return {.body = "{\"access_token\": \"hunter2-access\", \"expires_in\": 36000, \"token_type\": \"Bearer\"}"};
    }
    const bool google = absl::StartsWith(path, "/storage/v1/"), azure = absl::StartsWith(path, "/account/");
    if (request.headers.contains("authorization") || absl::StrContains(request.query, "sig=")) {
      MutexLock lock(&mutex_);
      asked_.insert(google ? "gs" : azure ? "az" : "s3");
    }
    if (absl::StrContains(support::Unescaped(path), "denied/") ||
        absl::StrContains(support::Unescaped(request.query), "denied/")) {
      support::ServedAnswer refused = google  ? support::GoogleError(403, "no access")
                                      : azure ? support::AzureError(403, "AuthenticationFailed")
                                              : support::S3Error(403, "AccessDenied");
      absl::StrAppend(&refused.body, "<!-- ", request.query);
      for (const auto& [name, value] : request.headers) absl::StrAppend(&refused.body, " ", name, ": ", value);
      absl::StrAppend(&refused.body, " -->");
      return refused;
    }
    return google ? others_.Google(request) : azure ? others_.Azure(request) : s3_(request);
  }

  Mutex mutex_;
  std::set<std::string> asked_ ABSL_GUARDED_BY(mutex_);
  support::FakeS3 s3_;
  support::FakeClouds others_;
  support::HttpServer server_{[this](const support::ServedRequest& request) { return Answer(request); }};
};

// Sources of keys, one for each storage. "{URL}" is the clouds' URL, "{HOME}" a folder per source.
struct Sources {
  const char* name;
  std::vector<std::pair<std::string, std::string>> variables, files;
};

std::string ServiceAccount() {
  return absl::StrCat(
      R"({"type": "service_account", "client_email": "a@b", "token_uri": "{URL}/token", "private_key": ")",
      absl::StrReplaceAll(PrivateKey(), {{"\n", "\\n"}}), "\"}");
}
constexpr char kUser[] = R"({"type": "authorized_user", "client_id": "id", "client_secret": "hunter2-client", )"
                         R"("refresh_token": "hunter2-refresh", "token_uri": "{URL}/token"})";

std::vector<Sources> AllSources() {
  const std::pair<std::string, std::string> google = {"GOOGLE_APPLICATION_CREDENTIALS", "{HOME}/google.json"};
  return {
      {"TheEnvironmentAServiceAccountAndTheAccountsKey",
       {{"AWS_ACCESS_KEY_ID", "id"},
        {"AWS_SECRET_ACCESS_KEY", "hunter2-aws"},
        {"AWS_SESSION_TOKEN", "hunter2-session"},
        google,
        {"AZURE_STORAGE_KEY", Base64("hunter2-of-the-account")},
        {"PENSTOCK_HTTP_AUTHORIZATION", "Bearer hunter2-web"}},
       {{"google.json", ServiceAccount()}}},
      {"AProfileAUserAndASignature",
       {google, {"AZURE_STORAGE_SAS_TOKEN", "sv=2024&sig=hunter2%2Fsas"}},
       {{".aws/credentials", "[default]\naws_access_key_id = id\naws_secret_access_key = hunter2-profile\n"},
        {"google.json", kUser}}},
      {"ARoleAnImpersonationAndAConnectionString",
       {{"AWS_PROFILE", "train"},
        google,
        {"AZURE_STORAGE_CONNECTION_STRING",
         absl::StrCat("AccountName=account;BlobEndpoint={URL}/account;AccountKey=", Base64("hunter2-of-the-account"))}},
       {{".aws/credentials", "[base]\naws_access_key_id = id\naws_secret_access_key = hunter2-base\n"},
        {".aws/config", "[profile train]\nrole_arn = arn\nsource_profile = base\nexternal_id = hunter2-external\n"},
        {"google.json", absl::StrCat(R"({"type": "impersonated_service_account", "source_credentials": )", kUser,
                                     R"(, "service_account_impersonation_url": "{URL}/impersonated"})")}}},
      {"WebIdentityAndFederationByFiles",
       {{"AWS_ROLE_ARN", "arn"},
        {"AWS_WEB_IDENTITY_TOKEN_FILE", "{HOME}/token"},
        google,
        {"AZURE_FEDERATED_TOKEN_FILE", "{HOME}/token"},
        {"AZURE_CLIENT_ID", "client"},
        {"AZURE_TENANT_ID", "tenant"},
        {"PENSTOCK_HTTP_AUTHORIZATION_FILE", "{HOME}/web"}},
       {{"token", "hunter2-federated"},
        {"web", "Bearer hunter2-web-file\n"},
        {"google.json",
         R"({"type": "external_account", "audience": "a", "subject_token_type": "jwt", "token_url": "{URL}/token", )"
         R"("credential_source": {"file": "{HOME}/token"}})"}}},
      {"AContainerFederationByAUrlAndAClientSecret",
       {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "{URL}/keys"},
        {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "hunter2-container"},
        google,
        {"AZURE_CLIENT_SECRET", "hunter2-client"},
        {"AZURE_CLIENT_ID", "client"},
        {"AZURE_TENANT_ID", "tenant"}},
       {{"google.json",
         R"({"type": "external_account", "audience": "a", "subject_token_type": "jwt", "token_url": "{URL}/token", )"
         R"("credential_source": {"url": "{URL}/subject", "headers": {"X-Key": "hunter2-header"}}})"}}},
      {"TheMachinesServices",
       {{"AWS_EC2_METADATA_DISABLED", "false"},
        {"NO_GCE_CHECK", "false"},
        {"IDENTITY_ENDPOINT", "{URL}/token"},
        {"IDENTITY_HEADER", "hunter2-identity"}},
       {}},
      {"AProgramALoginOfGcloudAndAConnectionStringsSignature",
       {{"AZURE_STORAGE_CONNECTION_STRING", "BlobEndpoint={URL}/account;SharedAccessSignature=sv=1&sig=hunter2%2Fsas"}},
       {{".aws/config", "[default]\ncredential_process = cat {HOME}/keys.json; echo hunter2-err >&2\n"},
        {"keys.json", R"({"Version": 1, "AccessKeyId": "id", "SecretAccessKey": "hunter2-program", )"
                      R"("SessionToken": "hunter2-program-session", "Expiration": "2099-01-01T00:00:00Z"})"},
        {".config/gcloud/application_default_credentials.json", kUser}}},
      {"ALoginBySsoAndAPodsIdentity",
       {{"AWS_PROFILE", "sso"}, {"NO_GCE_CHECK", "false"}},
       {{".aws/config",
         "[profile sso]\nsso_start_url = start\nsso_region = eu-west-1\nsso_account_id = 1\nsso_role_name = r\n"},
        // SHA-1 of "start"
        {".aws/sso/cache/2b020927d3c6eb407223a1baa3d6ce3597a3f88d.json",
         R"({"accessToken": "hunter2-login", "expiresAt": "2099-01-01T00:00:00Z"})"}}},
  };
}

void PrintTo(const Sources& sources, std::ostream* out) { *out << sources.name; }

class StorageSecrets : public ::testing::TestWithParam<Sources> {
 protected:
  static void SetUpTestSuite() {
    clouds = new Clouds;
    const support::TempFolder data;
    const support::TestDataset dataset =
        support::MakeNumberDataset({.shards = 2, .records_per_shard = 40}, data.path());
    job = new v1::JobSpec(dataset.job);
    for (const std::string& file : dataset.files) {
      clouds->Put(absl::StrCat("set/", fs::path(file).filename().string()), ReadWholeFile(file).value());
    }
  }
  static void TearDownTestSuite() {
    delete std::exchange(clouds, nullptr);
    delete std::exchange(job, nullptr);
  }

  std::string Filled(const std::string& text) const {
    return absl::StrReplaceAll(text, {{"{URL}", clouds->url()}, {"{HOME}", home_.path()}});
  }
  void SetUp() override {
    Set("HOME", home_.path());
    Set("XDG_CACHE_HOME", home_.File("cache"));
    Set("AWS_ENDPOINT_URL_S3", "{URL}");
    Set("AWS_ENDPOINT_URL_STS", "{URL}");
    Set("AWS_ENDPOINT_URL_SSO", "{URL}");
    Set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "{URL}");
    Set("AWS_EC2_METADATA_DISABLED", "true");
    Set("CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", "{URL}");
    Set("GCE_METADATA_HOST", std::string(absl::StripPrefix(clouds->url(), "http://")));
    Set("NO_GCE_CHECK", "true");
    Set("AZURE_STORAGE_ACCOUNT", "account");
    Set("AZURE_STORAGE_SERVICE_ENDPOINT", "{URL}/account");
    Set("AZURE_AUTHORITY_HOST", "{URL}");
    Set("AZURE_POD_IDENTITY_AUTHORITY_HOST", "{URL}");
    for (const auto& [name, value] : GetParam().variables) Set(name, value);
    for (const auto& [name, text] : GetParam().files) {
      fs::create_directories(fs::path(home_.File(name)).parent_path());
      std::ofstream(home_.File(name)) << Filled(text);
    }
  }
  void TearDown() override {
    for (auto it = before_.rbegin(); it != before_.rend(); ++it) {
      const char* const name = it->first.c_str();
      it->second.has_value() ? setenv(name, it->second->c_str(), 1) : unsetenv(name);
    }
  }

  void Set(const std::string& name, const std::string& value) {
    const char* const now = std::getenv(name.c_str());
    before_.emplace_back(name, now == nullptr ? std::nullopt : std::optional<std::string>(now));
    setenv(name.c_str(), Filled(value).c_str(), 1);
  }
  static void ExpectNothingSecretIn(const std::string& text, const std::string& where) {
    for (const std::string& secret : Secrets()) {
      const size_t at = text.find(secret);
      EXPECT_EQ(at, std::string::npos) << where << ": " << text.substr(at < 100 ? 0 : at - 100, 200);
    }
  }
  // Runs `penstock` and returns its exit code.
  int Run(const std::string& arguments, std::string* said = nullptr) {
    const std::string command =
        absl::StrCat("cd '", out_.path(), "' && exec '", PENSTOCK, "' ", arguments, " >said 2>&1");
    const int status = std::system(command.c_str());
    const std::string text = ReadWholeFile(out_.File("said")).value_or("");
    ExpectNothingSecretIn(text, arguments);
    if (said != nullptr) *said = text;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Checks the command lines of our programs.
  static void ExpectNothingSecretInProcesses() {
    for (const auto& entry : fs::directory_iterator("/proc")) {
      int pid = 0;
      if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
      const std::string comm = ReadWholeFile(entry.path().string() + "/comm").value_or("");
      std::ifstream line(entry.path() / "cmdline");
      std::stringstream text;
      text << line.rdbuf();
      if (absl::StartsWith(comm, "penstock")) {
        ExpectNothingSecretIn(text.str(), "a process");
      }
    }
  }
  void ExpectNothingSecretBelow(const std::string& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) {
        std::ifstream file(entry.path());
        std::stringstream text;
        text << file.rdbuf();
        ExpectNothingSecretIn(text.str(), entry.path());
      }
    }
  }

  static inline Clouds* clouds = nullptr;
  static inline v1::JobSpec* job = nullptr;
  support::TempFolder home_, out_, state_;
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

TEST_P(StorageSecrets, AppearNowhere) {
  support::Process daemon({PENSTOCKD, "standalone", "--listen", "127.0.0.1:0", "--port-file", out_.File("port"),
                           "--http", "127.0.0.1:0", "--state-dir", state_.path(), "--log-level", "trace", "--data-root",
                           "s3=s3://photos", "--data-root", "gs=gs://photos", "--data-root", "az=az://photos"},
                          out_.File("daemon.log"));
  ASSERT_TRUE(support::WaitUntil([&] {
    return ReadWholeFile(out_.File("port")).value_or("").find('\n') != std::string::npos;
  })) << ReadWholeFile(out_.File("daemon.log")).value_or("");
  Set("PENSTOCK_COORDINATOR",
      absl::StrCat("127.0.0.1:", absl::StripAsciiWhitespace(ReadWholeFile(out_.File("port")).value())));
  std::string said;
  for (const std::string scheme : {"s3", "gs", "az"}) {
    for (const std::string folder : {"set", "denied"}) {
      v1::JobSpec spec = *job;
      spec.set_name(absl::StrCat(folder, "-of-", scheme));
      spec.mutable_dataset(0)->clear_files();
      spec.mutable_dataset(0)->add_files(absl::StrCat(scheme, "://photos/", folder, "/data-*"));
      ASSERT_TRUE(WriteFileAtomically(out_.File(spec.name() + ".textproto"), spec.DebugString()).ok());
    }
    EXPECT_EQ(Run(absl::StrCat("submit set-of-", scheme, ".textproto"), &said), 0) << said;
    EXPECT_EQ(Run(absl::StrCat("read set-of-", scheme, " --epochs 1"), &said), 0) << said;
    EXPECT_EQ(Run(absl::StrCat("verify '", scheme, "://photos/set/data-*'"), &said), 0) << said;
    ExpectNothingSecretInProcesses();
    EXPECT_EQ(Run(absl::StrCat("submit denied-of-", scheme, ".textproto"), &said), 1) << said;
    EXPECT_NE(said.find("HTTP 403"), std::string::npos) << said;
    EXPECT_EQ(Run(absl::StrCat("verify ", scheme, "://photos/denied/data-00000"), &said), 1) << said;
    Run(absl::StrCat("explain set-of-", scheme));
  }
  if (std::getenv("PENSTOCK_HTTP_AUTHORIZATION") != nullptr ||
      std::getenv("PENSTOCK_HTTP_AUTHORIZATION_FILE") != nullptr) {
    EXPECT_EQ(Run("verify https://127.0.0.1:1/data-00000", &said), 1) << said;
  }
  for (const char* command : {"status", "status --json", "workers --json", "jobs --json", "shards set-of-s3",
                              "describe denied-of-s3", "describe denied-of-az --json"}) {
    EXPECT_EQ(Run(command, &said), 0) << command << ": " << said;
  }
  // The support file has the log, which is at level trace, the configuration and the descriptions of all jobs.
  EXPECT_EQ(Run("support support.tar.zst", &said), 0) << said;
  ASSERT_EQ(std::system(absl::StrCat("cd '", out_.path(), "' && zstd -dcq support.tar.zst > support.tar").c_str()), 0);
  const std::string support = ReadWholeFile(out_.File("support.tar")).value_or("");
  ExpectNothingSecretIn(support, "the support file");
  for (const char* part : {"README.txt", "coordinator/log.txt", "configuration.txt", "jobs/denied-of-s3.json",
                           "HTTP 403", "s3://photos"}) {
    EXPECT_TRUE(absl::StrContains(support, part)) << part;
  }
  const std::string log = ReadWholeFile(out_.File("daemon.log")).value_or("");
  const std::string listens = "HTTP listens on 127.0.0.1:";
  ASSERT_NE(log.find(listens), std::string::npos) << log;
  const int http = std::atoi(log.c_str() + log.find(listens) + listens.size());
  for (const std::string path : {"/metrics", "/api/v1/status", "/readyz", "/healthz"}) {
    server::RawClient client(http);
    client.Get(path);
    const std::string page = client.Answer();
    EXPECT_TRUE(absl::StartsWith(page, "HTTP/1.1 200 ")) << page;
    ExpectNothingSecretIn(page, path);
  }
  EXPECT_EQ(clouds->asked(), (std::set<std::string>{"az", "gs", "s3"})) << "of them all keys were used";
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.WaitForExit(), 0);
  ExpectNothingSecretIn(ReadWholeFile(out_.File("daemon.log")).value_or(""), "the log");
  ExpectNothingSecretBelow(state_.path());
  fs::create_directories(home_.File("cache"));
  ExpectNothingSecretBelow(home_.File("cache"));
}

INSTANTIATE_TEST_SUITE_P(Keys, StorageSecrets, ::testing::ValuesIn(AllSources()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace penstock::integration
