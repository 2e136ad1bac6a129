// Answers that are late or no longer wanted: the client requests them again, or cancels them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <optional>

#include "tests/pipeline/storage/object/object_storage_testing.h"
#include "tests/pipeline/storage/storage_contract.h"
#include "tests/support/counter.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::storage {
namespace {

TEST_F(ObjectStorageTest, DestroyingTheStorageEndsRequestsInFlight) {
  s3_.Put("bucket", "a", "0123456789");
  auto storage = std::make_unique<ObjectStorage>(Options());
  const auto file = storage->OpenAndWait("s3://bucket/a").value();
  s3_.fault = [](const support::ServedRequest&) {
    return support::ServedAnswer{.status = 206,
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

// One answer of many stalls: its reader waits for a second request, not for the end of the silence.
TEST_F(ObjectStorageTest, AStalledAnswerIsRequestedASecondTime) {
  const std::string content(5000, 'x');
  s3_.Put("bucket", "a", content);
  ObjectStorage::Options options = Options();
  options.hedges = {.floor = 20 * kMillisecond, .times = 2, .known = 8, .one_in = 1, .saved = 10};
  ObjectStorage storage(options);
  const auto file = storage.OpenAndWait("s3://bucket/a").value();
  for (const size_t stalls_after : {0, 3000}) {
    std::string bytes(content.size(), '\0');
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(file->ReadAt(0, bytes.size(), bytes.data()).ok());
    const uint64_t before = storage.counts().hedges;
    std::atomic<int> asked{0};
    const support::FaultEnds fault_ends(&s3_.fault);
    s3_.fault = [&](const support::ServedRequest&) -> std::optional<support::ServedAnswer> {
      if (asked.fetch_add(1) > 0) return std::nullopt;
      return support::ServedAnswer{.status = 206,
                                   .headers = {{"Content-Range", "bytes 0-4999/5000"}, {"ETag", "\"tag-1\""}},
                                   .body = content,
                                   .stall_after = stalls_after};
    };
    bytes.assign(content.size(), '\0');
    EXPECT_EQ(file->ReadAt(0, bytes.size(), bytes.data()).value(), content.size());
    EXPECT_EQ(bytes, content);
    EXPECT_EQ(asked.load(), 2);
    EXPECT_EQ(storage.counts().hedges, before + 1);
    EXPECT_EQ(storage.counts().again, 0u) << "the read does not wait for the end of the silence";
  }
}

// Two answers write to the same memory. An answer of another state must not write.
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
  const support::FaultEnds fault_ends(&s3_.fault);
  s3_.fault = [&](const support::ServedRequest&) -> std::optional<support::ServedAnswer> {
    if (asked.fetch_add(1) > 0) {
      second.set_value();
      return support::ServedAnswer{.status = 206,
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

TEST_F(ObjectStorageTest, AStorageThatIsSlowOverallGetsNoSecondRequests) {
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
  support::Counter asked;
  std::promise<void> go_on;
  const std::shared_future<void> gone_on = go_on.get_future().share();
  const support::FaultEnds fault_ends(&s3_.fault);
  s3_.fault = [&](const support::ServedRequest&) -> std::optional<support::ServedAnswer> {
    if (asked.Add() > 1) gone_on.wait();
    return std::nullopt;
  };
  std::vector<std::string> out(kReads, content);
  std::vector<std::promise<absl::StatusOr<size_t>>> ends(kReads);
  // Starts the reads on the client's own thread, so that the client sees all of them at once.
  char first;
  file->Read(0, 1, &first, {}, [&](const absl::StatusOr<size_t>&) {
    for (size_t i = 0; i < kReads; ++i) {
      file->Read(0, content.size(), out[i].data(), {},
                 [&ends, i](absl::StatusOr<size_t> read) { ends[i].set_value(std::move(read)); });
    }
  });
  asked.WaitFor(static_cast<int>(kReads) + 1);
  // Each read becomes late. A request of an unknown size in between shows that the client has checked.
  for (int i = 0; i < 3; ++i) {
    std::promise<void> looked;
    std::stop_source stop;
    char byte;
    file->Read(0, 1, &byte, {.stop = stop.get_token()}, [&](const absl::StatusOr<size_t>&) { looked.set_value(); });
    stop.request_stop();
    looked.get_future().wait();
  }
  EXPECT_EQ(storage.counts().hedges, before);
  go_on.set_value();
  for (auto& end : ends) EXPECT_TRUE(end.get_future().get().ok());
}

// The reader is gone: the transfer and its connection end while the server sends nothing.
TEST_F(ObjectStorageTest, AStopCancelsAReadInFlight) {
  s3_.Put("bucket", "a", "0123456789");
  ObjectStorage storage(Options());
  const auto file = storage.OpenAndWait("s3://bucket/a").value();
  support::Counter begun;
  const support::FaultEnds fault_ends(&s3_.fault);
  s3_.fault = [&](const support::ServedRequest&) {
    begun.Add();
    return support::ServedAnswer{.status = 206,
                                 .headers = {{"Content-Range", "bytes 0-9/10"}, {"ETag", "\"tag-1\""}},
                                 .body = "0123456789",
                                 .stall_after = 3};
  };
  // Twice as many reads as may be under way: waiting reads get the slots of cancelled ones.
  constexpr size_t kReads = 2 * ObjectStorage::kMostUnderWay;
  std::vector<std::stop_source> stops(kReads);
  std::vector<std::promise<absl::Status>> ends(kReads);
  std::vector<std::array<char, 10>> out(kReads);
  for (size_t i = 0; i < kReads; ++i) {
    file->Read(0, 10, out[i].data(), {.stop = stops[i].get_token()},
               [&ends, i](absl::StatusOr<size_t> read) { ends[i].set_value(read.status()); });
  }
  begun.WaitFor(ObjectStorage::kMostUnderWay);
  for (size_t i = 0; i < kReads / 2; ++i) {
    stops[i].request_stop();
    EXPECT_TRUE(absl::IsCancelled(ends[i].get_future().get())) << i;
  }
  begun.WaitFor(2 * ObjectStorage::kMostUnderWay);
  server_.WaitForOpen(ObjectStorage::kMostUnderWay);
  for (size_t i = kReads / 2; i < kReads; ++i) stops[i].request_stop();
  for (size_t i = kReads / 2; i < kReads; ++i) EXPECT_TRUE(absl::IsCancelled(ends[i].get_future().get())) << i;
  EXPECT_EQ(begun.value(), 2 * ObjectStorage::kMostUnderWay) << "no read waits for the end of the silence";
}

}  // namespace
}  // namespace penstock::storage
