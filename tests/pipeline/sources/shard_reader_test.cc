#include "pipeline/sources/shard_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <thread>

#include "pipeline/sources/index_builder.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

std::unique_ptr<ShardReader> OpenIndexed(const std::string& path, const IndexOptions& index_options = {},
                                         const ShardReaderOptions& options = {}) {
  auto file = OpenFile(path);
  EXPECT_TRUE(file.ok()) << file.status();
  auto index = BuildShardIndex(**file, index_options);
  EXPECT_TRUE(index.ok()) << index.status();
  auto reader = ShardReader::Open(*storage::LocalFiles()->OpenAndWait(path),
                                  std::make_shared<const ShardIndex>(*std::move(index)), options);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

constexpr Compression kAll[] = {Compression::kNone, Compression::kGzip, Compression::kZlib};

TEST(ShardReader, ReadsEveryRecordSizeUnderEveryCompression) {
  support::TempFolder folder;
  std::vector<std::string> records;
  const std::string bytes = TestBytes(70'000, 1);
  for (size_t size = 0; size < 300; ++size) records.push_back(bytes.substr(size, size));
  for (size_t size = 300; size <= 70'000; size += size < 4200 ? 97 : 4999) records.push_back(bytes.substr(0, size));
  for (const size_t size : {4080, 4095, 4096, 4097, 32767, 32768, 65519, 65520, 65535, 65536, 65537, 70000}) {
    records.push_back(bytes.substr(0, size));
  }
  for (const Compression compression : kAll) {
    WriteShard(folder.File("s"), records, compression);
    const auto reader = OpenIndexed(folder.File("s"), {.restart_spacing = 64 << 10});
    ASSERT_EQ(reader->index().record_count(), records.size());
    std::string record;
    for (size_t k = 0; k < records.size(); ++k) {
      const size_t other = k * 7919 % records.size();
      ASSERT_TRUE(reader->ReadRecord(other, &record).ok());
      ASSERT_EQ(record, records[other]);
    }
  }
}

TEST(ShardReader, ReadsAnyRecordsFromRestartPoints) {
  support::TempFolder folder;
  std::vector<std::string> records;
  size_t total = 0;
  for (size_t i = 0; total < 3'000'000; ++i) {
    records.push_back(TestBytes(i * 2654435761u % 9000, i));
    total += records.back().size();
  }
  for (const Compression compression : kAll) {
    WriteShard(folder.File("s"), records, compression);
    const auto reader = OpenIndexed(folder.File("s"), {.restart_spacing = 100'000}, {.max_cursors = 2});
    if (compression != Compression::kNone) {
      EXPECT_GT(reader->index().restart_points.size(), 15u);
    }
    std::string record;
    SampleRandom random(1, 2, 3);
    for (int i = 0; i < 120; ++i) {
      const uint64_t first = random.Below(static_cast<uint32_t>(records.size()));
      const uint64_t count = std::min<uint64_t>(random.Below(40), records.size() - first);
      for (uint64_t k = first; k < first + count; ++k) {
        ASSERT_TRUE(reader->ReadRecord(k, &record).ok());
        ASSERT_EQ(record, records[k]);
      }
    }
  }
}

TEST(ShardReader, ReadsGzipOfManyMembers) {
  support::TempFolder folder;
  std::vector<std::string> records;
  std::string whole;
  for (size_t member = 0; member < 16; ++member) {
    std::vector<std::string> some;
    for (size_t i = 0; i < member; ++i) some.push_back(TestBytes(2000 + 10 * i, member * 100 + i));
    WriteShard(folder.File("member"), some, Compression::kGzip);
    whole += Slurp(folder.File("member"));
    records.insert(records.end(), some.begin(), some.end());
  }
  WriteBytes(folder.File("s"), whole);
  for (const uint64_t spacing : {uint64_t{1}, uint64_t{20'000}, uint64_t{1} << 30}) {
    const auto reader = OpenIndexed(folder.File("s"), {.restart_spacing = spacing}, {.max_cursors = 0});
    ASSERT_EQ(reader->index().record_count(), records.size());
    std::string record;
    for (size_t k = records.size(); k-- > 0;) {
      ASSERT_TRUE(reader->ReadRecord(k, &record).ok());
      ASSERT_EQ(record, records[k]);
    }
  }
}

TEST(ShardReader, ServesManyThreads) {
  support::TempFolder folder;
  std::vector<std::string> records;
  for (size_t i = 0; i < 400; ++i) records.push_back(TestBytes(1000 + i, i));
  for (const Compression compression : {Compression::kNone, Compression::kZlib}) {
    WriteShard(folder.File("s"), records, compression);
    const auto reader = OpenIndexed(folder.File("s"), {.restart_spacing = 50'000});
    std::vector<std::jthread> threads;
    std::atomic<int> wrong{0};
    for (uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::string record;
        for (size_t i = 0; i < 150; ++i) {
          const size_t k = (i * (t + 3) * 17 + t) % records.size();
          if (!reader->ReadRecord(k, &record).ok() || record != records[k]) ++wrong;
        }
      });
    }
    threads.clear();
    EXPECT_EQ(wrong, 0);
  }
}

TEST(ShardReader, LosesExactlyTheRecordWithAWrongDataCrc) {
  support::TempFolder folder;
  std::string stream = Frame({"one", "two", "three"});
  stream[19 + 13] ^= 1;
  WriteBytes(folder.File("s"), stream);
  const auto reader = OpenIndexed(folder.File("s"));
  std::string record;
  EXPECT_TRUE(reader->ReadRecord(0, &record).ok());
  const absl::Status broken = reader->ReadRecord(1, &record);
  EXPECT_TRUE(absl::IsDataLoss(broken));
  EXPECT_NE(std::string(broken.message()).find("record 1 at offset 19"), std::string::npos) << broken;
  EXPECT_NE(std::string(broken.message()).find(folder.File("s")), std::string::npos) << broken;
  EXPECT_TRUE(reader->ReadRecord(2, &record).ok());
  EXPECT_EQ(record, "three");
}

// Other bytes with the same size and mtime: only the CRCs and lengths reveal them.
TEST(ShardReader, ReadsTheRecordsBeforeDamageInACompressedShard) {
  support::TempFolder folder;
  std::vector<std::string> records;
  for (size_t i = 0; i < 100; ++i) records.push_back(TestBytes(5000, i));
  WriteShard(folder.File("s"), records, Compression::kGzip);
  auto index = BuildShardIndex(**OpenFile(folder.File("s")), {.restart_spacing = 1 << 30});
  ASSERT_TRUE(index.ok());
  std::string bytes = Slurp(folder.File("s"));
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end(), '\0');
  auto file = std::make_unique<MemoryFile>(bytes);
  file->mtime_ns = index->mtime_ns;
  auto reader = ShardReader::Open(std::move(file), std::make_shared<const ShardIndex>(*std::move(index)));
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::string record;
  for (size_t k = 0; k < 40; ++k) {
    ASSERT_TRUE((*reader)->ReadRecord(k, &record).ok());
    ASSERT_EQ(record, records[k]);
  }
  for (size_t k = 60; k < 100; ++k) {
    const absl::Status read = (*reader)->ReadRecord(k, &record);
    ASSERT_TRUE(absl::IsDataLoss(read)) << read;
  }
}

TEST(ShardReader, ReportsAChangedFile) {
  support::TempFolder folder;
  const std::string path = folder.File("s");
  WriteShard(path, {"one", "two"});
  const auto reader = OpenIndexed(path);
  std::string record;
  ASSERT_TRUE(reader->ReadRecord(0, &record).ok());
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  EXPECT_TRUE(absl::IsFailedPrecondition(reader->ReadRecord(0, &record)));
  auto again =
      ShardReader::Open(*storage::LocalFiles()->OpenAndWait(path), std::make_shared<const ShardIndex>(reader->index()));
  EXPECT_TRUE(absl::IsFailedPrecondition(again.status())) << again.status();
  std::filesystem::resize_file(path, 20);
  const absl::Status shorter = reader->ReadRecord(0, &record);
  EXPECT_TRUE(absl::IsFailedPrecondition(shorter)) << shorter;
  EXPECT_NE(std::string(shorter.message()).find("changed since it was indexed"), std::string::npos);
}

TEST(ShardReader, RejectsRecordNumbersOutOfRange) {
  support::TempFolder folder;
  WriteShard(folder.File("s"), {"one", "two"});
  const auto reader = OpenIndexed(folder.File("s"));
  std::string record;
  EXPECT_TRUE(absl::IsOutOfRange(reader->ReadRecord(2, &record)));
  EXPECT_TRUE(absl::IsOutOfRange(reader->ReadRecord(UINT64_MAX, &record)));
}

// A forged index causes at most an error.
TEST(ShardReader, SurvivesWrongRestartPoints) {
  support::TempFolder folder;
  std::vector<std::string> records;
  for (size_t i = 0; i < 60; ++i) records.push_back(TestBytes(4000, i));
  WriteShard(folder.File("s"), records, Compression::kGzip);
  auto index = BuildShardIndex(**OpenFile(folder.File("s")), {.restart_spacing = 30'000});
  ASSERT_TRUE(index.ok());
  for (int change = 0; change < 4; ++change) {
    ShardIndex forged = *index;
    for (size_t i = 1; i < forged.restart_points.size(); ++i) {
      RestartPoint& point = forged.restart_points[i];
      if (change == 0) point.bits = (point.bits + 1) % 8;
      if (change == 1) point.file_offset = forged.file_size;
      if (change == 2) point.window = "no zlib stream";
      if (change == 3) point.stream_start = true;
    }
    auto reader = ShardReader::Open(*storage::LocalFiles()->OpenAndWait(folder.File("s")),
                                    std::make_shared<const ShardIndex>(forged));
    ASSERT_TRUE(reader.ok());
    std::string record;
    const absl::Status status = (*reader)->ReadRecord(59, &record);
    EXPECT_TRUE(absl::IsDataLoss(status)) << change << " " << status;
  }
}

}  // namespace
}  // namespace penstock::sources
