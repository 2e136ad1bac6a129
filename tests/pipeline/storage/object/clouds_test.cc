// Google's and Azure's storages as files, on servers that refuse, fail and change as the real ones do.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "pipeline/storage/object/object_storage.h"
#include "tests/pipeline/storage/storage_contract.h"
#include "tests/support/http_server/fake_clouds.h"

namespace penstock::storage {
namespace {

constexpr int64_t kCloudsToday = 1'790'000'000;

class CloudsTest : public testing::TestWithParam<const char*> {
 protected:
  static bool IsGoogle() { return GetParam() == std::string("gs://bucket"); }
  static std::string Name(const std::string& key) { return absl::StrCat(GetParam(), "/", key); }

  ObjectStorage::Options Options() {
    ObjectStorage::Options options;
    options.gcs.endpoint = server_.url();
    options.environment.variable = [this](const std::string& name) -> std::string {
      if (name == "GCE_METADATA_HOST") return tokens_.url().substr(std::string("http://").size());
      if (name == "AZURE_POD_IDENTITY_AUTHORITY_HOST") return tokens_.url();
      if (name == "AZURE_STORAGE_ACCOUNT") return "me";
      if (name == "AZURE_STORAGE_SERVICE_ENDPOINT") return server_.url() + "/me";
      if (name == "AZURE_STORAGE_KEY") return key_;
      return "";
    };
    options.environment.file = [](const std::string& path) { return absl::NotFoundError(path); };
    options.environment.now = [] { return kCloudsToday; };
    options.pause = kMillisecond;
    return options;
  }
  support::ServedAnswer Error(int status, const std::string& code) const {
    return IsGoogle() ? support::GoogleError(status, code) : support::AzureError(status, code);
  }
  static absl::StatusOr<std::string> ReadAll(Storage* storage, const std::string& name) {
    auto file = storage->OpenAndWait(name);
    if (!file.ok()) return file.status();
    std::string bytes((*file)->opened().size + 10, '\0');
    const auto read = (*file)->ReadAt(0, bytes.size(), bytes.data());
    if (!read.ok()) return read.status();
    bytes.resize(*read);
    return bytes;
  }

  static uint64_t CountOf(const ObjectStorage& storage, RequestOutcome outcome) {
    uint64_t count = 0;
    for (const ObjectSchemeCounts& counts : storage.scheme_counts()) {
      count += counts.requests.outcomes[static_cast<size_t>(outcome)];
    }
    return count;
  }

  std::string key_;
  support::FakeClouds clouds_;
  std::atomic<int> given_{0};
  std::atomic<bool> tokens_refuse_{false};
  support::HttpServer tokens_{[this](const support::ServedRequest&) {
    if (tokens_refuse_) return support::ServedAnswer{.status = 403, .body = "{\"error\": \"no such account\"}"};
    return support::ServedAnswer{
        .body = absl::StrCat("{\"access_token\": \"hunter", ++given_, "\", \"expires_in\": 3600}")};
  }};
  support::HttpServer server_{[this](const support::ServedRequest& request) {
    return IsGoogle() ? clouds_.Google(request) : clouds_.Azure(request);
  }};
};

TEST_P(CloudsTest, HoldsToTheContract) {
  ObjectStorage storage(Options());
  HoldsToTheContract(&storage, Name("folder"), [this](const std::string& name, const std::string& content) {
    clouds_.Put("bucket", name.substr(std::string(GetParam()).size() + 1), content);
  });
}

TEST_P(CloudsTest, WritesHoldToTheContract) {
  clouds_.MakeBucket("bucket");
  for (const size_t part_bytes : {size_t{4}, size_t{100}}) {  // in parts, and in one request
    ObjectStorage::Options options = Options();
    options.part_bytes = part_bytes;
    ObjectStorage storage(options);
    WritesHoldToTheContract(&storage, Name("folder"));
  }
}

TEST_P(CloudsTest, KeysMayContainAnyCharacters) {
  ObjectStorage storage(Options());
  for (const char* key : {"a b+c&d=e%20/\xC3\xA9~", "x/y/z", "?*"}) {
    clouds_.Put("bucket", key, key);
    EXPECT_EQ(ReadAll(&storage, Name(key)).value(), key);
  }
  clouds_.Put("bucket", "empty", "");
  EXPECT_EQ(ReadAll(&storage, Name("empty")).value(), "");
}

TEST_P(CloudsTest, AListingOfManyPagesIsComplete) {
  clouds_.page_entries = 7;
  std::set<std::string> put, got;
  for (int i = 0; i < 100; ++i) {
    clouds_.Put("bucket", absl::StrCat("train/", i), std::string(static_cast<size_t>(i), 'x'));
    put.insert(absl::StrCat(i, "=", i));
  }
  clouds_.Put("bucket", "train/more/0", "x");
  clouds_.Put("bucket", "training", "x");
  put.insert("more/");
  ObjectStorage storage(Options());
  const auto entries = storage.ListAndWait(Name("train/"));
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (const StoredEntry& entry : *entries) {
    got.insert(entry.kind == StoredEntry::Kind::kFolder ? entry.name + "/"
                                                        : absl::StrCat(entry.name, "=", entry.info->size));
  }
  EXPECT_EQ(got, put);
  const auto file = storage.OpenAndWait(Name("train/9")).value();
  for (const StoredEntry& entry : *entries) {
    if (entry.name == "9") {
      EXPECT_EQ(entry.info, file->opened()) << "a listing and a lookup report one state";
    }
  }
}

TEST_P(CloudsTest, TransientErrorsAreRetried) {
  clouds_.Put("bucket", "a", "0123456789");
  for (const int status : {429, 500, 503}) {
    std::atomic<int> left{2};
    const support::FaultEnds fault_ends(&clouds_.fault);
    clouds_.fault = [&](const support::ServedRequest&) {
      return left.fetch_sub(1) > 0 ? std::optional<support::ServedAnswer>(Error(status, "ServerBusy")) : std::nullopt;
    };
    ObjectStorage storage(Options());
    EXPECT_EQ(ReadAll(&storage, Name("a")).value(), "0123456789") << status;
    EXPECT_EQ(storage.counts().again, 2u);
    EXPECT_EQ(CountOf(storage, RequestOutcome::kUnavailable), 2u);
    EXPECT_EQ(CountOf(storage, RequestOutcome::kOk), storage.counts().requests - 2);
  }
}

TEST_P(CloudsTest, AReadOfAChangedObjectIsAborted) {
  clouds_.Put("bucket", "a", "0123456789");
  ObjectStorage storage(Options());
  const auto file = storage.OpenAndWait(Name("a")).value();
  clouds_.Put("bucket", "a", "9876543210");
  char byte;
  EXPECT_TRUE(absl::IsAborted(file->ReadAt(0, 1, &byte).status()));
}

TEST_P(CloudsTest, ARejectedTokenIsFetchedAgain) {
  clouds_.Put("bucket", "a", "0123456789");
  std::atomic<bool> over{false};
  const support::FaultEnds fault_ends(&clouds_.fault);
  clouds_.fault = [&](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    const bool first = request.headers.at("authorization") == "Bearer hunter1";
    return over && first ? std::optional<support::ServedAnswer>(Error(401, "InvalidAuthenticationInfo")) : std::nullopt;
  };
  ObjectStorage storage(Options());
  EXPECT_EQ(ReadAll(&storage, Name("a")).value(), "0123456789");
  over = true;
  EXPECT_EQ(ReadAll(&storage, Name("a")).value(), "0123456789");
  EXPECT_EQ(given_.load(), 2);
  EXPECT_EQ(CountOf(storage, RequestOutcome::kRenewed), 1u);
}

TEST_P(CloudsTest, TheEndOfTheTokenInUseIsKnown) {
  clouds_.Put("bucket", "a", "0123456789");
  ObjectStorage storage(Options());
  EXPECT_TRUE(storage.scheme_counts().empty()) << "no request yet";
  EXPECT_TRUE(ReadAll(&storage, Name("a")).ok());
  ASSERT_EQ(storage.scheme_counts().size(), 1u);
  const ObjectSchemeCounts counts = storage.scheme_counts()[0];
  EXPECT_EQ(counts.scheme, IsGoogle() ? "gs" : "az");
  EXPECT_EQ(counts.credentials_end, kCloudsToday + 3600);
  EXPECT_GT(counts.requests.seconds, 0);
}

TEST_P(CloudsTest, RequestsWithoutATokenAreDenied) {
  tokens_refuse_ = true;
  ObjectStorage storage(Options());
  EXPECT_TRUE(absl::IsPermissionDenied(storage.OpenAndWait(Name("a")).status()));
  EXPECT_EQ(CountOf(storage, RequestOutcome::kDenied), 1u);
  EXPECT_EQ(storage.counts().requests, 0u);
}

TEST_P(CloudsTest, ARefusalIsReportedWithItsReasonAndWithoutKeys) {
  for (const int refusal : {401, 403}) {
    const support::FaultEnds fault_ends(&clouds_.fault);
    clouds_.fault = [&](const support::ServedRequest&) { return Error(refusal, "AuthorizationFailure"); };
    ObjectStorage storage(Options());
    const absl::Status status = storage.OpenAndWait(Name("a")).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    for (const std::string& word : {Name("a"), absl::StrCat(refusal), std::string("AuthorizationFailure")}) {
      EXPECT_TRUE(absl::StrContains(status.message(), word)) << status;
    }
    EXPECT_FALSE(absl::StrContains(status.message(), "hunter")) << status;
    EXPECT_LE(storage.counts().requests, 4u) << "further requests would get the same answer";
    EXPECT_EQ(CountOf(storage, RequestOutcome::kDenied), 1u);
  }
}

TEST_P(CloudsTest, MissingObjectsAndBucketsAreNamed) {
  clouds_.Put("bucket", "a", "0");
  ObjectStorage storage(Options());
  EXPECT_TRUE(absl::IsNotFound(storage.OpenAndWait(Name("b")).status()));
  const std::string other = IsGoogle() ? "bucket gs://other" : "container az://other";
  const absl::Status missing = storage.ListAndWait(IsGoogle() ? "gs://other/b" : "az://other/b").status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_TRUE(absl::StrContains(missing.message(), "there is no " + other)) << missing;
}

INSTANTIATE_TEST_SUITE_P(Each, CloudsTest, testing::Values("gs://bucket", "az://bucket"),
                         [](const auto& each) { return std::string(each.param, 2); });

class AzureTest : public CloudsTest {};

TEST_P(AzureTest, AWrongClockIsCorrectedByTheStorages) {
  key_ = "a2V5";
  clouds_.Put("bucket", "a", "0123456789");
  clouds_.fault = [](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    EXPECT_TRUE(absl::StartsWith(request.headers.at("authorization"), "SharedKey me:"));
    if (absl::StrContains(request.headers.at("x-ms-date"), " 15:13:20 ")) return std::nullopt;
    support::ServedAnswer answer = support::AzureError(403, "AuthenticationFailed");
    answer.headers.emplace_back("Date", "Mon, 21 Sep 2026 15:13:20 GMT");
    return answer;
  };
  ObjectStorage storage(Options());
  EXPECT_EQ(ReadAll(&storage, Name("a")).value(), "0123456789");
  EXPECT_EQ(storage.counts().again, 1u) << "later requests use the corrected clock";
}

INSTANTIATE_TEST_SUITE_P(Each, AzureTest, testing::Values("az://bucket"));

}  // namespace
}  // namespace penstock::storage
