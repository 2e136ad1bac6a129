// Objects as files, on servers that fail in every known way.
#include "pipeline/storage/object/object_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/runtime/clock.h"
#include "pipeline/storage/file_errors.h"
#include "tests/pipeline/storage/object/object_storage_testing.h"
#include "tests/pipeline/storage/storage_contract.h"
#include "tests/support/counter.h"
#include "tests/support/http_server/fake_s3.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::storage {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(ObjectStorageTest, HoldsToTheContract) {
  ObjectStorage storage(Options());
  EXPECT_FALSE(storage.HasLowLatency("s3://bucket/a"));
  HoldsToTheContract(&storage, "s3://bucket/folder", [this](const std::string& name, const std::string& content) {
    s3_.Put("bucket", name.substr(std::string("s3://bucket/").size()), content);
  });
}

TEST_F(ObjectStorageTest, WritesHoldToTheContract) {
  s3_.MakeBucket("bucket");
  for (const size_t part_bytes : {size_t{4}, size_t{100}}) {  // in parts, and in one request
    ObjectStorage::Options options = Options();
    options.part_bytes = part_bytes;
    ObjectStorage storage(options);
    WritesHoldToTheContract(&storage, "s3://bucket/folder");
    EXPECT_EQ(s3_.pending_uploads(), 0u);
  }
}

TEST_F(ObjectStorageTest, AnUploadOfAKilledWriterIsRemovedWithItsFolder) {
  s3_.MakeBucket("bucket");
  support::ServedRequest begin{
      .method = "POST", .path = "/bucket/folder/a", .query = "uploads", .headers = {}, .body = {}};
  EXPECT_EQ(s3_(begin).status, 200);
  begin.path = "/bucket/other/a";
  EXPECT_EQ(s3_(begin).status, 200);
  ObjectStorage storage(Options());
  EXPECT_TRUE(storage.RemoveUnfinished("s3://bucket/folder").ok());
  EXPECT_EQ(s3_.pending_uploads(), 1u);
}

TEST_F(ObjectStorageTest, KeysMayContainAnyCharacters) {
  ObjectStorage storage(Options());
  for (const char* key : {"a b+c&d=e%20/\xC3\xA9~", "x/y/z", "?*"}) {
    s3_.Put("bucket", key, key);
    EXPECT_EQ(ReadAll(&storage, absl::StrCat("s3://bucket/", key)).value(), key);
  }
}

TEST_F(ObjectStorageTest, AProgramMayAnswerWhileTheStorageIsDestroyed) {
  for (const bool answers : {true, false}) {
    {
      MutexLock lock(&mutex_);
      variables_ = {{"HOME", "/home/me"}};
    }
    ObjectStorage::Options options = Options();
    options.environment.file = [](const std::string& path) -> absl::StatusOr<std::string> {
      if (path == "/home/me/.aws/config") return "[default]\ncredential_process = x\n";
      return absl::NotFoundError(path);
    };
    std::promise<void> runs;
    options.environment.output = [&](const std::string&, const std::stop_token& stop) -> absl::StatusOr<std::string> {
      std::promise<void> stopped;
      const std::stop_callback callback(stop, [&stopped] { stopped.set_value(); });
      runs.set_value();
      stopped.get_future().wait();
      if (!answers) return absl::UnavailableError("it was killed");
      return "{\"Version\": 1, \"AccessKeyId\": \"id\", \"SecretAccessKey\": \"s\"}";
    };
    s3_.Put("bucket", "a", "content");
    auto storage = std::make_unique<ObjectStorage>(options);
    std::atomic<int> done{0};
    storage->Stat("s3://bucket/a", {}, [&](absl::StatusOr<StoredName>) { ++done; });
    runs.get_future().wait();
    storage.reset();
    EXPECT_EQ(done, 1);
  }
}

TEST_F(ObjectStorageTest, AnEmptyObjectIsAFile) {
  s3_.Put("bucket", "empty", "");
  ObjectStorage storage(Options());
  EXPECT_EQ(ReadAll(&storage, "s3://bucket/empty").value(), "");
}

TEST_F(ObjectStorageTest, AListingOfManyPagesIsComplete) {
  s3_.page_entries = 7;
  std::set<std::string> put, got;
  for (int i = 0; i < 100; ++i) {
    s3_.Put("bucket", absl::StrCat("train/", i), std::string(static_cast<size_t>(i), 'x'));
    put.insert(absl::StrCat(i, "=", i));
  }
  s3_.Put("bucket", "train/more/0", "x");
  s3_.Put("bucket", "training", "x");
  put.insert("more/");
  ObjectStorage storage(Options());
  const auto entries = storage.ListAndWait("s3://bucket/train/");
  ASSERT_TRUE(entries.ok()) << entries.status();
  for (const StoredEntry& entry : *entries) {
    got.insert(entry.kind == StoredEntry::Kind::kFolder ? entry.name + "/"
                                                        : absl::StrCat(entry.name, "=", entry.info->size));
  }
  EXPECT_EQ(got, put);
}

// A page of a listing that another page follows.
support::ServedAnswer PageBefore(const std::string& token, const std::string& entries) {
  return {.headers = {{"Content-Type", "application/xml"}},
          .body = absl::StrCat("<ListBucketResult>", entries, "<IsTruncated>true</IsTruncated><NextContinuationToken>",
                               token, "</NextContinuationToken></ListBucketResult>")};
}

TEST_F(ObjectStorageTest, AListingWithoutAnEndIsAnError) {
  const std::string entry = "<Contents><Key>train/a</Key><Size>1</Size><ETag>\"1\"</ETag></Contents>";
  std::atomic<int> pages{0};
  const support::FaultEnds ends(&s3_.fault);
  ObjectStorage storage(Options());
  const auto expect_error = [&](const std::string& what) {
    const absl::Status status = storage.ListAndWait("s3://bucket/train/").status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(StartsWith("s3://bucket/train: the listing has no end: "), HasSubstr(what)));
  };
  s3_.fault = [&](const support::ServedRequest&) { return PageBefore("same", entry); };
  expect_error("after 2 entries the server repeats a continuation token");
  s3_.fault = [&](const support::ServedRequest&) { return PageBefore(++pages % 2 == 0 ? "even" : "odd", entry); };
  expect_error("repeats a continuation token");
  s3_.fault = [&](const support::ServedRequest&) { return PageBefore(absl::StrCat("token ", ++pages), ""); };
  expect_error("empty pages");
}

TEST_F(ObjectStorageTest, ATooLargeListingIsRejectedAtOnceWithTheLimit) {
  const support::FaultEnds ends(&s3_.fault);
  std::atomic<int> asked{0};
  s3_.fault = [&](const support::ServedRequest&) {
    ++asked;
    return support::ServedAnswer{.headers = {{"Content-Type", "application/xml"}},
                                 .body = std::string((16 << 20) + 1, 'x')};
  };
  ObjectStorage storage(Options());
  const absl::Status status = storage.ListAndWait("s3://bucket/train/").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the answer is longer than 16777216 bytes"));
  EXPECT_EQ(asked, 1);
}

TEST_F(ObjectStorageTest, EveryTransientFaultIsRetried) {
  s3_.Put("bucket", "a", "0123456789");
  const std::vector<support::ServedAnswer> faults = {
      support::S3Error(503, "SlowDown"),
      support::S3Error(500, "InternalError"),
      support::S3Error(429, ""),
      support::S3Error(502, ""),
      {.status = 206,
       .headers = {{"Content-Range", "bytes 0-9/10"}, {"ETag", "\"tag-1\""}},
       .body = "0123456789",
       .cut_after = 4},
      {.status = 206, .headers = {{"Content-Range", "bytes 0-4/10"}, {"ETag", "\"tag-1\""}}, .body = "01234"},
      {.status = 206, .headers = {{"Content-Range", "bytes 5-14/20"}, {"ETag", "\"tag-1\""}}, .body = "0123456789"}};
  for (const support::ServedAnswer& fault : faults) {
    std::atomic<int> left{2};
    const support::FaultEnds fault_ends(&s3_.fault);
    s3_.fault = [&](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
      const auto range = request.headers.find("range");
      const bool read = range != request.headers.end() && range->second == "bytes=0-9";
      return read && left.fetch_sub(1) > 0 ? std::optional<support::ServedAnswer>(fault) : std::nullopt;
    };
    ObjectStorage storage(Options());
    EXPECT_EQ(ReadAll(&storage, "s3://bucket/a").value(), "0123456789") << fault.status << " " << fault.body;
    EXPECT_EQ(storage.counts().again, 2u);
    EXPECT_EQ(storage.counts().bytes, 10u);
  }
}

TEST_F(ObjectStorageTest, APersistentFaultIsReportedAfterSomeTries) {
  s3_.Put("bucket", "a", "0123456789");
  s3_.fault = [](const support::ServedRequest&) {
    return support::S3Error(503, "SlowDown", "Please reduce your request rate");
  };
  ObjectStorage storage(Options());
  const absl::Status status = storage.OpenAndWait("s3://bucket/a").status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  for (const char* word : {"s3://bucket/a", "503", "SlowDown", "reduce your request rate", "6 times"}) {
    EXPECT_NE(status.message().find(word), absl::string_view::npos) << status;
  }
  EXPECT_EQ(storage.counts().requests, static_cast<uint64_t>(ObjectStorage::kTries));
}

// Starts to read the 10 bytes of s3://bucket/a.
std::future<absl::StatusOr<size_t>> StartReading(const StoredFile& file, std::string* to) {
  to->assign(10, 0);
  const auto end = std::make_shared<std::promise<absl::StatusOr<size_t>>>();
  file.Read(0, 10, to->data(), {}, [end](absl::StatusOr<size_t> read) { end->set_value(std::move(read)); });
  return end->get_future();
}

TEST_F(ObjectStorageTest, AFailingReadIsReportedWhileItIsRetriedAndNotAfterItSucceeds) {
  s3_.Put("bucket", "a", "0123456789");
  s3_.Put("bucket", "b", "0");
  ManualClock clock;
  Mutex mutex;
  std::vector<std::string> said;  // guarded by mutex
  support::Counter lines;
  const auto file_errors = std::make_shared<FileErrors>(&clock, [&](const std::string& line) {
    MutexLock lock(&mutex);
    said.push_back(line);
    lines.Add();
  });
  ObjectStorage::Options options = Options();
  options.clock = &clock;
  ObjectStorage storage(options);
  const auto file = storage.OpenAndWait("s3://bucket/a", {.file_errors = file_errors}).value();
  std::atomic<int> left{1};
  const support::FaultEnds fault_ends(&s3_.fault);
  s3_.fault = [&](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    if (request.path != "/bucket/a" || left.fetch_sub(1) <= 0) return std::nullopt;
    support::ServedAnswer answer = support::S3Error(503, "SlowDown");
    answer.headers = {{"Retry-After", "1"}};
    return answer;
  };
  std::string got;
  auto read = StartReading(*file, &got);
  lines.WaitFor(1);
  const std::vector<std::string> meanwhile = file_errors->Lines(8, 300);
  ASSERT_EQ(meanwhile.size(), 1u);
  EXPECT_THAT(meanwhile[0], AllOf(StartsWith("s3://bucket/a: HTTP 503"), EndsWith("the read is retried")));
  // The client's thread has taken the second try when it answers, and looks at the clock with each request.
  EXPECT_TRUE(storage.OpenAndWait("s3://bucket/b").ok());
  clock.Advance(kSecond);
  EXPECT_TRUE(storage.OpenAndWait("s3://bucket/b").ok());
  EXPECT_EQ(read.get().value(), 10u);
  EXPECT_TRUE(file_errors->Lines(8, 300).empty());
  MutexLock lock(&mutex);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_THAT(said[1], HasSubstr("s3://bucket/a: works again, after 1 s"));
}

TEST_F(ObjectStorageTest, ASilentStorageIsNamedAfterTwoSecondsUntilItAnswers) {
  s3_.Put("bucket", "a", "0123456789");
  s3_.Put("bucket", "b", "0");
  ManualClock clock;
  support::Counter lines, asked;
  const auto file_errors = std::make_shared<FileErrors>(&clock, [&](const std::string&) { lines.Add(); });
  ObjectStorage::Options options = Options();
  options.clock = &clock;
  ObjectStorage storage(options);
  const auto file = storage.OpenAndWait("s3://bucket/a", {.file_errors = file_errors}).value();
  std::promise<void> answer;
  const std::shared_future<void> answers = answer.get_future().share();
  const support::FaultEnds fault_ends(&s3_.fault);
  s3_.fault = [&](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    if (request.path != "/bucket/a") return std::nullopt;
    asked.Add();
    answers.wait();
    return std::nullopt;
  };
  std::string got;
  auto read = StartReading(*file, &got);
  asked.WaitFor(1);
  clock.Advance(HttpClient::kSilentAfter - 1);
  EXPECT_TRUE(storage.OpenAndWait("s3://bucket/b").ok());  // the client has looked at the clock
  EXPECT_TRUE(file_errors->Lines(8, 300).empty());
  clock.Advance(kSecond / 2 + 1);  // it looks for silent requests twice a second
  lines.WaitFor(1);
  const std::vector<std::string> meanwhile = file_errors->Lines(8, 300);
  answer.set_value();
  EXPECT_EQ(read.get().value(), 10u);
  ASSERT_EQ(meanwhile.size(), 1u);
  EXPECT_THAT(meanwhile[0],
              AllOf(StartsWith("s3://bucket/a: nothing comes from 127.0.0.1:"), HasSubstr("; for 2 s; ")));
  EXPECT_TRUE(file_errors->Lines(8, 300).empty());
}

TEST_F(ObjectStorageTest, AStorageThatAsksForAPauseGetsIt) {
  s3_.Put("bucket", "a", "0123456789");
  s3_.Put("bucket", "b", "0");
  ManualClock clock;
  ObjectStorage::Options options = Options();
  options.clock = &clock;
  ObjectStorage storage(options);
  const auto file = storage.OpenAndWait("s3://bucket/a").value();
  support::Counter asked;
  const support::FaultEnds fault_ends(&s3_.fault);
  s3_.fault = [&](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    if (request.path != "/bucket/a" || asked.Add() > 1) return std::nullopt;
    support::ServedAnswer answer = support::S3Error(503, "SlowDown");
    answer.headers = {{"Retry-After", "1"}};
    return answer;
  };
  std::string got;
  auto read = StartReading(*file, &got);
  while (storage.counts().again == 0) ASSERT_TRUE(storage.OpenAndWait("s3://bucket/b").ok());
  ASSERT_TRUE(storage.OpenAndWait("s3://bucket/b").ok());
  clock.Advance(kSecond - 1);
  ASSERT_TRUE(storage.OpenAndWait("s3://bucket/b").ok());
  ASSERT_TRUE(storage.OpenAndWait("s3://bucket/b").ok());
  EXPECT_EQ(asked.value(), 1);
  clock.Advance(1);
  ASSERT_TRUE(storage.OpenAndWait("s3://bucket/b").ok());
  EXPECT_EQ(read.get().value(), 10u);
  EXPECT_EQ(asked.value(), 2);
}

TEST_F(ObjectStorageTest, AReadOfAChangedObjectIsAborted) {
  s3_.Put("bucket", "a", "0123456789");
  ObjectStorage storage(Options());
  const auto file = storage.OpenAndWait("s3://bucket/a").value();
  s3_.Put("bucket", "a", "9876543210");
  char byte;
  EXPECT_TRUE(absl::IsAborted(file->ReadAt(0, 1, &byte).status()));
  // This holds also with a server that ignores If-Match.
  s3_.fault = [](const support::ServedRequest&) {
    return support::ServedAnswer{
        .status = 206, .headers = {{"Content-Range", "bytes 0-0/10"}, {"ETag", "\"other\""}}, .body = "9"};
  };
  EXPECT_TRUE(absl::IsAborted(file->ReadAt(0, 1, &byte).status()));
}

TEST_F(ObjectStorageTest, AWrongClockIsCorrectedByTheStorages) {
  s3_.Put("bucket", "a", "0123456789");
  s3_.fault = [](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    // The storage's clock is an hour ahead.
    if (request.headers.at("x-amz-date").substr(0, 11) == "20260921T15") return std::nullopt;
    support::ServedAnswer answer = support::S3Error(403, "RequestTimeTooSkewed");
    answer.headers = {{"Date", "Mon, 21 Sep 2026 15:13:20 GMT"}};
    return answer;
  };
  ObjectStorage storage(Options());
  EXPECT_EQ(ReadAll(&storage, "s3://bucket/a").value(), "0123456789");
  EXPECT_EQ(storage.counts().again, 1u) << "later requests use the corrected clock";
}

TEST_F(ObjectStorageTest, ExpiredKeysAreFetchedAgain) {
  s3_.Put("bucket", "a", "0123456789");
  std::atomic<int> given{0};
  support::HttpServer keys([&](const support::ServedRequest&) {
    return support::ServedAnswer{
        .body = absl::StrCat("{\"AccessKeyId\": \"id", ++given, "\", \"SecretAccessKey\": \"s\", \"Token\": \"t\"}")};
  });
  {
    MutexLock lock(&mutex_);
    variables_ = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", keys.url()}};
  }
  std::atomic<bool> over{false};
  const support::FaultEnds fault_ends(&s3_.fault);
  s3_.fault = [&](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    const bool first = request.headers.at("authorization").find("Credential=id1/") != std::string::npos;
    return over && first ? std::optional<support::ServedAnswer>(support::S3Error(400, "ExpiredToken")) : std::nullopt;
  };
  ObjectStorage storage(Options());
  EXPECT_EQ(ReadAll(&storage, "s3://bucket/a").value(), "0123456789");
  over = true;
  EXPECT_EQ(ReadAll(&storage, "s3://bucket/a").value(), "0123456789");
  EXPECT_EQ(given.load(), 2);
}

TEST_F(ObjectStorageTest, ABucketOfAnotherRegionIsFound) {
  s3_.Put("bucket", "a", "0123456789");
  s3_.fault = [](const support::ServedRequest& request) -> std::optional<support::ServedAnswer> {
    if (request.headers.at("authorization").find("/eu-west-3/") != std::string::npos) return std::nullopt;
    support::ServedAnswer answer = support::S3Error(400, "AuthorizationHeaderMalformed");
    answer.headers = {{"x-amz-bucket-region", "eu-west-3"}};
    return answer;
  };
  ObjectStorage storage(Options());
  EXPECT_EQ(ReadAll(&storage, "s3://bucket/a").value(), "0123456789");
}

TEST_F(ObjectStorageTest, ARefusalIsReportedWithItsReasonAndWithoutKeys) {
  s3_.fault = [](const support::ServedRequest&) {
    return support::S3Error(403, "SignatureDoesNotMatch", "The key and signature differ");
  };
  ObjectStorage storage(Options());
  const absl::Status status = storage.OpenAndWait("s3://bucket/a").status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_NE(status.message().find("SignatureDoesNotMatch: The key and signature differ"), absl::string_view::npos)
      << status;
  EXPECT_EQ(status.message().find("hunter2"), absl::string_view::npos) << status;
  EXPECT_EQ(storage.counts().requests, 1u) << "a second request would get the same answer";
}

TEST_F(ObjectStorageTest, MissingObjectsAndBucketsAreNamed) {
  s3_.Put("bucket", "a", "0");
  ObjectStorage storage(Options());
  EXPECT_TRUE(absl::IsNotFound(storage.OpenAndWait("s3://bucket/b").status()));
  const absl::Status no_bucket = storage.OpenAndWait("s3://other/b").status();
  EXPECT_TRUE(absl::IsNotFound(no_bucket));
  EXPECT_NE(no_bucket.message().find("there is no bucket s3://other"), absl::string_view::npos) << no_bucket;
}

TEST_F(ObjectStorageTest, AMissingServerIsUnavailable) {
  ObjectStorage::Options options = Options();
  options.s3.endpoint = "http://127.0.0.1:1";
  ObjectStorage storage(options);
  const absl::Status status = storage.OpenAndWait("s3://bucket/a").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find("s3://bucket/a"), absl::string_view::npos) << status;
}

TEST_F(ObjectStorageTest, ManyConcurrentReadsEachGetTheirBytes) {
  std::string content(100'000, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 % 251);
  s3_.Put("bucket", "a", content);
  ObjectStorage storage(Options());
  const auto file = storage.OpenAndWait("s3://bucket/a").value();
  constexpr size_t kReads = 500, kBytes = 150;
  std::vector<std::string> out(kReads, std::string(kBytes, '\0'));
  std::vector<std::promise<absl::StatusOr<size_t>>> ends(kReads);
  for (size_t i = 0; i < kReads; ++i) {
    file->Read(i * 199, kBytes, out[i].data(), {.priority = static_cast<CallPriority>(i % 3)},
               [&ends, i](absl::StatusOr<size_t> read) { ends[i].set_value(std::move(read)); });
  }
  for (size_t i = 0; i < kReads; ++i) {
    EXPECT_EQ(ends[i].get_future().get().value(), kBytes);
    EXPECT_EQ(out[i], content.substr(i * 199, kBytes));
  }
}

TEST_F(ObjectStorageTest, AWebServersFilesAreReadByRanges) {
  support::HttpServer web([](const support::ServedRequest& request) {
    const std::string content = "0123456789";
    if (request.path != "/data/a%20b") return support::ServedAnswer{.status = 404};
    support::ServedAnswer answer{.headers = {{"ETag", "\"1\""}}, .body = content};
    const auto range = request.headers.find("range");
    if (range == request.headers.end()) return answer;
    EXPECT_EQ(range->second, "bytes=2-4");
    EXPECT_EQ(request.headers.at("if-match"), "\"1\"");
    answer.status = 206;
    answer.headers.emplace_back("Content-Range", "bytes 2-4/10");
    answer.body = content.substr(2, 3);
    return answer;
  });
  ObjectStorage storage(Options());
  const auto file = storage.OpenAndWait(web.url() + "/data/a%20b");
  ASSERT_TRUE(file.ok()) << file.status();
  char bytes[3];
  EXPECT_EQ((*file)->ReadAt(2, 3, bytes).value(), 3u);
  EXPECT_EQ(std::string(bytes, 3), "234");
  EXPECT_TRUE(absl::IsNotFound(storage.OpenAndWait(web.url() + "/data/b").status()));
  EXPECT_TRUE(absl::IsUnimplemented(storage.ListAndWait(web.url() + "/data").status()));
}

TEST_F(ObjectStorageTest, AWebServerWithoutRangesIsRejectedByName) {
  support::HttpServer web([](const support::ServedRequest&) { return support::ServedAnswer{.body = "0123456789"}; });
  ObjectStorage storage(Options());
  const auto file = storage.OpenAndWait(web.url() + "/a").value();
  char bytes[10];
  const absl::Status status = file->ReadAt(2, 3, bytes).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(web.url() + "/a"), absl::string_view::npos) << status;
  EXPECT_EQ(file->ReadAt(0, 10, bytes).value(), 10u) << "the request was for the whole file";
}

}  // namespace
}  // namespace penstock::storage
