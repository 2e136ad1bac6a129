// Sizes that take some seconds: every record size up to 70,000, and a shard of 30 MB with close restart points.
#include <gtest/gtest.h>

#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

// All 70,001 sizes in one file would be 2.4 GB, so each size is one file in memory, framed and walked.
TEST(LargeShard, EveryRecordSizeUpTo70000IsReadBack) {
  const std::string bytes = TestBytes(70'000, 1);
  std::string framed;
  for (size_t size = 0; size <= 70'000; ++size) {
    framed.clear();
    AppendFramedRecord(std::string_view(bytes).substr(0, size), &framed);
    auto file = std::make_unique<MemoryFile>(framed);
    auto index = BuildShardIndex(*file);
    ASSERT_TRUE(index.ok()) << index.status();
    auto reader = ShardReader::Open(std::move(file), std::make_shared<const ShardIndex>(*std::move(index)));
    ASSERT_TRUE(reader.ok());
    const auto record = (*reader)->ReadRecord(0, framed.data());
    ASSERT_TRUE(record.ok()) << record.status();
    ASSERT_EQ(record->size(), size);
  }
}

TEST(LargeShard, RandomReadsFromRestartPointsEqualTheStream) {
  support::TempFolder folder;
  std::vector<std::string> records;
  size_t total = 0;
  for (size_t i = 0; total < 30'000'000; ++i) {
    records.push_back(TestBytes(i * 2654435761u % 60'000, i));
    total += records.back().size();
  }
  for (const Compression compression : {Compression::kGzip, Compression::kZlib}) {
    auto writer =
        TFRecordWriter::Open(storage::LocalFiles(), folder.File("s"), {.compression = compression, .level = 1});
    ASSERT_TRUE(writer.ok());
    for (const std::string& record : records) ASSERT_TRUE((*writer)->Write(record).ok());
    ASSERT_TRUE((*writer)->Close().ok());
    auto file = OpenFile(folder.File("s"));
    ASSERT_TRUE(file.ok());
    auto index = BuildShardIndex(**file, {.restart_spacing = 64 << 10});
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_GT(index->restart_points.size(), 100u);
    auto reader = ShardReader::Open(std::move(*file), std::make_shared<const ShardIndex>(*std::move(index)));
    ASSERT_TRUE(reader.ok());
    std::string record;
    for (size_t i = 0; i < records.size(); ++i) {
      const size_t k = i * 7919 % records.size();
      ASSERT_TRUE((*reader)->ReadRecord(k, &record).ok());
      ASSERT_EQ(record, records[k]);
    }
  }
}

}  // namespace
}  // namespace penstock::sources
