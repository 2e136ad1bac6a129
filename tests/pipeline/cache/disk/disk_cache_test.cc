#include "pipeline/cache/disk/disk_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "tests/base/temp_dir.h"
#include "tests/pipeline/cache/disk/disk_cache_testing.h"

namespace penstock::cache {
namespace {

using ::testing::HasSubstr;

TEST_F(DiskCacheTest, ReturnsOfferedRecordsAndCountsHitsAndMisses) {
  const auto cache = OpenCache();
  const auto use = cache->Use(kSpace, "a data set");
  cache->Flush();
  EXPECT_EQ(Read(cache.get(), 7), std::nullopt);
  Fill(cache.get(), 7, 8);
  EXPECT_EQ(Read(cache.get(), 7), Bytes(7));
  EXPECT_EQ(Read(cache.get(), 8), std::nullopt);
  const DiskCacheStats stats = cache->Stats();
  EXPECT_EQ(stats.hits, 1u);
  EXPECT_EQ(stats.misses, 2u);
  EXPECT_EQ(stats.records, 1u);
  EXPECT_EQ(stats.bytes_read, 1000u);
  EXPECT_EQ(stats.bytes, FilesBytes(folder()));
}

TEST_F(DiskCacheTest, RecordsSurviveTheCacheObject) {
  {
    const auto cache = OpenCache();
    const auto use = cache->Use(kSpace, "a data set");
    Fill(cache.get(), 0, 20);
  }
  const auto cache = OpenCache();
  EXPECT_EQ(Held(cache.get(), 0, 20), 0u) << "no session uses the data set";
  const auto use = cache->Use(kSpace, "a data set");
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 20), 20u);
}

TEST_F(DiskCacheTest, RemovesAnUnusedSpaceAndReturnsItsBytes) {
  const auto cache = OpenCache();
  auto use = cache->Use(kSpace, "a data set");
  const auto other = cache->Use(2, "another");
  cache->Flush();
  Fill(cache.get(), 0, 20);
  Fill(cache.get(), 0, 5, 2);
  EXPECT_EQ(cache->Remove(kSpace).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Held(cache.get(), 0, 20), 20u);
  const uint64_t before = FilesBytes(folder());
  use.reset();
  const absl::StatusOr<uint64_t> removed = cache->Remove(kSpace);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(*removed, before - FilesBytes(folder()));
  EXPECT_EQ(cache->Stats().bytes, FilesBytes(folder()));
  EXPECT_FALSE(HasSpace(folder(), kSpace));
  EXPECT_EQ(Held(cache.get(), 0, 5, 2), 5u);
  EXPECT_EQ(*cache->Remove(kSpace), 0u);
}

TEST_F(DiskCacheTest, ASpaceNeverReturnsRecordsOfAnother) {
  const auto cache = OpenCache();
  const auto one = cache->Use(1, "one"), two = cache->Use(2, "two");
  cache->Flush();
  Fill(cache.get(), 0, 5, 1);
  EXPECT_EQ(Held(cache.get(), 0, 5, 2), 0u);
  // This holds also if the files of one space replace those of another.
  cache->Flush();
  std::filesystem::copy_file(SpaceFolder(folder(), 1) + "/records", temp_.File("records"));
  std::filesystem::copy_file(SpaceFolder(folder(), 1) + "/index", temp_.File("index"));
  std::filesystem::create_directory(SpaceFolder(folder(), 3));
  std::filesystem::rename(temp_.File("records"), SpaceFolder(folder(), 3) + "/records");
  std::filesystem::rename(temp_.File("index"), SpaceFolder(folder(), 3) + "/index");
  const auto three = cache->Use(3, "three");
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 5, 3), 0u);
}

TEST_F(DiskCacheTest, FilesNeverExceedTheLimitAndCachedRecordsStay) {
  const uint64_t each = kDiskHeaderBytes + 1000 + kDiskIndexEntryBytes;
  const auto cache = OpenCache(10 * each + 5);
  const auto use = cache->Use(kSpace, "a data set");
  for (int epoch = 0; epoch < 3; ++epoch) {
    Fill(cache.get(), 0, 30);
    EXPECT_EQ(Held(cache.get(), 0, 10), 10u);
    EXPECT_EQ(Held(cache.get(), 10, 30), 0u);
    EXPECT_LE(FilesBytes(folder()), 10 * each + 5);
  }
}

TEST_F(DiskCacheTest, TheLongestUnusedDataSetIsEvictedFirst) {
  const uint64_t each = kDiskHeaderBytes + 1000 + kDiskIndexEntryBytes;
  const auto cache = OpenCache(30 * each);
  for (uint64_t space = 1; space <= 3; ++space) {
    const auto use = cache->Use(space, "a data set");
    Fill(cache.get(), 0, 10, space);
  }
  cache->Flush();
  const auto use = cache->Use(4, "the new one");
  Fill(cache.get(), 0, 15, 4);
  EXPECT_EQ(Held(cache.get(), 0, 15, 4), 15u);
  EXPECT_FALSE(HasSpace(folder(), 1));
  EXPECT_FALSE(HasSpace(folder(), 2));
  EXPECT_TRUE(HasSpace(folder(), 3));
  EXPECT_LE(cache->Stats().bytes, 30 * each);
}

TEST_F(DiskCacheTest, ADataSetIsReadableUntilItsLastUseEnds) {
  const auto cache = OpenCache();
  auto one = cache->Use(kSpace, "a data set");
  auto two = cache->Use(kSpace, "a data set");
  Fill(cache.get(), 0, 3);
  one.reset();
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 3), 3u);
  two.reset();
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 3), 0u);
  EXPECT_EQ(cache->Stats().bytes, FilesBytes(folder()));
  one = cache->Use(kSpace, "a data set");
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 3), 3u);
}

// An adversary changes each byte of the files, one at a time, and cuts the files anywhere.
TEST_F(DiskCacheTest, DamageCausesAMissAndNeverWrongBytes) {
  {
    const auto cache = OpenCache();
    const auto use = cache->Use(kSpace, "a data set");
    for (uint64_t record = 0; record < 4; ++record) cache->Offer({kSpace, record}, Bytes(record, 50));
    cache->Flush();
  }
  const auto slurp = [](const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string records = slurp(SpaceFile("records")), index = slurp(SpaceFile("index"));
  const auto check = [&](const std::string& what) {
    absl::StatusOr<std::unique_ptr<DiskSpace>> space =
        DiskSpace::Open(SpaceFolder(folder(), kSpace), kSpace, "a data set", 1000);
    ASSERT_TRUE(space.ok()) << what << space.status();
    for (uint64_t record = 0; record < 4; ++record) {
      char room[50 + DiskCache::kReadOverhead];
      const auto found = (*space)->Read(record, 50, room);
      ASSERT_TRUE(found.ok()) << what << found.status();
      if (found->has_value()) {
        ASSERT_EQ(**found, Bytes(record, 50)) << what;
      }
      // The record can be appended again and is then right.
      ASSERT_TRUE((*space)->Append(record, Bytes(record, 50)).ok()) << what;
      const auto again = (*space)->Read(record, 50, room);
      ASSERT_TRUE(again.ok() && again->has_value()) << what;
      ASSERT_EQ(**again, Bytes(record, 50)) << what;
    }
  };
  const auto put = [&](const std::string& new_records, const std::string& new_index) {
    std::ofstream(SpaceFile("records"), std::ios::binary) << new_records;
    std::ofstream(SpaceFile("index"), std::ios::binary) << new_index;
  };
  for (size_t at = 0; at < records.size(); ++at) {
    std::string damaged = records;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    put(damaged, index);
    check(absl::StrCat("records, byte ", at, ": "));
  }
  for (size_t at = 0; at < index.size(); ++at) {
    std::string damaged = index;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    put(records, damaged);
    check(absl::StrCat("index, byte ", at, ": "));
  }
  for (size_t end = 0; end < records.size(); end += 7) {
    put(records.substr(0, end), index);
    check(absl::StrCat("records end at ", end, ": "));
  }
  for (size_t end = 0; end < index.size(); ++end) {
    put(records, index.substr(0, end));
    check(absl::StrCat("index ends at ", end, ": "));
  }
}

TEST_F(DiskCacheTest, KeepsTheNewCopyOfADamagedRecordWhenReopened) {
  {
    const auto cache = OpenCache();
    const auto use = cache->Use(kSpace, "a data set");
    Fill(cache.get(), 0, 3);
  }
  {
    std::fstream file(SpaceFile("records"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(kDiskHeaderBytes + 10);
    file << "damage";
  }
  for (int opening = 0; opening < 2; ++opening) {
    const auto cache = OpenCache();
    const auto use = cache->Use(kSpace, "a data set");
    cache->Flush();
    EXPECT_EQ(Held(cache.get(), 0, 3), opening == 0 ? 2u : 3u);
    EXPECT_EQ(cache->Stats().damaged, opening == 0 ? 1u : 0u);
    Fill(cache.get(), 0, 1);
    EXPECT_EQ(Held(cache.get(), 0, 3), 3u);
  }
}

TEST_F(DiskCacheTest, KeepsTheEntriesAfterADamagedOne) {
  {
    const auto cache = OpenCache();
    const auto use = cache->Use(kSpace, "a data set");
    Fill(cache.get(), 0, 5);
  }
  {
    std::fstream file(SpaceFile("index"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(kDiskIndexEntryBytes + 3);
    file << "damage";
  }
  for (int opening = 0; opening < 2; ++opening) {
    const auto cache = OpenCache();
    const auto use = cache->Use(kSpace, "a data set");
    cache->Flush();
    EXPECT_EQ(Held(cache.get(), 0, 5), opening == 0 ? 4u : 5u);
    Fill(cache.get(), 1, 2);
    EXPECT_EQ(Held(cache.get(), 0, 5), 5u);
    EXPECT_EQ(cache->Stats().bytes, FilesBytes(folder()));
  }
}

// The test kills a process at arbitrary moments while it writes.
TEST_F(DiskCacheTest, AKilledProcessLeavesOnlyValidRecords) {
  for (int round = 0; round < 10; ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto cache = OpenCache(64 << 20);
      const auto use = cache->Use(kSpace, "a data set");
      for (uint64_t record = 0;; ++record) {
        cache->Offer({kSpace, record % 20000}, Bytes(record % 20000));
        if (record == 20 + 50 * static_cast<uint64_t>(round) && write(ready[1], "x", 1) != 1) _exit(1);
      }
    }
    char x;
    ASSERT_EQ(read(ready[0], &x, 1), 1);
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    close(ready[0]);
    close(ready[1]);
    const auto cache = OpenCache(64 << 20);
    const auto use = cache->Use(kSpace, "a data set");
    cache->Flush();
    const size_t held = Held(cache.get(), 0, 20000);  // checks each record's bytes
    EXPECT_EQ(held, cache->Stats().records);
    EXPECT_EQ(cache->Stats().damaged, 0u);
  }
}

TEST_F(DiskCacheTest, AFullDiskGivesOneWarningAndReadsContinue) {
  const auto cache = OpenCache();
  const auto use = cache->Use(kSpace, "a data set");
  cache->Flush();
  // Forbids files to grow. For a process this is the closest to a full disk.
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 5000;
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Fill(cache.get(), 0, 20);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(Held(cache.get(), 0, 20), 4u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], HasSubstr(folder()));
  EXPECT_THAT(warnings()[0], HasSubstr("the worker reads from storage"));
  Fill(cache.get(), 0, 20);
  EXPECT_EQ(Held(cache.get(), 0, 20), 4u) << "the cache waits before it tries again";
  clock_.Advance(61 * kSecond);
  Fill(cache.get(), 0, 20);
  EXPECT_EQ(Held(cache.get(), 0, 20), 20u);
}

TEST_F(DiskCacheTest, AProcessNoticesThatItsFolderWasClearedAndContinues) {
  const auto cache = OpenCache();
  const auto use = cache->Use(kSpace, "a data set");
  Fill(cache.get(), 0, 10);
  const absl::StatusOr<uint64_t> freed = ClearDiskCache(folder());
  ASSERT_TRUE(freed.ok()) << freed.status();
  EXPECT_EQ(*freed, 10 * (kDiskHeaderBytes + 1000 + kDiskIndexEntryBytes));
  Held(cache.get(), 0, 10);  // checks the bytes, whether the files are still open or not
  clock_.Advance(10 * kSecond);
  cache->Contains({kSpace, 0});
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 10), 0u);
  EXPECT_EQ(cache->Stats().bytes, 0u);
  Fill(cache.get(), 0, 10);
  EXPECT_EQ(Held(cache.get(), 0, 10), 10u);
  EXPECT_GT(FilesBytes(folder()), 10'000u);
}

TEST_F(DiskCacheTest, FilesThatCannotBeReusedCountAndGiveAWarning) {
  {
    const auto cache = OpenCache();
    const auto use = cache->Use(kSpace, "a data set");
    Fill(cache.get(), 0, 10);
  }
  std::filesystem::remove(SpaceFile("index"));
  std::filesystem::create_directory(SpaceFile("index"));
  const auto cache = OpenCache();
  const uint64_t before = cache->Stats().bytes;
  EXPECT_GT(before, 10'000u);
  auto use = cache->Use(kSpace, "a data set");
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 10), 0u);
  EXPECT_EQ(cache->Stats().bytes, before);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_THAT(warnings()[0], HasSubstr(SpaceFile("index")));
  use.reset();
  cache->Flush();
  EXPECT_EQ(cache->Stats().bytes, before);
}

TEST_F(DiskCacheTest, OnlyOneProcessMayUseAFolder) {
  const auto cache = OpenCache();
  DiskCacheOptions options;
  options.folder = folder();
  const absl::Status second = DiskCache::Open(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(second.message()), HasSubstr("another process uses " + folder()));
}

// The cache opens and keeps its records.
TEST_F(DiskCacheTest, DamagedFilesOfTheFolderAreReplaced) {
  namespace fs = std::filesystem;
  const auto fill = [this] {
    const auto cache = OpenCache();
    const auto used = cache->Use(kSpace, "train");
    Fill(cache.get(), 0, 3);
  };
  fill();
  const auto damages = std::map<std::string, std::function<void(const std::string&)>>{
      {"is lost", [](const std::string& path) { fs::remove(path); }},
      {"is empty", [](const std::string& path) { std::ofstream(path, std::ios::trunc); }},
      {"holds other bytes", [](const std::string& path) { std::ofstream(path, std::ios::trunc) << "\xff\xfe"; }},
      {"is a folder", [](const std::string& path) { fs::remove(path), fs::create_directory(path); }},
      {"is a FIFO", [](const std::string& path) { fs::remove(path), mkfifo(path.c_str(), 0644); }},
      {"is a link to nothing",
       [](const std::string& path) { fs::remove(path), fs::create_symlink("/no/such/file", path); }},
      {"may not be opened", [](const std::string& path) { fs::permissions(path, fs::perms::none); }},
  };
  for (const std::string name : {"CACHEDIR.TAG", "lock"}) {
    for (const auto& [damage, make] : damages) {
      make(folder() + "/" + name);
      EXPECT_EQ(ListDiskCache(folder())->size(), 1u) << name << " " << damage;
      const auto cache = OpenCache();
      ASSERT_NE(cache, nullptr) << name << " " << damage;
      const auto used = cache->Use(kSpace, "train");
      cache->Flush();
      EXPECT_EQ(Held(cache.get(), 0, 3), 3u) << name << " " << damage;
      EXPECT_TRUE(fs::is_regular_file(folder() + "/" + name)) << damage;
    }
  }
  fs::remove(SpaceFile("about"));
  ASSERT_EQ(mkfifo(SpaceFile("about").c_str(), 0644), 0);
  ASSERT_EQ(mkfifo((folder() + "/queue").c_str(), 0644), 0);
  const auto cache = OpenCache();
  const auto used = cache->Use(kSpace, "train");
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 3), 3u);
}

TEST_F(DiskCacheTest, AFolderWithOtherFilesIsRejectedAndLeftUnchanged) {
  temp_.Write("cache/photo.jpg", "mine");
  temp_.Write("cache/0000000000001234/records", "mine too");
  DiskCacheOptions options;
  options.folder = folder();
  const absl::Status opened = DiskCache::Open(options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(opened)) << opened;
  EXPECT_THAT(std::string(opened.message()), HasSubstr("has files in it that are not a cache's"));
  const absl::Status cleared = ClearDiskCache(folder()).status();
  EXPECT_THAT(std::string(cleared.message()), HasSubstr("name the folder that penstockd got as --disk-cache"));
  EXPECT_TRUE(std::filesystem::exists(temp_.File("cache/0000000000001234/records")));
}

TEST_F(DiskCacheTest, TheListContainsTheNamesOfDataSets) {
  {
    const auto cache = OpenCache();
    const auto use = cache->Use(kSpace, "data/train-00000-of-00008 and 7 more");
    Fill(cache.get(), 0, 3);
  }
  const auto list = ListDiskCache(folder());
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ((*list)[0].about, "data/train-00000-of-00008 and 7 more");
  EXPECT_EQ((*list)[0].records, 3u);
  EXPECT_EQ((*list)[0].bytes, FilesBytes(folder()));
  const absl::Status missing = ClearDiskCache(folder(), 99).status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  temp_.Write("cache/mine.txt", "not the cache's");
  EXPECT_TRUE(ClearDiskCache(folder(), kSpace).ok());
  EXPECT_TRUE(std::filesystem::exists(temp_.File("cache/mine.txt")));
  EXPECT_FALSE(std::filesystem::exists(SpaceFolder(folder(), kSpace)));
}

TEST_F(DiskCacheTest, ManyThreadsReadWhileOneWrites) {
  const auto cache = OpenCache(64 << 20);
  const auto use = cache->Use(kSpace, "a data set");
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (uint64_t i = 0; i < 1500; ++i) {
        const uint64_t record = (i * 7 + t * 13) % 300;
        const auto found = Read(cache.get(), record);
        if (found.has_value()) {
          EXPECT_EQ(*found, Bytes(record));
        } else {
          cache->Offer({kSpace, record}, Bytes(record));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  cache->Flush();
  EXPECT_EQ(Held(cache.get(), 0, 300), 300u);
}

}  // namespace
}  // namespace penstock::cache
