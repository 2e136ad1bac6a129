// The local storage, and the contract of any storage. MemoryStorage is an example of one that answers later.
#include "pipeline/storage/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/sim_scheduler.h"
#include "base/runtime/thread_pool.h"
#include "pipeline/storage/call_queue.h"
#include "pipeline/storage/file_errors.h"
#include "pipeline/storage/files.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/storage/memory_storage.h"
#include "tests/pipeline/storage/storage_contract.h"
#include "tests/support/temp_folder.h"

namespace penstock::storage {
namespace {

void Write(const std::string& path, const std::string& content) {
  ASSERT_TRUE(WriteFileAtomically(path, content).ok());
}

TEST(Storage, LocalFilesHoldToTheContract) {
  support::TempFolder folder;
  ThreadPool pool(2, "files");
  const auto storage = MakePosixStorage(&pool);
  EXPECT_TRUE(storage->HasLowLatency("/a"));
  WritesHoldToTheContract(storage.get(), folder.path());
  HoldsToTheContract(storage.get(), folder.path(), Write);
}

TEST(Storage, TheExampleHoldsToTheContract) {
  MemoryStorage storage;
  EXPECT_FALSE(storage.HasLowLatency("mem://a"));
  WritesHoldToTheContract(&storage, "mem://bucket");
  HoldsToTheContract(&storage, "mem://bucket", [&](const std::string& name, const std::string& content) {
    ASSERT_TRUE(storage.Put(name, content).ok());
  });
}

// To add a storage, a caller registers only its scheme.
TEST(Files, TheSchemeOfANameChoosesItsStorage) {
  static auto* const memory = new MemoryStorage;
  support::TempFolder folder;
  const auto files = FilesBy(LocalFiles(), {{"mem", [] { return static_cast<Storage*>(memory); }}});
  EXPECT_EQ(files->Schemes(), std::vector<std::string>{"mem"});
  for (const char* name : {"/a", "a", "", "mem:/a", "ftp://a/b", "C://a"}) EXPECT_TRUE(files->IsLocal(name)) << name;
  EXPECT_FALSE(files->IsLocal("mem://a"));
  for (const char* name : {"/a", "a*", "mem://a/b*", "file:///a"}) EXPECT_TRUE(files->CheckName(name).ok()) << name;
  EXPECT_EQ(files->CheckName("s3://a/b").message(),
            "\"s3://a/b\" is a URL; only files and mem:// are read: mount the storage, or copy the shards, and give "
            "their path");
  WritesHoldToTheContract(files.get(), folder.path());
  WritesHoldToTheContract(files.get(), "mem://bucket");
}

TEST(Files, KnowsTheUrlsOfObjects) {
  const auto files = FilesBy(LocalFiles());
  EXPECT_EQ(files->Schemes(), (std::vector<std::string>{"s3", "gs", "az", "http", "https"}));
  for (const std::string& scheme : files->Schemes()) EXPECT_FALSE(files->IsLocal(scheme + "://a/b")) << scheme;
  EXPECT_TRUE(files->IsLocal("s3:/a"));
  EXPECT_EQ(files->CheckName("hdfs://a/b").message(),
            "\"hdfs://a/b\" is a URL; only files, s3://, gs://, az://, http:// and https:// are read: mount the "
            "storage, or copy the shards, and give their path");
  EXPECT_EQ(files->CheckName("S3://a/b").message(),
            "\"S3://a/b\" is a URL; write its scheme in small letters: s3://...");
}

TEST(PosixStorage, AFileWrittenInPlaceHasAnotherState) {
  support::TempFolder folder;
  ThreadPool pool(1, "files");
  const auto storage = MakePosixStorage(&pool);
  Write(folder.File("a"), "0123456789");
  const auto file = storage->OpenAndWait(folder.File("a")).value();
  std::filesystem::last_write_time(folder.File("a"),
                                   std::filesystem::last_write_time(folder.File("a")) + std::chrono::hours(1));
  char byte = 0;
  const auto read = WaitForCall<size_t>([&](CallDone<size_t> done) { file->Read(0, 1, &byte, {}, std::move(done)); });
  EXPECT_TRUE(absl::IsAborted(read.status())) << read.status();
  EXPECT_NE(read.status().message().find(folder.File("a")), absl::string_view::npos);
}

TEST(CallQueue, TheMostUrgentCallGoesFirst) {
  SimScheduler scheduler(1);
  CallQueue queue(&scheduler);
  std::string order;
  queue.Add({.priority = CallPriority::kAhead}, [&](bool) { order += 'a'; });
  queue.Add({.priority = CallPriority::kNormal}, [&](bool) { order += 'n'; });
  queue.Add({.priority = CallPriority::kUrgent}, [&](bool) { order += 'u'; });
  scheduler.RunAll();
  EXPECT_EQ(order, "una");
}

TEST(CallQueue, EveryCallEndsOnceEvenIfTheExecutorOrTheQueueIsDestroyed) {
  std::atomic<int> ended{0}, cancelled{0};
  const auto count = [&](bool was_cancelled) {
    ended.fetch_add(1);
    cancelled.fetch_add(was_cancelled ? 1 : 0);
  };
  {
    SimScheduler scheduler(1);
    CallQueue queue(&scheduler);
    for (int i = 0; i < 3; ++i) queue.Add({}, count);
    scheduler.RunOne();
    scheduler.DropAll();
    EXPECT_EQ(ended.load(), 3);
  }
  {
    SimScheduler scheduler(1);
    {
      CallQueue queue(&scheduler);
      for (int i = 0; i < 3; ++i) queue.Add({}, count);
    }
    EXPECT_EQ(ended.load(), 6);
    scheduler.RunAll();
  }
  EXPECT_EQ(ended.load(), 6);
  EXPECT_EQ(cancelled.load(), 5);
}

TEST(FileErrors, AFileIsReportedOncePerIntervalAndWhenItRecovers) {
  ManualClock clock;
  std::vector<std::string> said;
  FileErrors file_errors(&clock, [&](const std::string& line) { said.push_back(line); });
  for (int i = 0; i < 40; ++i) {
    file_errors.Failed("/data/a", absl::NotFoundError("/data/a: No such file or directory"), "it is tried again");
    clock.Advance(kSecond);
  }
  ASSERT_EQ(said.size(), 2u);  // at 0 s and at 30 s
  EXPECT_EQ(said[0], "/data/a: No such file or directory; for 0 s, tried 1 time; it is tried again");
  EXPECT_EQ(
      file_errors.Lines(8, 300),
      std::vector<std::string>{"/data/a: No such file or directory; for 40 s, tried 40 times; it is tried again"});
  file_errors.Recovered("/data/b");
  file_errors.Failed("/data/a", absl::DataLossError("/data/a, record 3 at offset 40: no"), "it is tried again");
  EXPECT_THAT(file_errors.Lines(8, 300)[0], ::testing::StartsWith("/data/a: record 3 at offset 40: no; "));
  file_errors.Recovered("/data/a");
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[2], "/data/a: works again, after 40 s");
  EXPECT_TRUE(file_errors.Lines(8, 300).empty());
}

TEST(FileErrors, SilenceIsReportedFromItsStartAndIsNotATry) {
  ManualClock clock;
  std::vector<std::string> said;
  FileErrors file_errors(&clock, [&](const std::string& line) { said.push_back(line); });
  clock.Advance(100 * kSecond);
  file_errors.Silent("s3://b/a", "nothing comes from host:9000", 2 * kSecond, "the read is retried");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "s3://b/a: nothing comes from host:9000; for 2 s; the read is retried");
  clock.Advance(8 * kSecond);
  file_errors.Failed("s3://b/a", absl::UnavailableError("too slow"), "the read is retried");
  EXPECT_EQ(file_errors.Lines(8, 300),
            std::vector<std::string>{"s3://b/a: too slow; for 10 s, tried 1 time; the read is retried"});
  clock.Advance(2 * kSecond);
  file_errors.Silent("s3://b/a", "nothing comes from host:9000", 2 * kSecond, "the read is retried");
  EXPECT_EQ(
      file_errors.Lines(8, 300),
      std::vector<std::string>{"s3://b/a: nothing comes from host:9000; for 12 s, tried 1 time; the read is retried"});
  EXPECT_EQ(said.size(), 1u);
  file_errors.Recovered("s3://b/a");
  EXPECT_EQ(said.back(), "s3://b/a: works again, after 12 s");
}

// A thousand files behind one interrupted network give far fewer than a thousand lines.
TEST(FileErrors, AnIntervalReportsSomeOfManyFilesAndThatThereAreMore) {
  ManualClock clock;
  clock.Advance(100 * kSecond);
  std::vector<std::string> said;
  FileErrors file_errors(&clock, [&](const std::string& line) { said.push_back(line); });
  const auto fail = [&] {
    for (int i = 100; i < 300; ++i) {
      file_errors.Failed("/data/" + std::to_string(i), absl::UnavailableError("no route to host"), "it is tried again");
    }
  };
  for (int i = 0; i < 29; ++i) {
    fail();
    clock.Advance(kSecond);
  }
  ASSERT_EQ(said.size(), FileErrors::kMostReported + 1u);
  EXPECT_THAT(said[0], ::testing::StartsWith("/data/100: no route to host"));
  EXPECT_THAT(said.back(), ::testing::StartsWith("other files fail, too"));
  EXPECT_EQ(file_errors.Lines(1000, 300).size(), 200u);
  clock.Advance(kSecond);
  said.clear();
  fail();
  ASSERT_EQ(said.size(), FileErrors::kMostReported + 1u) << "the next interval reports as many files again";
  said.clear();
  for (int i = 100; i < 300; ++i) file_errors.Recovered("/data/" + std::to_string(i));
  EXPECT_EQ(said.size(), FileErrors::kMostReported * 1u) << "one line for each reported file";
}

TEST(FileErrors, AreBoundedAndDroppedWhenTheyNoLongerOccur) {
  ManualClock clock;
  FileErrors file_errors(&clock);
  for (int i = 0; i < 5000; ++i) {
    file_errors.Failed("/data/" + std::to_string(i), absl::NotFoundError(std::string(1000, 'x')), "tried again");
  }
  EXPECT_EQ(file_errors.Lines(100'000, 300).size(), FileErrors::kMostFiles);
  EXPECT_EQ(file_errors.Lines(8, 300).size(), 8u);
  EXPECT_EQ(file_errors.Lines(8, 300)[0].size(), 300u);
  clock.Advance(2 * FileErrors::kKeptFor);
  EXPECT_TRUE(file_errors.Lines(8, 300).empty());
  file_errors.Failed("/data/new", absl::NotFoundError("gone"), "tried again");
  EXPECT_EQ(file_errors.Lines(8, 300).size(), 1u);
}

// Status reports what currently keeps rows from being made, not past failures.
TEST(FileErrors, AnErrorThatNoLongerOccursIsDroppedWithinTwentySeconds) {
  ManualClock clock;
  std::vector<std::string> said;
  FileErrors file_errors(&clock, [&](const std::string& line) { said.push_back(line); });
  for (int i = 0; i < 10; ++i) {  // as often as a waiting reader tries
    file_errors.Failed("/data/a", absl::NotFoundError("/data/a: No such file or directory"), "it is tried again");
    EXPECT_EQ(file_errors.Lines(8, 300).size(), 1u);
    clock.Advance(10 * kSecond);
  }
  clock.Advance(10 * kSecond);
  EXPECT_TRUE(file_errors.Lines(8, 300).empty());
  // A later failure counts as a new one, and is reported at once.
  const size_t before = said.size();
  file_errors.Failed("/data/a", absl::NotFoundError("/data/a: No such file or directory"), "it is tried again");
  ASSERT_EQ(said.size(), before + 1);
  EXPECT_EQ(said.back(), "/data/a: No such file or directory; for 0 s, tried 1 time; it is tried again");
}

}  // namespace
}  // namespace penstock::storage
