// A new object is visible only when it is complete, even if requests fail.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "pipeline/storage/object/object_storage.h"
#include "tests/support/http_server/fake_clouds.h"
#include "tests/support/http_server/fake_s3.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::storage {
namespace {

// Accepts objects as S3 and Google do.
class ObjectWriterTest : public testing::Test {
 protected:
  ObjectStorage::Options Options() {
    ObjectStorage::Options options;
    options.s3.endpoint = options.gcs.endpoint = server_.url();
    options.s3.path_style = true;
    options.s3.is_signed = options.gcs.is_signed = false;
    options.s3.now = [] { return int64_t{1'790'000'000}; };
    options.environment.variable = [](const std::string&) { return std::string(); };
    options.environment.now = options.s3.now;
    options.pause = kMillisecond;
    options.part_bytes = 10;
    options.parts_under_way = 3;
    return options;
  }
  absl::Status Write(const std::string& name, const std::string& content) {
    auto file = storage_.Create(name);
    if (!file.ok()) return file.status();
    for (size_t at = 0; at < content.size(); at += 7) {
      if (absl::Status status = (*file)->Append(content.substr(at, 7)); !status.ok()) return status;
    }
    return (*file)->Commit();
  }

  support::ServedAnswer Answer(const support::ServedRequest& request) {
    if (auto answer = fault_(request)) return *std::move(answer);
    return absl::StartsWith(request.path, "/bucket/") ? s3_(request) : clouds_.Google(request);
  }

  void SetUp() override {
    s3_.MakeBucket("bucket");
    clouds_.MakeBucket("bucket");
  }

  support::ServedFault fault_;
  support::FakeS3 s3_;
  support::FakeClouds clouds_;
  support::HttpServer server_{[this](const support::ServedRequest& request) { return Answer(request); }};
  ObjectStorage storage_{Options()};
};

TEST_F(ObjectWriterTest, ASmallObjectIsOneRequest) {
  EXPECT_TRUE(Write("s3://bucket/a", "0123456789").ok());
  EXPECT_EQ(server_.requests(), 1);
  EXPECT_EQ(s3_.Content("bucket", "a"), "0123456789");
}

TEST_F(ObjectWriterTest, PartsFormOneObjectEvenIfSomeFailFirst) {
  std::string content;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&content, i, ",");
  std::atomic<int> asked{0};
  const support::FaultEnds fault_ends(&fault_);
  fault_ = [&](const support::ServedRequest&) {
    return ++asked % 3 == 0 ? std::optional<support::ServedAnswer>(support::S3Error(503, "SlowDown")) : std::nullopt;
  };
  EXPECT_TRUE(Write("s3://bucket/a", content).ok());
  EXPECT_TRUE(Write("gs://bucket/a", content).ok());
  EXPECT_EQ(s3_.Content("bucket", "a"), content);
  EXPECT_EQ(clouds_.Content("bucket", "a"), content);
}

TEST_F(ObjectWriterTest, APartlyAcceptedPartIsSentAgain) {
  std::atomic<bool> first{true};
  const support::FaultEnds fault_ends(&fault_);
  fault_ = [&](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    if (!absl::StartsWith(request.path, "/session/") || !first.exchange(false)) return std::nullopt;
    return support::ServedAnswer{.status = 308, .headers = {{"Range", "bytes=0-3"}}};
  };
  EXPECT_TRUE(Write("gs://bucket/a", "0123456789abcdef").ok());
  EXPECT_EQ(clouds_.Content("bucket", "a"), "0123456789abcdef");
}

TEST_F(ObjectWriterTest, NoErrorContainsTheUrlOfAnUpload) {
  fault_ = [](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    if (!absl::StartsWith(request.path, "/session/")) return std::nullopt;
    return support::ServedAnswer{.status = 403,
                                 .body = absl::StrCat("refused: ", request.method, " ", request.path, " of http://",
                                                      request.headers.at("host"), request.path)};
  };
  const absl::Status status = Write("gs://bucket/a", std::string(100, 'x'));
  EXPECT_TRUE(absl::StrContains(status.message(), "refused: PUT")) << status;
  EXPECT_FALSE(absl::StrContains(status.message(), "session")) << status;
}

TEST_F(ObjectWriterTest, AFailedOrAbandonedWriteLeavesNothing) {
  fault_ = [](const support::ServedRequest& request) {
    return absl::StrContains(request.query, "partNumber=3")
               ? std::optional<support::ServedAnswer>(support::S3Error(403, "AccessDenied"))
               : std::nullopt;
  };
  const absl::Status status = Write("s3://bucket/a", std::string(100, 'x'));
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "s3://bucket/a")) << status;
  EXPECT_EQ(s3_.Content("bucket", "a"), std::nullopt);
  EXPECT_EQ(s3_.pending_uploads(), 0u);
  auto file = storage_.Create("s3://bucket/b").value();
  EXPECT_TRUE(file->Append(std::string(25, 'x')).ok());
  file.reset();
  EXPECT_EQ(s3_.Content("bucket", "b"), std::nullopt);
  EXPECT_EQ(s3_.pending_uploads(), 0u);
}

TEST_F(ObjectWriterTest, AnErrorInTheBodyOfTheLastAnswerIsReported) {
  fault_ = [](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    if (request.method != "POST" || !absl::StartsWith(request.query, "uploadId")) return std::nullopt;
    return support::ServedAnswer{.body = "<Error><Code>EntityTooSmall</Code><Message>small</Message></Error>"};
  };
  const absl::Status status = Write("s3://bucket/a", std::string(100, 'x'));
  EXPECT_TRUE(absl::StrContains(status.message(), "EntityTooSmall")) << status;
}

TEST_F(ObjectWriterTest, AnObjectThatMustBeNewReplacesNone) {
  const std::string tag = storage_.Put("s3://bucket/a", "mine", {.is_new = true, .tag = {}}).value();
  EXPECT_TRUE(absl::IsAborted(storage_.Put("s3://bucket/a", "other", {.is_new = true, .tag = {}}).status()));
  // The answer to the first try was lost: the object already has the wanted content.
  EXPECT_EQ(storage_.Put("s3://bucket/a", "mine", {.is_new = true, .tag = {}}).value(), tag);
  EXPECT_TRUE(absl::IsInvalidArgument(storage_.Create("https://host/a").status()));
}

}  // namespace
}  // namespace penstock::storage
