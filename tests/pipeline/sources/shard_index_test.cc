#include "pipeline/sources/shard_index.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/little_endian.h"
#include "pipeline/sources/index_builder.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

ShardIndex CompressedIndex() {
  support::TempFolder folder;
  std::vector<std::string> records;
  for (size_t i = 0; i < 40; ++i) records.push_back(TestBytes(3000 + i, i));
  WriteShard(folder.File("s"), records, Compression::kGzip);
  auto file = OpenFile(folder.File("s"));
  EXPECT_TRUE(file.ok());
  auto index = BuildShardIndex(**file, {.restart_spacing = 32 << 10});
  EXPECT_TRUE(index.ok()) << index.status();
  return *std::move(index);
}

TEST(ShardIndex, KnowsEveryOffsetAndLength) {
  ShardIndex index;
  uint64_t offset = 0, data = 0;
  for (uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(index.RecordOffset(i), offset);
    index.AppendRecord(i * 31 % 500);
    offset += i * 31 % 500 + 16;
    data += i * 31 % 500;
  }
  ASSERT_EQ(index.record_count(), 1000u);
  uint64_t at = 0;
  for (uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(index.RecordOffset(i), at);
    ASSERT_EQ(index.RecordLength(i), i * 31 % 500);
    at += index.StoredBytes(i);
  }
  EXPECT_EQ(index.RecordOffset(1000), offset);
  EXPECT_EQ(index.stream_size(), offset);
  EXPECT_EQ(index.data_bytes(), data);
  EXPECT_EQ(index.RangeBytes(10, 3), index.StoredBytes(10) + index.StoredBytes(11) + index.StoredBytes(12));
  EXPECT_EQ(index.longest_record(), 499u);
}

TEST(ShardIndex, SurvivesTheRoundTrip) {
  const ShardIndex compressed = CompressedIndex();
  EXPECT_GT(compressed.restart_points.size(), 2u);
  auto parsed = ShardIndex::Parse(compressed.Serialize());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, compressed);

  MemoryFile file(Frame({"a", "", TestBytes(70000, 1)}));
  auto plain = BuildShardIndex(file);
  ASSERT_TRUE(plain.ok());
  parsed = ShardIndex::Parse(plain->Serialize());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, *plain);
}

TEST(ShardIndex, TakesAboutFourBytesOfMemoryAndThreeOnDiskPerRecord) {
  ShardIndex index;
  for (int i = 0; i < 100'000; ++i) index.AppendRecord(20'000);
  index.file_size = index.stream_size();
  index.Compact();
  EXPECT_LT(index.MemoryBytes(), 420'000u);
  EXPECT_LT(index.Serialize().size(), 301'000u);
}

TEST(ShardIndex, RejectsAChangedOrTruncatedBlob) {
  const std::string blob = CompressedIndex().Serialize().substr(0, 1 << 20);
  for (size_t i = 0; i < blob.size(); i += i < 400 ? 1 : 37) {
    std::string changed = blob;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    ASSERT_FALSE(ShardIndex::Parse(changed).ok()) << i;
    ASSERT_FALSE(ShardIndex::Parse(std::string_view(blob).substr(0, i)).ok()) << i;
  }
  EXPECT_FALSE(ShardIndex::Parse(blob + "x").ok());
}

// A forger can make the checksum right. The content must then still do no harm.
TEST(ShardIndex, SurvivesAForgedBlobWithARightChecksum) {
  MemoryFile file(Frame({"a", "bb", TestBytes(300, 1)}));
  auto plain = BuildShardIndex(file);
  ASSERT_TRUE(plain.ok());
  for (const std::string& blob : {plain->Serialize(), CompressedIndex().Serialize()}) {
    const size_t body = blob.size() - 8;
    for (size_t i = 8; i < body; i += i < 300 ? 1 : 61) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string forged = blob;
        forged[i] = static_cast<char>(forged[i] ^ change);
        StoreLittleEndian<uint64_t>(Hash64(std::string_view(forged).substr(0, body)), forged.data() + body);
        const auto parsed = ShardIndex::Parse(forged);
        if (!parsed.ok()) continue;
        for (uint64_t k = 0; k < parsed->record_count(); ++k) {
          ASSERT_LE(parsed->RecordOffset(k) + parsed->StoredBytes(k), parsed->stream_size());
        }
      }
    }
  }
}

TEST(ShardIndex, ReportsAnotherVersionAsFailedPrecondition) {
  std::string blob = ShardIndex().Serialize();
  blob[4] = 8;
  const auto parsed = ShardIndex::Parse(blob);
  EXPECT_TRUE(absl::IsFailedPrecondition(parsed.status())) << parsed.status();
}

TEST(ShardIndex, KeepsTheTagOfTheStorage) {
  ShardIndex index;
  index.AppendRecord(5);
  index.file_size = index.stream_size();
  const std::string without = index.Serialize();
  index.tag = "\"5d41402abc4b2a76b9719d911017c592\"";
  const std::string blob = index.Serialize();
  const auto parsed = ShardIndex::Parse(blob);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, index);
  EXPECT_EQ(without[4], 1) << "earlier releases read and write the index of local files";
  for (size_t i = 0; i < blob.size(); ++i) {
    std::string changed = blob;
    changed[i] = static_cast<char>(changed[i] ^ 0x20);
    EXPECT_FALSE(ShardIndex::Parse(changed).ok()) << i;
  }
}

}  // namespace
}  // namespace penstock::sources
