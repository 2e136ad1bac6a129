// Packed indexes: their rows have the bytes of the records, in every container and compression, and damage names the
// record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/wire.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/pack_frame.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/shard_records.h"
#include "tests/pipeline/sources/tar/tar_maker.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

using ::testing::HasSubstr;

struct PackedFile {
  std::string stored;
  std::optional<ContainerKind> container = std::nullopt;
};

std::string TarOfSamples() {
  std::string archive;
  for (int i = 0; i < 30; ++i) {
    AppendTarMember(absl::StrCat("s", i, ".txt"), std::string(static_cast<size_t>(i * 7 % 40), 't'), &archive);
    AppendTarMember(absl::StrCat("s", i, ".cls"), absl::StrCat(i), &archive);
  }
  return archive + std::string(1024, '\0');
}

std::vector<PackedFile> PackedFiles() {
  std::vector<std::string> records;
  std::string lines, table = "a,b\n";
  for (int i = 0; i < 40; ++i) {
    records.push_back(TestBytes(static_cast<size_t>(i * 13 % 70), static_cast<uint64_t>(i)));
    absl::StrAppend(&lines, "{\"n\": ", i, "}\n");
    absl::StrAppend(&table, i, ",", std::string(static_cast<size_t>(i % 9), 'x'), "\n");
  }
  const std::string plain = Frame(records);
  return {{plain}, {GzippedBytes(plain)}, {lines}, {table, ContainerKind::kCsv}, {TarOfSamples()}, {""}};
}

ShardIndex IndexOfFile(const MemoryFile& file, const PackedFile& packed) {
  IndexOptions options;
  options.container = packed.container;
  absl::StatusOr<ShardIndex> index = BuildShardIndex(file, options);
  EXPECT_TRUE(index.ok()) << index.status();
  return index.ok() ? *std::move(index) : ShardIndex();
}

// Rows of a few records each, some of which are in two rows.
plan::RecordPacks SomeRows(uint64_t records, uint64_t seed) {
  std::mt19937_64 random(seed);
  plan::RecordPacks rows;
  for (uint64_t row = 0; row < records; ++row) {
    for (uint64_t i = 0; i <= random() % 5; ++i) {
      rows.parts.push_back({static_cast<uint32_t>(random() % records), static_cast<uint32_t>(random() % 9), 3});
    }
    rows.ends.push_back(static_cast<uint32_t>(rows.parts.size()));
  }
  return rows;
}

TEST(PackedIndex, RowsHaveTheBytesOfTheirRecords) {
  for (const PackedFile& packed : PackedFiles()) {
    const MemoryFile file(packed.stored);
    const ShardIndex single = IndexOfFile(file, packed);
    const ShardIndex index = single.Packed(SomeRows(single.record_count(), 4));
    EXPECT_TRUE(index.is_packed());
    EXPECT_EQ(index.record_count(), single.record_count());
    EXPECT_EQ(index.shard_records(), single.record_count());
    const auto reader =
        ShardReader::Open(std::make_unique<MemoryFile>(packed.stored), std::make_shared<const ShardIndex>(index));
    const auto of_records =
        ShardReader::Open(std::make_unique<MemoryFile>(packed.stored), std::make_shared<const ShardIndex>(single));
    ASSERT_TRUE(reader.ok() && of_records.ok()) << reader.status() << of_records.status();
    uint64_t rows = 0;
    ASSERT_TRUE(ForEachRecord(**reader, nullptr, [&](uint64_t k, const absl::StatusOr<std::string_view>& row) {
                  ++rows;
                  EXPECT_TRUE(row.ok()) << row.status();
                  if (!row.ok()) return row.status();
                  EXPECT_LE(row->size(), index.RecordLength(k));
                  EXPECT_EQ(index.RecordLength(k), ShardReader::DataBytes(index, k, nullptr));
                  std::vector<FramedPart> parts;
                  EXPECT_TRUE(ParsePack(*row, &parts).ok());
                  const auto expected = index.packs().rows.Row(k);
                  EXPECT_EQ(parts.size(), expected.size());
                  for (size_t i = 0; i < parts.size(); ++i) {
                    std::string record;
                    EXPECT_TRUE((*of_records)->ReadRecord(expected[i].record, &record).ok());
                    EXPECT_EQ(parts[i].record, record);
                    EXPECT_EQ(parts[i].number, expected[i].record);
                    EXPECT_EQ(parts[i].first, expected[i].first);
                    EXPECT_EQ(parts[i].count, expected[i].count);
                  }
                  return absl::OkStatus();
                }).ok());
    EXPECT_EQ(rows, index.record_count());
  }
}

TEST(PackedIndex, RowsOfSamplesHaveOnlyTheRequestedMembers) {
  const PackedFile tar{TarOfSamples()};
  const MemoryFile file(tar.stored);
  const ShardIndex single = IndexOfFile(file, tar);
  const auto index = std::make_shared<const ShardIndex>(single.Packed(SomeRows(single.record_count(), 6)));
  const auto reader = ShardReader::Open(std::make_unique<MemoryFile>(tar.stored), index);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const RequestedFeatures features({{{"cls"}}});
  for (uint64_t k = 0; k < index->record_count(); ++k) {
    std::string buffer((*reader)->StoredBytes(k, &features), '\0');
    const auto row = (*reader)->ReadRecord(k, buffer.data(), &features);
    ASSERT_TRUE(row.ok()) << row.status();
    EXPECT_EQ(row->size(), ShardReader::DataBytes(*index, k, &features));
    std::vector<FramedPart> parts;
    ASSERT_TRUE(ParsePack(*row, &parts).ok());
    for (const FramedPart& part : parts) EXPECT_THAT(std::string(part.record), HasSubstr(".cls"));
    for (const FramedPart& part : parts) EXPECT_THAT(std::string(part.record), Not(HasSubstr(".txt")));
  }
}

TEST(PackedIndex, ABlobGivesTheSameIndex) {
  for (const PackedFile& packed : PackedFiles()) {
    const MemoryFile file(packed.stored);
    const ShardIndex single = IndexOfFile(file, packed);
    const ShardIndex index = single.Packed(SomeRows(single.record_count(), 8));
    const absl::StatusOr<ShardIndex> parsed = ShardIndex::Parse(index.Serialize());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, index);
    EXPECT_EQ(parsed->content_hash, index.content_hash);
    EXPECT_NE(index.content_hash, single.content_hash);
    EXPECT_GT(index.MemoryBytes(), single.MemoryBytes());
  }
}

TEST(PackedIndex, OtherRowsGiveAnotherContentHash) {
  const MemoryFile file(Frame({"a", "bc", "def"}));
  const ShardIndex single = IndexOfFile(file, {});
  const auto hash_of = [&](plan::RecordPacks rows) { return single.Packed(std::move(rows)).content_hash; };
  const uint64_t hash = hash_of({{{0, 0, 1}, {1, 0, 2}}, {1, 2}});
  EXPECT_NE(hash, hash_of({{{0, 0, 1}, {1, 0, 2}}, {2}}));
  EXPECT_NE(hash, hash_of({{{1, 0, 1}, {0, 0, 2}}, {1, 2}}));
  EXPECT_NE(hash, hash_of({{{0, 0, 1}, {1, 1, 2}}, {1, 2}}));
  EXPECT_NE(hash, hash_of({{{0, 0, 1}, {1, 0, 3}}, {1, 2}}));
}

TEST(PackedIndex, AForgedBlobIsRejected) {
  const MemoryFile file(Frame({"a", "bc", "def"}));
  const ShardIndex single = IndexOfFile(file, {});
  // A record that the index does not have.
  plan::RecordPacks rows{{{2, 0, 1}}, {1}};
  std::string blob = single.Packed(rows).Serialize();
  const auto sealed = [](std::string body) {
    body.resize(body.size() - sizeof(uint64_t));
    const uint64_t hash = Hash64(body);
    body.append(reinterpret_cast<const char*>(&hash), sizeof(hash));
    return body;
  };
  ASSERT_TRUE(ShardIndex::Parse(sealed(blob)).ok());
  std::string outside = blob;
  outside[10] = 3;  // after the magic, the version, the rows and the parts of row 0
  EXPECT_THAT(std::string(ShardIndex::Parse(sealed(outside)).status().message()), HasSubstr("the records of its rows"));
  // An index that is packed twice, as deep as a blob allows.
  std::string nested = blob;
  for (int depth = 0; depth < 3; ++depth) {
    std::string body("PSIX\x06\0\0\0\0", 9);
    AppendVarint(nested.size(), &body);
    nested = sealed(body + nested + std::string(8, '\0'));
    EXPECT_THAT(std::string(ShardIndex::Parse(nested).status().message()), HasSubstr("the index of its records"));
  }
  for (size_t size = 0; size < blob.size(); ++size) EXPECT_FALSE(ShardIndex::Parse(blob.substr(0, size)).ok());
}

TEST(PackedIndex, ADamagedRecordFailsItsRowsByItsOwnNumber) {
  std::string stored = Frame({"aaaa", "bbbb", "cccc", "dddd"});
  const MemoryFile file(stored);
  const ShardIndex single = IndexOfFile(file, {});
  const uint32_t kept[] = {1, 2, 3};
  const auto index =
      std::make_shared<const ShardIndex>(single.Selected(kept).Packed({{{0, 0, 4}, {1, 0, 4}, {2, 0, 4}}, {1, 3}}));
  stored[single.RecordOffset(2) + 13] ^= 1;
  const auto reader = ShardReader::Open(std::make_unique<MemoryFile>(stored), index);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::string row;
  EXPECT_TRUE((*reader)->ReadRecord(0, &row).ok());
  const absl::Status damaged = (*reader)->ReadRecord(1, &row);
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
  EXPECT_THAT(std::string(damaged.message()), HasSubstr("record 2 at offset"));
  EXPECT_TRUE(absl::IsOutOfRange((*reader)->ReadRecord(2, &row)));
}

TEST(PackedRow, BytesThatAreNoRowAreRejected) {
  std::vector<FramedPart> parts = {{3, 0, 2, "ab"}, {9, 1, 1, "xyz"}};
  std::string row(PackHeaderBytes(2), '\0');
  StorePackHeader(parts, row.data());
  row += "abxyz";
  std::vector<FramedPart> parsed;
  ASSERT_TRUE(ParsePack(row, &parsed).ok());
  ASSERT_EQ(parsed.size(), 2u);
  EXPECT_EQ(parsed[1].number, 9u);
  EXPECT_EQ(parsed[1].record, "xyz");
  for (size_t size = 0; size < row.size(); ++size) EXPECT_FALSE(ParsePack(row.substr(0, size), &parsed).ok());
  EXPECT_FALSE(ParsePack(row + "z", &parsed).ok());
  std::mt19937_64 random(2);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = row.substr(0, random() % (row.size() + 1));
    for (uint64_t flips = random() % 4; flips > 0 && !bytes.empty(); --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (ParsePack(bytes, &parsed).ok()) {
      for (const FramedPart& part : parsed) EXPECT_LE(part.record.size(), bytes.size());
    }
  }
}

}  // namespace
}  // namespace penstock::sources
