// New objects are visible only when they are whole, whatever fails on the way.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "pipeline/storage/object/object_storage.h"
#include "tests/support/http_server/http_server.h"

namespace penstock {
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

  ServedAnswer Answer(const ServedRequest& request) {
    if (auto answer = fault_(request)) return *std::move(answer);
    auto query = FieldsOfQuery(request.query);
    ServedAnswer answer;
    MutexLock lock(&mutex_);
    if (absl::StartsWith(request.path, "/upload/storage")) {
      answer.headers = {{"Location", server_.url() + "/session"}};
    } else if (request.path == "/session") {
      const std::string range = request.headers.at("content-range");
      // bytes that the server already has are not appended again
      session_.resize(std::stoul(range.substr(sizeof("bytes"))));
      session_ += request.body;
      answer.status = absl::EndsWith(range, "/*") ? 308 : 200;
      if (answer.status == 200) objects_["session"] = session_;
      answer.headers = {{"Range", absl::StrCat("bytes=0-", session_.size() - 1)}};
    } else if (request.method == "POST" && query.contains("uploads")) {
      begun_ = true;
      answer.body = "<InitiateMultipartUploadResult><UploadId>u&amp;1</UploadId></InitiateMultipartUploadResult>";
    } else if (request.method == "PUT" && query.contains("partNumber")) {
      EXPECT_EQ(query["uploadId"], "u&1");
      parts_[std::stoi(query["partNumber"])] = request.body;
      answer.headers = {{"ETag", absl::StrCat("\"t", query["partNumber"], "\"")}};
    } else if (request.method == "POST") {
      std::string whole;
      for (const auto& [number, bytes] : parts_) {
        EXPECT_TRUE(absl::StrContains(
            request.body, absl::StrCat("<PartNumber>", number, "</PartNumber><ETag>\"t", number, "\"</ETag>")));
        whole += bytes;
      }
      objects_[request.path] = whole;
      answer.body = "<CompleteMultipartUploadResult/>";
    } else if (request.method == "PUT") {
      const auto found = objects_.find(request.path);
      if (request.headers.contains("if-none-match") && found != objects_.end()) return S3Error(412, "Precondition");
      objects_[request.path] = request.body;
      answer.headers = {{"ETag", "\"whole\""}};
    } else if (request.method == "DELETE") {
      parts_.clear();
      begun_ = false;
    } else {
      const auto found = objects_.find(request.path);
      if (found == objects_.end()) return S3Error(404, "NoSuchKey");
      const size_t last =
          std::min(found->second.size() - 1, request.headers.at("range") == "bytes=0-0" ? 0 : size_t{99});
      answer.status = 206;
      answer.headers = {{"ETag", "\"read\""},
                        {"Content-Range", absl::StrCat("bytes 0-", last, "/", found->second.size())}};
      answer.body = found->second.substr(0, last + 1);
    }
    return answer;
  }

  ServedFault fault_;
  Mutex mutex_;
  std::map<std::string, std::string> objects_ ABSL_GUARDED_BY(mutex_);
  std::map<int, std::string> parts_ ABSL_GUARDED_BY(mutex_);
  std::string session_ ABSL_GUARDED_BY(mutex_);
  bool begun_ ABSL_GUARDED_BY(mutex_) = false;
  HttpServer server_{[this](const ServedRequest& request) { return Answer(request); }};
  ObjectStorage storage_{Options()};
};

TEST_F(ObjectWriterTest, ASmallObjectIsOneRequest) {
  EXPECT_TRUE(Write("s3://bucket/a", "0123456789").ok());
  EXPECT_EQ(server_.requests(), 1);
  MutexLock lock(&mutex_);
  EXPECT_EQ(objects_["/bucket/a"], "0123456789");
}

TEST_F(ObjectWriterTest, PartsAreOneObjectAlsoWhereSomeFailedFirst) {
  std::string content;
  for (int i = 0; i < 100; ++i) absl::StrAppend(&content, i, ",");
  std::atomic<int> asked{0};
  const FaultEnds fault_ends(&fault_);
  fault_ = [&](const ServedRequest&) {
    return ++asked % 3 == 0 ? std::optional<ServedAnswer>(S3Error(503, "SlowDown")) : std::nullopt;
  };
  EXPECT_TRUE(Write("s3://bucket/a", content).ok());
  EXPECT_TRUE(Write("gs://bucket/a", content).ok());
  MutexLock lock(&mutex_);
  EXPECT_EQ(objects_["/bucket/a"], content);
  EXPECT_EQ(objects_["session"], content);
}

TEST_F(ObjectWriterTest, APartThatWasTakenInPartIsSentAgain) {
  std::atomic<bool> first{true};
  const FaultEnds fault_ends(&fault_);
  fault_ = [&](const ServedRequest& request) -> std::optional<ServedAnswer> {
    if (request.path != "/session" || !first.exchange(false)) return std::nullopt;
    return ServedAnswer{.status = 308, .headers = {{"Range", "bytes=0-3"}}};
  };
  EXPECT_TRUE(Write("gs://bucket/a", "0123456789abcdef").ok());
  MutexLock lock(&mutex_);
  EXPECT_EQ(objects_["session"], "0123456789abcdef");
}

TEST_F(ObjectWriterTest, WhatFailsOrIsGivenUpLeavesNothing) {
  fault_ = [](const ServedRequest& request) {
    return absl::StrContains(request.query, "partNumber=3") ? std::optional<ServedAnswer>(S3Error(403, "AccessDenied"))
                                                            : std::nullopt;
  };
  const absl::Status status = Write("s3://bucket/a", std::string(100, 'x'));
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "s3://bucket/a")) << status;
  {
    MutexLock lock(&mutex_);
    EXPECT_TRUE(objects_.empty());
    EXPECT_FALSE(begun_) << "its parts were taken back";
  }
  auto file = storage_.Create("s3://bucket/b").value();
  EXPECT_TRUE(file->Append(std::string(25, 'x')).ok());
  file.reset();
  MutexLock lock(&mutex_);
  EXPECT_TRUE(objects_.empty());
  EXPECT_FALSE(begun_);
}

TEST_F(ObjectWriterTest, AnErrorInTheAnswerToTheLastRequestIsOne) {
  fault_ = [](const ServedRequest& request) -> std::optional<ServedAnswer> {
    if (request.method != "POST" || !absl::StartsWith(request.query, "uploadId")) return std::nullopt;
    return ServedAnswer{.body = "<Error><Code>EntityTooSmall</Code><Message>small</Message></Error>"};
  };
  const absl::Status status = Write("s3://bucket/a", std::string(100, 'x'));
  EXPECT_TRUE(absl::StrContains(status.message(), "EntityTooSmall")) << status;
}

TEST_F(ObjectWriterTest, AnObjectThatMustBeNewReplacesNone) {
  EXPECT_EQ(storage_.Put("s3://bucket/a", "mine", {.is_new = true, .tag = {}}).value(), "\"whole\"");
  EXPECT_TRUE(absl::IsAborted(storage_.Put("s3://bucket/a", "other", {.is_new = true, .tag = {}}).status()));
  // The answer to the first try was lost: the object already has the wanted content.
  EXPECT_EQ(storage_.Put("s3://bucket/a", "mine", {.is_new = true, .tag = {}}).value(), "\"read\"");
  EXPECT_TRUE(absl::IsInvalidArgument(storage_.Create("https://host/a").status()));
}

}  // namespace
}  // namespace penstock
