#include "pipeline/sources/lines/line_container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_kind.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/verify.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMark[] = "\xEF\xBB\xBF";

ShardIndex IndexOfLines(const std::string& bytes, const IndexOptions& options = {.restart_spacing = 4096}) {
  auto index = BuildShardIndex(MemoryFile(bytes), options);
  EXPECT_TRUE(index.ok()) << index.status();
  return index.ok() ? *std::move(index) : ShardIndex();
}

std::unique_ptr<ShardReader> OpenLines(const std::string& bytes, const ShardIndex& index) {
  auto reader = ShardReader::Open(std::make_unique<MemoryFile>(bytes), std::make_shared<const ShardIndex>(index));
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

// Returns the records, read from the last to the first.
std::vector<std::string> RecordsOf(const std::string& bytes) {
  const ShardIndex index = IndexOfLines(bytes);
  EXPECT_EQ(index.kind().container, ContainerKind::kJsonl);
  const auto parsed = ShardIndex::Parse(index.Serialize());
  EXPECT_TRUE(parsed.ok() && *parsed == index);
  const auto reader = OpenLines(bytes, index);
  std::vector<std::string> records(index.record_count());
  for (uint64_t k = records.size(); k-- > 0;) EXPECT_TRUE(reader->ReadRecord(k, &records[k]).ok());
  return records;
}

// Lines of many lengths, some longer than the walker's buffer.
std::vector<std::string> Objects(int count) {
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) {
    const size_t size = i % 50 == 7 ? 200000 : static_cast<size_t>(i) * 131 % 5000;
    lines.push_back(absl::StrCat("{\"i\": ", i, ", \"t\": \"", std::string(size, 'a' + i % 26), "\"}"));
  }
  return lines;
}

std::string Joined(const std::vector<std::string>& lines, const std::string& end) {
  std::string bytes;
  for (const std::string& line : lines) bytes += line + end;
  return bytes;
}

TEST(LineContainer, EachRecordIsALineWithoutItsEnd) {
  const std::vector<std::string> lines = Objects(120);
  const std::string bytes = Joined(lines, "\n");
  for (const std::string& variant : {bytes, bytes.substr(0, bytes.size() - 1), kMark + bytes, Joined(lines, "\r\n"),
                                     GzippedBytes(bytes), Joined(lines, "\n \t\r\n\n")}) {
    EXPECT_EQ(RecordsOf(variant), lines);
  }
}

TEST(LineContainer, LinesOfWhiteSpaceAreNoRecords) {
  EXPECT_THAT(RecordsOf("\n \r\n{\"a\": 1}\n\n\t\n  {\"b\": 2} \r\n\n"), ElementsAre("{\"a\": 1}", "  {\"b\": 2} "));
  EXPECT_THAT(RecordsOf("{}"), ElementsAre("{}"));
  EXPECT_THAT(RecordsOf("{\"a\": 1}\r"), ElementsAre("{\"a\": 1}\r"));
  const IndexOptions as_jsonl = {.container = ContainerKind::kJsonl};
  for (const std::string bytes : {"", "\n", kMark, " \r\n\t"}) {
    const ShardIndex index = IndexOfLines(bytes, as_jsonl);
    EXPECT_EQ(index.record_count(), 0u);
    EXPECT_EQ(index.kind().container, ContainerKind::kJsonl);
    EXPECT_EQ(IndexOfLines(GzippedBytes(bytes), as_jsonl).content_hash, index.content_hash);
  }
}

TEST(LineContainer, EachLineOfATextFileIsARecord) {
  const IndexOptions as_text = {.container = ContainerKind::kText, .restart_spacing = 4096};
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"", {}},
      {"\n", {""}},
      {kMark, {}},
      {"a", {"a"}},
      {"a\n", {"a"}},
      {"a\r\n\r\n\nb\r", {"a", "", "", "b\r"}},
      {"\r\r\n\v\f\x85\n", {"\r", "\v\f\x85"}},
      {kMark + std::string("{}\n \t\n"), {"{}", " \t"}},
  };
  for (const auto& [text, expected] : cases) {
    for (const std::string& bytes : {text, GzippedBytes(text)}) {
      const ShardIndex index = IndexOfLines(bytes, as_text);
      EXPECT_EQ(index.kind().container, ContainerKind::kText);
      EXPECT_EQ(ShardIndex::Parse(index.Serialize()).value(), index);
      ASSERT_EQ(index.record_count(), expected.size()) << text;
      const auto reader = OpenLines(bytes, index);
      for (uint64_t k = expected.size(); k-- > 0;) {
        std::string record;
        ASSERT_TRUE(reader->ReadRecord(k, &record).ok());
        EXPECT_EQ(record, expected[k]);
      }
    }
  }
}

TEST(LineContainer, ALineEndCountsAcrossTheBordersOfTheBuffer) {
  constexpr size_t kBuffer = 64 << 10;
  for (size_t length = kBuffer - 4; length <= kBuffer + 2; ++length) {
    const std::string line = "{\"t\": \"" + std::string(length - 9, 'x') + "\"}";
    ASSERT_EQ(line.size(), length);
    EXPECT_THAT(RecordsOf(line + "\r\n{}\n"), ElementsAre(line, "{}"));
    EXPECT_THAT(RecordsOf(line + "\r{}\r\n"), ElementsAre(line + "\r{}"));
  }
}

TEST(LineContainer, TheContentHashCoversTheDataOfTheLines) {
  const std::vector<std::string> lines = Objects(20);
  const uint64_t hash = IndexOfLines(Joined(lines, "\n")).content_hash;
  for (const std::string& same :
       {Joined(lines, "\r\n"), Joined(lines, "\n\n"), kMark + Joined(lines, "\n"), GzippedBytes(Joined(lines, "\n"))}) {
    EXPECT_EQ(IndexOfLines(same).content_hash, hash);
  }
  std::vector<std::string> other = lines;
  other[5][9] ^= 1;
  EXPECT_NE(IndexOfLines(Joined(other, "\n")).content_hash, hash);
  other = lines;
  std::swap(other[3], other[4]);
  EXPECT_NE(IndexOfLines(Joined(other, "\n")).content_hash, hash);
}

TEST(LineContainer, AnIndexTakesTheMemoryOfTheMemberTable) {
  const std::vector<std::string> lines = Objects(1000);
  for (const char* end : {"\n", "\r\n"}) {
    const ShardIndex index = IndexOfLines(Joined(lines, end));
    EXPECT_LE(index.MemoryBytes(), 1000 * 18 + 4096) << "length, member and checksum of each record";
  }
}

TEST(LineContainer, EachChangedByteIsFound) {
  const std::string bytes = Joined(Objects(6), "\r\n");
  const ShardIndex index = IndexOfLines(bytes);
  for (uint64_t k = 0; k < index.record_count(); ++k) {
    for (uint64_t at = 0; at < index.StoredBytes(k); ++at) {
      std::string changed = bytes;
      changed[index.RecordOffset(k) + at] ^= 0x10;
      std::string record;
      const absl::Status read = OpenLines(changed, index)->ReadRecord(k, &record);
      ASSERT_TRUE(absl::IsDataLoss(read)) << read;
      EXPECT_THAT(std::string(read.message()),
                  HasSubstr(absl::StrCat("memory, record ", k, " at offset ", index.RecordOffset(k))));
    }
  }
}

TEST(LineContainer, ACutKeepsTheLinesBeforeIt) {
  const std::vector<std::string> lines = Objects(6);
  const std::string bytes = Joined(lines, "\n");
  for (size_t length = 16; length < bytes.size(); length += 59) {
    // A plain file shows no cut: its last line may lack its end.
    EXPECT_TRUE(VerifyShard(MemoryFile(bytes.substr(0, length)))->ok());
  }
  const std::string gzip = GzippedBytes(bytes);
  for (size_t length = 100; length < gzip.size(); length += 7) {
    const auto report = VerifyShard(MemoryFile(gzip.substr(0, length)));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_LE(report->readable_records, lines.size());
    EXPECT_EQ(report->broken.size(), 1u) << length;
  }
}

TEST(LineContainer, ADamagedEndOfACompressedFileIsFoundAfterAllLines) {
  std::string bytes = GzippedBytes(Joined(Objects(5), "\n"));
  bytes[bytes.size() - 6] ^= 1;
  const auto report = VerifyShard(MemoryFile(bytes));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->readable_records, 5u);
  EXPECT_EQ(report->broken.size(), 1u);
  EXPECT_THAT(report->Summary(), HasSubstr("5 records readable"));
}

TEST(LineContainer, ALineAboveTheLimitIsRejected) {
  const std::string line = "{\"t\": \"" + std::string(300000, 'x') + "\"}";
  const uint64_t bytes = line.size() + 1;
  EXPECT_TRUE(BuildShardIndex(MemoryFile("{}\n" + line + "\n"), {.max_record_bytes = bytes}).ok());
  const auto index = BuildShardIndex(MemoryFile("{}\n" + line + "\n"), {.max_record_bytes = bytes - 1});
  EXPECT_TRUE(absl::IsResourceExhausted(index.status())) << index.status();
  EXPECT_THAT(std::string(index.status().message()), HasSubstr("memory: record 1 at offset 3"));
}

TEST(LineContainer, OnlyTextOfJsonObjectsIsDetected) {
  const auto kind_of = [](const std::string& bytes) { return DetectShardKind(MemoryFile(bytes))->container; };
  for (const std::string bytes :
       {"{}", "{\"a\": 1}\n", "\n\r\n\t {  \"a\": 1}", "\xEF\xBB\xBF{\"a\"", "{\"\xC3\xA9\": 1}\n{\"a\": 1}\n"}) {
    EXPECT_EQ(kind_of(bytes), ContainerKind::kJsonl) << bytes;
    EXPECT_EQ(kind_of(GzippedBytes(bytes)), ContainerKind::kJsonl) << bytes;
  }
  // A document of several lines, other JSON, other text, and the damaged header of a TFRecord of 8,827 bytes.
  for (const std::string& bytes :
       {std::string("{\n  \"a\": 1\n}\n"), std::string("[{\"a\": 1}]"), std::string("\"a\""), std::string("a,b\n1,2\n"),
        std::string("{a: 1}"), std::string(""), std::string("{\"\0\0\0\0\0\0abcd", 12)}) {
    EXPECT_EQ(kind_of(bytes), ContainerKind::kTfRecord) << bytes;
  }
  EXPECT_EQ(kind_of(Frame({"{\"a\": 1}"})), ContainerKind::kTfRecord);
}

}  // namespace
}  // namespace penstock::sources
