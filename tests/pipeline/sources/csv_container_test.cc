#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/lines/text_bytes.h"
#include "pipeline/sources/record_buffer.h"
#include "pipeline/sources/record_limits.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_reader.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<ShardIndex> IndexOfRows(const std::string& bytes, ContainerKind kind = ContainerKind::kCsv) {
  return BuildShardIndex(MemoryFile(bytes), {.container = kind, .restart_spacing = 4096});
}

std::unique_ptr<ShardReader> OpenRows(const std::string& bytes, const ShardIndex& index) {
  auto reader = ShardReader::Open(std::make_unique<MemoryFile>(bytes), std::make_shared<const ShardIndex>(index));
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

// Returns the records without the names before them. Each way to read one gives the same bytes.
std::vector<std::string> RowsOf(const std::string& bytes, const std::string& names,
                                ContainerKind kind = ContainerKind::kCsv) {
  const ShardIndex index = IndexOfRows(bytes, kind).value();
  EXPECT_EQ(index.kind().container, kind);
  EXPECT_EQ(ShardIndex::Parse(index.Serialize()).value(), index);
  const auto reader = OpenRows(bytes, index);
  const MemoryFile file(bytes);
  const auto walker = RecordWalker::Start(&file, {.container = kind}).value();
  std::vector<std::string> rows;
  RecordBuffer with_head;
  for (uint64_t k = 0; k < index.record_count(); ++k) {
    std::string walked, read;
    EXPECT_EQ(walker->Next(&walked).value(), RecordWalker::Step::kRecord);
    EXPECT_EQ(walker->record(), k);
    EXPECT_TRUE(reader->ReadRecord(k, &read).ok());
    EXPECT_EQ(walked, read);
    if (index.kind().compression == Compression::kNone) {
      std::string stored = bytes.substr(index.RecordOffset(k), index.StoredBytes(k));
      EXPECT_EQ(reader->RecordOf(k, stored.data(), nullptr, &with_head).value(), read);
    }
    EXPECT_TRUE(read.starts_with(names + "\n")) << read;
    rows.push_back(read.substr(names.size() + 1));
  }
  EXPECT_EQ(walker->Next().value(), RecordWalker::Step::kEnd);
  return rows;
}

std::string Table(int rows, const std::string& end = "\n") {
  std::string bytes = "id,text" + end;
  for (int i = 0; i < rows; ++i) absl::StrAppend(&bytes, i, ",\"", std::string(i * 37 % 900, 'x'), end, "\"", end);
  return bytes;
}

TEST(CsvContainer, ARowMayHaveEndsOfLinesInsideOfQuotes) {
  const std::string bytes = "a,b\n1,\"x\ny\"\r\n\n2,\"\"\"\r\n\"\"\"\n\r\n3,5\" wide\n";
  for (const std::string& variant :
       {bytes, std::string(kByteOrderMark) + bytes, "\n\r\n" + bytes, GzippedBytes(bytes), bytes + "\n\n"}) {
    EXPECT_THAT(RowsOf(variant, "a,b"), ElementsAre("1,\"x\ny\"", "2,\"\"\"\r\n\"\"\"", "3,5\" wide"));
  }
  EXPECT_THAT(RowsOf("\"a\nb\",c\r\n1,2", "\"a\nb\",c"), ElementsAre("1,2"));
  EXPECT_THAT(RowsOf("a\n1\r", "a"), ElementsAre("1")) << "the last end may be cut";
  EXPECT_THAT(RowsOf("a\n \n,\n", "a"), ElementsAre(" ", ",")) << "only lines without a byte are no rows";
  EXPECT_THAT(RowsOf("a\tb\n\"1\n\"\t2\n\"3\"\t4,\"\n", "a\tb", ContainerKind::kTsv),
              ElementsAre("\"1\n\"\t2", "\"3\"\t4,\""));
}

TEST(CsvContainer, AFileWithoutRowsHasNoRecords) {
  for (const std::string bytes : {"", "\n", "\xEF\xBB\xBF", "a,b", "a,b\r\n", "\n\na,b\n\n"}) {
    for (const std::string& stored : {bytes, GzippedBytes(bytes)}) {
      const auto index = IndexOfRows(stored);
      ASSERT_TRUE(index.ok()) << index.status();
      EXPECT_EQ(index->record_count(), 0u);
      EXPECT_EQ(ShardIndex::Parse(index->Serialize()).value(), *index);
    }
  }
}

TEST(CsvContainer, RowsLongerThanTheBufferKeepTheirQuotes) {
  for (size_t length = (64 << 10) - 12; length < (64 << 10) + 3; ++length) {
    const std::string text(length, 'x');
    for (const char* end : {"\n", "\r\n"}) {
      const std::string row = absl::StrCat("1,\"", text, "\"\"", end, "\"");
      EXPECT_THAT(RowsOf(absl::StrCat("a,b", end, row, end, row), "a,b"), ElementsAre(row, row));
    }
  }
}

TEST(CsvContainer, TheContentHashCoversNamesAndRows) {
  const auto hash = [](const std::string& bytes) { return IndexOfRows(bytes)->content_hash; };
  const uint64_t plain = hash("a,b\n1,2\n3,4\n");
  for (const std::string& same : {std::string("a,b\r\n1,2\r\n\r\n3,4"), GzippedBytes("a,b\n1,2\n3,4\n")}) {
    EXPECT_EQ(hash(same), plain);
  }
  for (const char* other : {"a,c\n1,2\n3,4\n", "a,b\n1,2\n3,5\n", "a,b\n3,4\n1,2\n", "a,b\n1,2\n"}) {
    EXPECT_NE(hash(other), plain) << other;
  }
  EXPECT_NE(IndexOfRows("a\n1", ContainerKind::kTsv)->content_hash, hash("a\n1"));
}

TEST(CsvContainer, ASelectionKeepsTheNames) {
  const std::string bytes = Table(50);
  const ShardIndex index = IndexOfRows(bytes).value();
  const ShardIndex some = index.Selected(std::vector<uint32_t>{3, 30});
  EXPECT_EQ(ShardIndex::Parse(some.Serialize()).value(), some);
  std::string whole, selected;
  ASSERT_TRUE(OpenRows(bytes, index)->ReadRecord(30, &whole).ok());
  ASSERT_TRUE(OpenRows(bytes, some)->ReadRecord(1, &selected).ok());
  EXPECT_EQ(whole, selected);
}

TEST(CsvContainer, QuotesThatDoNotMatchAreDamageOfTheFile) {
  const auto error = [](const std::string& bytes) {
    const absl::Status status = IndexOfRows(bytes).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << "rows are lost in silence: " << status;
    return std::string(status.message());
  };
  EXPECT_THAT(
      error("a,b\n1,2\n3,\"4\n5,6\n7,8\n"),
      HasSubstr("record 1 at offset 8 (13 bytes): its quotes do not match; it and all after it are lost (a field "
                "begins with a quote that has no end); 1 row before it is readable"));
  EXPECT_THAT(error("a,\"b\n1,2\n"), HasSubstr("a quote that has no end"));
  EXPECT_THAT(
      error("a,b\n1,\"open\n2,b\n3,\"x\"\n4,d\n"),
      HasSubstr("record 0 at offset 4 (18 bytes): its quotes do not match; it and all after it are lost (a field in "
                "quotes has an end of a line, and bytes follow its last quote)"));
  EXPECT_THAT(error("a,b\n1,\"" + std::string(1 << 20, 'x')), HasSubstr("a quote that has no end"));
  EXPECT_THAT(error("a,b\r1,2\r3,4\r"), HasSubstr("carriage return outside of quotes; end rows with LF"));
  EXPECT_THAT(RowsOf("a,b\n1,\"x\"y\n2,\"\"\"\n\"\"\"\r\n", "a,b"), ElementsAre("1,\"x\"y", "2,\"\"\"\n\"\"\""))
      << "a row of one line is bad alone";
  EXPECT_THAT(RowsOf("\"a\rb\",c\r\n1,2", "\"a\rb\",c"), ElementsAre("1,2"));
}

TEST(CsvContainer, NamesAndRowsHaveLimits) {
  const std::string names(kMaxHeadBytes - 2, 'a');
  EXPECT_THAT(RowsOf(names + "\n1\n", names), ElementsAre("1"));
  const absl::Status wide = IndexOfRows(names + "bcd\n1\n").status();
  EXPECT_THAT(std::string(wide.message()), HasSubstr("the limit for the row of names is 65535"));
  const absl::Status large = BuildShardIndex(MemoryFile("a\n1\n" + std::string(2000, 'x')),
                                             {.container = ContainerKind::kCsv, .max_record_bytes = 1000})
                                 .status();
  EXPECT_THAT(std::string(large.message()), HasSubstr("record 1 at offset 4"));
  const absl::Status open = BuildShardIndex(MemoryFile("a\n1\n\"" + std::string(200000, 'x') + "\"\n"),
                                            {.container = ContainerKind::kCsv, .max_record_bytes = 1000})
                                .status();
  EXPECT_THAT(std::string(open.message()), HasSubstr("(the limit is 1000; a quote before it has no end there)"));
}

TEST(CsvContainer, EachChangedByteOfARowIsFound) {
  const std::string bytes = Table(8, "\r\n");
  const ShardIndex index = IndexOfRows(bytes).value();
  for (uint64_t k = 0; k < index.record_count(); ++k) {
    for (uint64_t at = 0; at < index.StoredBytes(k); ++at) {
      std::string changed = bytes, record;
      changed[index.RecordOffset(k) + at] ^= 0x10;
      ASSERT_TRUE(absl::IsDataLoss(OpenRows(changed, index)->ReadRecord(k, &record)));
    }
  }
}

TEST(CsvContainer, AForgedIndexIsRejected) {
  const std::string blob = IndexOfRows("names\n1\n").value().Serialize();
  const size_t at = blob.find("names\n");
  ASSERT_NE(at, std::string::npos);
  const auto error = [](std::string forged) {
    forged.resize(forged.size() - 8);
    const uint64_t hash = Hash64(forged);
    forged.append(reinterpret_cast<const char*>(&hash), sizeof(hash));
    return std::string(ShardIndex::Parse(forged).status().message());
  };
  std::string forged = blob;
  forged[at + 5] = 'x';
  EXPECT_THAT(error(forged), HasSubstr("damaged shard index: its head")) << "no end of the row";
  forged = blob;
  forged[at - 2] = 9;  // the number of the section
  EXPECT_THAT(error(forged), HasSubstr("its head")) << "records without names";
  forged = blob;
  forged[9] = static_cast<char>(ContainerKind::kText);
  EXPECT_THAT(error(forged), HasSubstr("its head")) << "a container without names";
}

}  // namespace
}  // namespace penstock::sources
