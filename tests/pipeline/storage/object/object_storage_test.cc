// Objects as files, from servers that fail in every way that we know.
#include "pipeline/storage/object/object_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <ctime>
#include <future>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "pipeline/storage/file_troubles.h"
#include "tests/pipeline/storage/storage_contract.h"
#include "tests/support/http_server/http_server.h"
#include "tests/support/wait_until.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kToday = 1'790'000'000;

class ObjectStorageTest : public testing::Test {
 protected:
  ObjectStorage::Options Options() {
    ObjectStorage::Options options;
    options.s3.endpoint = server_.url();
    options.s3.path_style = true;
    options.s3.now = [] { return kToday; };
    options.surroundings.variable = [this](const std::string& name) {
      MutexLock lock(&mutex_);
      return variables_[name];
    };
    options.surroundings.file = [](const std::string& path) { return absl::NotFoundError(path); };
    options.surroundings.now = [] { return kToday; };
    options.pause = kMillisecond;
    return options;
  }
  // A read of the whole object.
  static absl::StatusOr<std::string> ReadAll(Storage* storage, const std::string& name) {
    auto file = storage->OpenAndWait(name);
    if (!file.ok()) return file.status();
    std::string bytes((*file)->opened().size + 10, '\0');
    const auto read = (*file)->ReadAt(0, bytes.size(), bytes.data());
    if (!read.ok()) return read.status();
    bytes.resize(*read);
    return bytes;
  }
  // Once for each path.
  bool First(const std::string& path) {
    MutexLock lock(&mutex_);
    return seen_.insert(path).second;
  }

  Mutex mutex_;
  std::map<std::string, std::string> variables_ ABSL_GUARDED_BY(mutex_) = {{"AWS_ACCESS_KEY_ID", "id"},
                                                                           {"AWS_SECRET_ACCESS_KEY", "hunter2"}};
  std::set<std::string> seen_ ABSL_GUARDED_BY(mutex_);
  FakeS3 s3_;
  HttpServer server_{[this](const ServedRequest& request) { return s3_(request); }};
};

TEST_F(ObjectStorageTest, HoldsToTheContract) {
  ObjectStorage storage(Options());
  EXPECT_FALSE(storage.AnswersAtOnce("s3://bucket/a"));
  HoldsToTheContract(&storage, "s3://bucket/folder", [this](const std::string& name, const std::string& content) {
    s3_.Put("bucket", name.substr(std::string("s3://bucket/").size()), content);
  });
}

TEST_F(ObjectStorageTest, KeysMayHoldWhateverNamesHold) {
  ObjectStorage storage(Options());
  for (const char* key : {"a b+c&d=e%20/\xC3\xA9~", "x/y/z", "?*"}) {
    s3_.Put("bucket", key, key);
    EXPECT_EQ(ReadAll(&storage, absl::StrCat("s3://bucket/", key)).value(), key);
  }
}

TEST_F(ObjectStorageTest, AnEmptyObjectIsAFile) {
  s3_.Put("bucket", "empty", "");
  ObjectStorage storage(Options());
  EXPECT_EQ(ReadAll(&storage, "s3://bucket/empty").value(), "");
}

TEST_F(ObjectStorageTest, AListingOfManyPagesIsWhole) {
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

TEST_F(ObjectStorageTest, EveryFaultThatPassesIsPassed) {
  s3_.Put("bucket", "a", "0123456789");
  const std::vector<ServedAnswer> faults = {
      S3Error(503, "SlowDown"),
      S3Error(500, "InternalError"),
      S3Error(429, ""),
      S3Error(502, ""),
      {.status = 206,
       .headers = {{"Content-Range", "bytes 0-9/10"}, {"ETag", "\"tag-1\""}},
       .body = "0123456789",
       .cut_after = 4},
      {.status = 206, .headers = {{"Content-Range", "bytes 0-4/10"}, {"ETag", "\"tag-1\""}}, .body = "01234"},
      {.status = 206, .headers = {{"Content-Range", "bytes 5-14/20"}, {"ETag", "\"tag-1\""}}, .body = "0123456789"}};
  for (const ServedAnswer& fault : faults) {
    std::atomic<int> left{2};
    s3_.fault = [&](const ServedRequest& request) -> std::optional<ServedAnswer> {
      const auto range = request.headers.find("range");
      const bool read = range != request.headers.end() && range->second == "bytes=0-9";
      return read && left.fetch_sub(1) > 0 ? std::optional<ServedAnswer>(fault) : std::nullopt;
    };
    ObjectStorage storage(Options());
    EXPECT_EQ(ReadAll(&storage, "s3://bucket/a").value(), "0123456789") << fault.status << " " << fault.body;
    EXPECT_EQ(storage.counts().again, 2u);
    EXPECT_EQ(storage.counts().bytes, 10u);
  }
}

TEST_F(ObjectStorageTest, AFaultThatStaysIsSaidAfterSomeTries) {
  s3_.Put("bucket", "a", "0123456789");
  s3_.fault = [](const ServedRequest&) { return S3Error(503, "SlowDown", "Please reduce your request rate"); };
  ObjectStorage storage(Options());
  const absl::Status status = storage.OpenAndWait("s3://bucket/a").status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  for (const char* word : {"s3://bucket/a", "503", "SlowDown", "reduce your request rate", "6 times"}) {
    EXPECT_NE(status.message().find(word), absl::string_view::npos) << status;
  }
  EXPECT_EQ(storage.counts().requests, static_cast<uint64_t>(ObjectStorage::kTries));
}

TEST_F(ObjectStorageTest, WhatFailsIsKnownWhileItIsTriedAgainAndNoTroubleOnceItCame) {
  s3_.Put("bucket", "a", "0123456789");
  std::vector<std::string> said;
  const auto troubles =
      std::make_shared<FileTroubles>(Clock::Real(), [&](const std::string& line) { said.push_back(line); });
  ObjectStorage storage(Options());
  const auto file = storage.OpenAndWait("s3://bucket/a", {.troubles = troubles}).value();
  std::atomic<int> left{2};
  std::vector<std::string> meanwhile;
  s3_.fault = [&](const ServedRequest&) -> std::optional<ServedAnswer> {
    const int now = left.fetch_sub(1);
    if (now == 1) meanwhile = troubles->Lines(8, 300);
    if (now <= 0) return std::nullopt;
    ServedAnswer answer = S3Error(503, "SlowDown");
    if (now == 2) answer.headers = {{"Retry-After", "1"}};
    return answer;
  };
  std::string got(10, 0);
  EXPECT_EQ(file->ReadAt(0, 10, got.data()).value(), 10u);
  ASSERT_EQ(meanwhile.size(), 1u);
  EXPECT_THAT(meanwhile[0], AllOf(StartsWith("s3://bucket/a: HTTP 503"), EndsWith("it is asked for again")));
  EXPECT_TRUE(troubles->Lines(8, 300).empty());
  ASSERT_EQ(said.size(), 2u);
  EXPECT_THAT(said[1], HasSubstr("s3://bucket/a: is well again"));
}

TEST_F(ObjectStorageTest, AStorageThatAsksForAPauseGetsIt) {
  s3_.Put("bucket", "a", "0");
  std::atomic<int> asked{0};
  s3_.fault = [&](const ServedRequest&) -> std::optional<ServedAnswer> {
    if (asked.fetch_add(1) > 0) return std::nullopt;
    ServedAnswer answer = S3Error(503, "SlowDown");
    answer.headers = {{"Retry-After", "1"}};
    return answer;
  };
  ObjectStorage storage(Options());
  const Nanos begin = Clock::Real()->Now();
  EXPECT_TRUE(storage.OpenAndWait("s3://bucket/a").ok());
  EXPECT_GE(Clock::Real()->Now() - begin, kSecond);
}

TEST_F(ObjectStorageTest, AnObjectThatChangesUnderAReadIsAborted) {
  s3_.Put("bucket", "a", "0123456789");
  ObjectStorage storage(Options());
  const auto file = storage.OpenAndWait("s3://bucket/a").value();
  s3_.Put("bucket", "a", "9876543210");
  char byte;
  EXPECT_TRUE(absl::IsAborted(file->ReadAt(0, 1, &byte).status()));
  // Also by a server that does not look at If-Match.
  s3_.fault = [](const ServedRequest&) {
    return ServedAnswer{
        .status = 206, .headers = {{"Content-Range", "bytes 0-0/10"}, {"ETag", "\"other\""}}, .body = "9"};
  };
  EXPECT_TRUE(absl::IsAborted(file->ReadAt(0, 1, &byte).status()));
}

TEST_F(ObjectStorageTest, AClockThatIsOffIsSetByTheStorages) {
  s3_.Put("bucket", "a", "0123456789");
  s3_.fault = [](const ServedRequest& request) -> std::optional<ServedAnswer> {
    // The storage is an hour ahead.
    if (request.headers.at("x-amz-date").substr(0, 11) == "20260921T15") return std::nullopt;
    ServedAnswer answer = S3Error(403, "RequestTimeTooSkewed");
    answer.headers = {{"Date", "Mon, 21 Sep 2026 15:13:20 GMT"}};
    return answer;
  };
  ObjectStorage storage(Options());
  EXPECT_EQ(ReadAll(&storage, "s3://bucket/a").value(), "0123456789");
  EXPECT_EQ(storage.counts().again, 1u) << "it is known from then on";
}

TEST_F(ObjectStorageTest, KeysThatAreOverAreHadAnew) {
  s3_.Put("bucket", "a", "0123456789");
  std::atomic<int> given{0};
  HttpServer keys([&](const ServedRequest&) {
    return ServedAnswer{
        .body = absl::StrCat("{\"AccessKeyId\": \"id", ++given, "\", \"SecretAccessKey\": \"s\", \"Token\": \"t\"}")};
  });
  {
    MutexLock lock(&mutex_);
    variables_ = {{"AWS_CONTAINER_CREDENTIALS_FULL_URI", keys.url()}};
  }
  std::atomic<bool> over{false};
  s3_.fault = [&](const ServedRequest& request) -> std::optional<ServedAnswer> {
    const bool first = request.headers.at("authorization").find("Credential=id1/") != std::string::npos;
    return over && first ? std::optional<ServedAnswer>(S3Error(400, "ExpiredToken")) : std::nullopt;
  };
  ObjectStorage storage(Options());
  EXPECT_EQ(ReadAll(&storage, "s3://bucket/a").value(), "0123456789");
  over = true;
  EXPECT_EQ(ReadAll(&storage, "s3://bucket/a").value(), "0123456789");
  EXPECT_EQ(given.load(), 2);
}

TEST_F(ObjectStorageTest, ABucketOfAnotherRegionIsFound) {
  s3_.Put("bucket", "a", "0123456789");
  s3_.fault = [](const ServedRequest& request) -> std::optional<ServedAnswer> {
    if (request.headers.at("authorization").find("/eu-west-3/") != std::string::npos) return std::nullopt;
    ServedAnswer answer = S3Error(400, "AuthorizationHeaderMalformed");
    answer.headers = {{"x-amz-bucket-region", "eu-west-3"}};
    return answer;
  };
  ObjectStorage storage(Options());
  EXPECT_EQ(ReadAll(&storage, "s3://bucket/a").value(), "0123456789");
}

TEST_F(ObjectStorageTest, WhatIsRefusedIsSaidWithItsReasonAndWithoutAKey) {
  s3_.fault = [](const ServedRequest&) {
    return S3Error(403, "SignatureDoesNotMatch", "The key and signature differ");
  };
  ObjectStorage storage(Options());
  const absl::Status status = storage.OpenAndWait("s3://bucket/a").status();
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_NE(status.message().find("SignatureDoesNotMatch: The key and signature differ"), absl::string_view::npos)
      << status;
  EXPECT_EQ(status.message().find("hunter2"), absl::string_view::npos) << status;
  EXPECT_EQ(storage.counts().requests, 1u) << "asking again would say the same";
}

TEST_F(ObjectStorageTest, WhatIsNotThereIsNamed) {
  s3_.Put("bucket", "a", "0");
  ObjectStorage storage(Options());
  EXPECT_TRUE(absl::IsNotFound(storage.OpenAndWait("s3://bucket/b").status()));
  const absl::Status no_bucket = storage.OpenAndWait("s3://other/b").status();
  EXPECT_TRUE(absl::IsNotFound(no_bucket));
  EXPECT_NE(no_bucket.message().find("there is no bucket s3://other"), absl::string_view::npos) << no_bucket;
}

TEST_F(ObjectStorageTest, AServerThatIsNotThereIsUnavailable) {
  ObjectStorage::Options options = Options();
  options.s3.endpoint = "http://127.0.0.1:1";
  ObjectStorage storage(options);
  const absl::Status status = storage.OpenAndWait("s3://bucket/a").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find("s3://bucket/a"), absl::string_view::npos) << status;
}

TEST_F(ObjectStorageTest, ManyReadsAtOnceEachGetTheirBytes) {
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

TEST_F(ObjectStorageTest, AStorageThatGoesEndsWhatIsUnderWay) {
  s3_.Put("bucket", "a", "0123456789");
  auto storage = std::make_unique<ObjectStorage>(Options());
  const auto file = storage->OpenAndWait("s3://bucket/a").value();
  s3_.fault = [](const ServedRequest&) {
    return ServedAnswer{.status = 206,
                        .headers = {{"Content-Range", "bytes 0-9/10"}, {"ETag", "\"tag-1\""}},
                        .body = "0123456789",
                        .stall_after = 3};
  };
  char bytes[10];
  std::promise<absl::Status> ended;
  file->Read(0, 10, bytes, {}, [&](absl::StatusOr<size_t> read) { ended.set_value(read.status()); });
  storage.reset();
  EXPECT_TRUE(absl::IsCancelled(ended.get_future().get()));
}

// One answer of many stalls: who waits for it waits for a second request, not for the silence to end.
TEST_F(ObjectStorageTest, AnAnswerThatStallsIsAskedForASecondTime) {
  const std::string content(5000, 'x');
  s3_.Put("bucket", "a", content);
  ObjectStorage::Options options = Options();
  options.hedges = {.floor = 20 * kMillisecond, .times = 2, .known = 8, .one_in = 10, .saved = 1};
  ObjectStorage storage(options);
  const auto file = storage.OpenAndWait("s3://bucket/a").value();
  for (const size_t stalls_after : {0, 3000}) {
    std::string bytes(content.size(), '\0');
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(file->ReadAt(0, bytes.size(), bytes.data()).ok());
    const uint64_t before = storage.counts().hedges;
    std::atomic<int> asked{0};
    s3_.fault = [&](const ServedRequest&) -> std::optional<ServedAnswer> {
      if (asked.fetch_add(1) > 0) return std::nullopt;
      return ServedAnswer{.status = 206,
                          .headers = {{"Content-Range", "bytes 0-4999/5000"}, {"ETag", "\"tag-1\""}},
                          .body = content,
                          .stall_after = stalls_after};
    };
    bytes.assign(content.size(), '\0');
    const Nanos begin = Clock::Real()->Now();
    EXPECT_EQ(file->ReadAt(0, bytes.size(), bytes.data()).value(), content.size());
    EXPECT_LT(Clock::Real()->Now() - begin, 5 * kSecond) << "the silence is 10 s";
    EXPECT_EQ(bytes, content);
    EXPECT_EQ(asked.load(), 2);
    EXPECT_EQ(storage.counts().hedges, before + 1);
    EXPECT_EQ(storage.counts().again, 0u);
    s3_.fault = nullptr;
  }
}

// Two answers write to the same memory: one of another state must not.
TEST_F(ObjectStorageTest, ASecondAnswerOfAnotherStateWritesNothing) {
  const std::string content(5000, 'x');
  s3_.Put("bucket", "a", content);
  ObjectStorage::Options options = Options();
  options.hedges = {.floor = 20 * kMillisecond, .times = 2, .known = 8, .one_in = 10, .saved = 1};
  options.tries = 1;
  ObjectStorage storage(options);
  const auto file = storage.OpenAndWait("s3://bucket/a").value();
  std::string bytes(content.size(), '\0');
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(file->ReadAt(0, bytes.size(), bytes.data()).ok());
  std::atomic<int> asked{0};
  std::promise<void> second;
  s3_.fault = [&](const ServedRequest&) -> std::optional<ServedAnswer> {
    if (asked.fetch_add(1) > 0) {
      second.set_value();
      return ServedAnswer{.status = 206,
                          .headers = {{"Content-Range", "bytes 0-4999/5000"}, {"ETag", "\"other\""}},
                          .body = std::string(5000, 'y'),
                          .cut_after = 4000};
    }
    second.get_future().wait();
    return std::nullopt;
  };
  EXPECT_EQ(file->ReadAt(0, bytes.size(), bytes.data()).value(), content.size());
  EXPECT_EQ(bytes, content);
  EXPECT_EQ(asked.load(), 2);
}

TEST_F(ObjectStorageTest, AStorageThatIsSlowAltogetherIsNotAskedTwice) {
  const std::string content(5000, 'x');
  s3_.Put("bucket", "a", content);
  ObjectStorage::Options options = Options();
  options.hedges = {.floor = kMillisecond, .times = 1, .known = 8, .one_in = 1, .saved = 100};
  ObjectStorage storage(options);
  const auto file = storage.OpenAndWait("s3://bucket/a").value();
  std::string bytes(content.size(), '\0');
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(file->ReadAt(0, bytes.size(), bytes.data()).ok());
  const uint64_t before = storage.counts().hedges;
  constexpr size_t kReads = 16;
  std::atomic<size_t> asked{0};
  std::promise<void> go_on;
  const std::shared_future<void> gone_on = go_on.get_future().share();
  s3_.fault = [&](const ServedRequest&) -> std::optional<ServedAnswer> {
    asked.fetch_add(1);
    gone_on.wait();
    return std::nullopt;
  };
  std::vector<std::string> out(kReads, content);
  std::vector<std::promise<absl::StatusOr<size_t>>> ends(kReads);
  for (size_t i = 0; i < kReads; ++i) {
    file->Read(0, content.size(), out[i].data(), {},
               [&ends, i](absl::StatusOr<size_t> read) { ends[i].set_value(std::move(read)); });
  }
  ASSERT_TRUE(WaitUntil([&] { return asked.load() >= kReads; }));
  // Each becomes late; a request made meanwhile, of a size of which nothing is known, shows that the client has looked.
  for (int i = 0; i < 3; ++i) {
    std::promise<void> looked;
    std::stop_source stop;
    char byte;
    file->Read(0, 1, &byte, {.stop = stop.get_token()}, [&](const absl::StatusOr<size_t>&) { looked.set_value(); });
    stop.request_stop();
    looked.get_future().wait();
  }
  go_on.set_value();
  for (auto& end : ends) EXPECT_TRUE(end.get_future().get().ok());
  EXPECT_EQ(storage.counts().hedges, before);
}

// Its reader has gone: the transfer ends, and so does its connection, while the server sends nothing.
TEST_F(ObjectStorageTest, AStopEndsAReadThatHasBegun) {
  s3_.Put("bucket", "a", "0123456789");
  ObjectStorage storage(Options());
  const auto file = storage.OpenAndWait("s3://bucket/a").value();
  std::atomic<int> begun{0};
  s3_.fault = [&](const ServedRequest&) {
    begun.fetch_add(1);
    return ServedAnswer{.status = 206,
                        .headers = {{"Content-Range", "bytes 0-9/10"}, {"ETag", "\"tag-1\""}},
                        .body = "0123456789",
                        .stall_after = 3};
  };
  // Twice as many as may be under way: those that wait get the slots of those that go.
  constexpr size_t kReads = 2 * ObjectStorage::kMostUnderWay;
  std::vector<std::stop_source> stops(kReads);
  std::vector<std::promise<absl::Status>> ends(kReads);
  std::vector<std::array<char, 10>> out(kReads);
  for (size_t i = 0; i < kReads; ++i) {
    file->Read(0, 10, out[i].data(), {.stop = stops[i].get_token()},
               [&ends, i](absl::StatusOr<size_t> read) { ends[i].set_value(read.status()); });
  }
  ASSERT_TRUE(WaitUntil([&] { return begun.load() == ObjectStorage::kMostUnderWay; }));
  const Nanos begin = Clock::Real()->Now();
  for (size_t i = 0; i < kReads / 2; ++i) {
    stops[i].request_stop();
    EXPECT_TRUE(absl::IsCancelled(ends[i].get_future().get())) << i;
  }
  ASSERT_TRUE(WaitUntil([&] { return begun.load() == 2 * ObjectStorage::kMostUnderWay; }));
  ASSERT_TRUE(WaitUntil([&] { return server_.open() == ObjectStorage::kMostUnderWay; })) << server_.open();
  for (size_t i = kReads / 2; i < kReads; ++i) stops[i].request_stop();
  for (size_t i = kReads / 2; i < kReads; ++i) EXPECT_TRUE(absl::IsCancelled(ends[i].get_future().get())) << i;
  EXPECT_LT(Clock::Real()->Now() - begin, 5 * kSecond) << "the silence is 10 s";
}

TEST_F(ObjectStorageTest, AWebServersFilesAreReadByRanges) {
  HttpServer web([](const ServedRequest& request) {
    const std::string content = "0123456789";
    if (request.path != "/data/a%20b") return ServedAnswer{.status = 404};
    ServedAnswer answer{.headers = {{"ETag", "\"1\""}}, .body = content};
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

TEST_F(ObjectStorageTest, AWebServerWithoutRangesIsRefusedByName) {
  HttpServer web([](const ServedRequest&) { return ServedAnswer{.body = "0123456789"}; });
  ObjectStorage storage(Options());
  const auto file = storage.OpenAndWait(web.url() + "/a").value();
  char bytes[10];
  const absl::Status status = file->ReadAt(2, 3, bytes).status();
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(web.url() + "/a"), absl::string_view::npos) << status;
  EXPECT_EQ(file->ReadAt(0, 10, bytes).value(), 10u) << "the whole file is what was asked for";
}

}  // namespace
}  // namespace penstock
