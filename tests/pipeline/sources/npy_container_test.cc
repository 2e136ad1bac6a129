#include "pipeline/sources/npy/npy_container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/npy_header.h"
#include "pipeline/sources/file_kind.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/record_buffer.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/verify.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kTestRowBytes = 24;

// Returns an array of float32 with rows of 2 x 3.
std::string ArrayOf(uint64_t rows, uint64_t seed = 1) {
  return NpyHeaderText("<f4", {static_cast<int64_t>(rows), 2, 3}) + TestBytes(rows * kTestRowBytes, seed);
}

absl::StatusOr<ShardIndex> IndexOfArray(const std::string& bytes, uint64_t max_record_bytes = kDefaultMaxRecordBytes) {
  return BuildShardIndex(MemoryFile(bytes), {.max_record_bytes = max_record_bytes, .restart_spacing = 4096});
}

std::string ArrayError(const std::string& bytes) {
  const absl::Status status = IndexOfArray(bytes).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  return std::string(status.message());
}

std::unique_ptr<ShardReader> OpenArray(const std::string& bytes, const ShardIndex& index) {
  auto reader = ShardReader::Open(std::make_unique<MemoryFile>(bytes), std::make_shared<const ShardIndex>(index));
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

TEST(NpyContainer, EachRecordIsTheFileOfOneRow) {
  const std::string bytes = ArrayOf(50);
  const std::string head = NpyHeaderText("<f4", {2, 3});
  for (const std::string& stored : {bytes, GzippedBytes(bytes)}) {
    const auto index = IndexOfArray(stored);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ(index->kind().container, ContainerKind::kNpy);
    EXPECT_EQ(ShardIndex::Parse(index->Serialize()).value(), *index);
    ASSERT_EQ(index->record_count(), 50u);
    const auto reader = OpenArray(stored, *index);
    const MemoryFile file(stored);
    const auto walker = RecordWalker::Start(&file, {}).value();
    RecordBuffer with_head;
    for (uint64_t k = 0; k < 50; ++k) {
      const std::string row = bytes.substr(bytes.size() - (50 - k) * kTestRowBytes, kTestRowBytes);
      std::string walked, read;
      EXPECT_EQ(walker->Next(&walked).value(), RecordWalker::Step::kRecord);
      EXPECT_TRUE(reader->ReadRecord(k, &read).ok());
      EXPECT_EQ(read, head + row);
      EXPECT_EQ(walked, read);
      std::string at = row;
      EXPECT_EQ(reader->RecordOf(k, at.data(), nullptr, &with_head).value(), read);
    }
    EXPECT_EQ(walker->Next().value(), RecordWalker::Step::kEnd);
  }
}

TEST(NpyContainer, AnArrayMayHaveNoRows) {
  const auto index = IndexOfArray(ArrayOf(0));
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->record_count(), 0u);
  EXPECT_EQ(index->kind().container, ContainerKind::kNpy);
  EXPECT_EQ(ShardIndex::Parse(index->Serialize()).value(), *index);
}

TEST(NpyContainer, TheContentHashCoversTypeShapeAndRows) {
  const std::string data = TestBytes(3 * kTestRowBytes, 5);
  const auto hash = [&](const std::string& descr, const std::vector<int64_t>& shape, const std::string& rows) {
    return IndexOfArray(NpyHeaderText(descr, shape) + rows)->content_hash;
  };
  const uint64_t plain = hash("<f4", {3, 2, 3}, data);
  EXPECT_NE(hash("<f4", {3, 6}, data), plain);
  EXPECT_NE(hash("<i4", {3, 2, 3}, data), plain);
  EXPECT_NE(hash("<f4", {2, 2, 3}, data.substr(0, 2 * kTestRowBytes)), plain);
  EXPECT_NE(hash("<f4", {3, 2, 3}, TestBytes(data.size(), 6)), plain);
  const std::string file = NpyHeaderText("<f4", {3, 2, 3}) + data;
  EXPECT_EQ(IndexOfArray(GzippedBytes(file))->content_hash, plain);
  const std::string dict = "{'shape': (3, 2, 3), 'fortran_order': False, 'descr': '<f4'}";
  std::string second("\x93NUMPY\x02\x00", 8);
  for (int shift = 0; shift < 32; shift += 8) second += static_cast<char>(dict.size() >> shift);
  EXPECT_EQ(IndexOfArray(second + dict + data)->content_hash, plain) << "another version of the header";
}

TEST(NpyContainer, ArraysThatCannotBeReadNameTheRemedy) {
  const std::string column = "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }";
  std::string fortran("\x93NUMPY\x01\x00", 8);
  fortran += static_cast<char>(column.size());
  EXPECT_EQ(
      ArrayError(fortran + '\0' + column + std::string(24, 'x')),
      "memory: the rows of this array cannot be read: it is in Fortran order, so its rows are not contiguous; save "
      "numpy.ascontiguousarray(array)");
  EXPECT_THAT(ArrayError(NpyHeaderText("<f4", {}) + "abcd"), HasSubstr("it is one number, not an array with rows"));
  EXPECT_THAT(ArrayError(NpyHeaderText("|O", {3}) + "abcd"), HasSubstr("its elements are Python objects"));
  EXPECT_THAT(ArrayError(NpyHeaderText(">i4", {1}) + "abcd"), HasSubstr("it is big-endian"));
  EXPECT_THAT(ArrayError(NpyHeaderText("<f4", {3, 0})), HasSubstr("its rows are empty"));
  EXPECT_THAT(ArrayError(std::string("\x93NUMPY\x04\x00\x76\x00\x00\x00", 12) + std::string(200, ' ')),
              HasSubstr("its version is none of 1, 2 and 3"));
  EXPECT_THAT(ArrayError(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\x7F", 12) + std::string(200, ' ')),
              HasSubstr("its header is longer than 64 KiB"));
  EXPECT_THAT(ArrayError(std::string("\x93NUMPY\x01\x00\x00\x00", 10) + std::string(200, ' ')),
              HasSubstr("its header is longer than 64 KiB, or malformed"));
  const absl::Status other = IndexOfArray(NpyHeaderText("|O", {3}) + "abcd").status();
  EXPECT_TRUE(IsOtherKindOfFile(other)) << other;
}

TEST(NpyContainer, CutAndLongFilesAreDamage) {
  const std::string bytes = ArrayOf(3);
  const size_t header = bytes.size() - 3 * kTestRowBytes;
  for (size_t cut = 6; cut < bytes.size(); ++cut) {
    const absl::Status status = IndexOfArray(bytes.substr(0, cut)).status();
    ASSERT_FALSE(status.ok()) << cut;
    if (cut < header) continue;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("record ", (cut - header) / kTestRowBytes, " at offset ")));
  }
  EXPECT_THAT(ArrayError(bytes + ArrayOf(1)),
              HasSubstr("bytes follow the last row that the header of the array declares; they are not read (it has 3 "
                        "rows; save each array in a file of its own)"));
  const MemoryFile file(bytes + "x");
  const auto report = VerifyShard(file);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->readable_records, 3u);
  EXPECT_FALSE(report->ok());
}

TEST(NpyContainer, ALongRowIsOverTheLimit) {
  EXPECT_TRUE(IndexOfArray(ArrayOf(3), kTestRowBytes).ok());
  const absl::Status status = IndexOfArray(ArrayOf(3), kTestRowBytes - 1).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("record 0 at offset 128 (24 bytes)"));
  EXPECT_FALSE(IndexOfArray(NpyHeaderText("<f4", {1, 1 << 30, 64})).ok()) << "no memory before the check";
}

TEST(NpyContainer, EachChangedByteOfARowIsFound) {
  const std::string bytes = ArrayOf(4);
  const ShardIndex index = IndexOfArray(bytes).value();
  for (uint64_t k = 0; k < index.record_count(); ++k) {
    for (uint64_t at = 0; at < index.StoredBytes(k); ++at) {
      std::string changed = bytes, record;
      changed[index.RecordOffset(k) + at] ^= 0x10;
      ASSERT_TRUE(absl::IsDataLoss(OpenArray(changed, index)->ReadRecord(k, &record)));
    }
  }
}

TEST(NpyContainer, ASelectionKeepsTheHead) {
  const std::string bytes = ArrayOf(50);
  const ShardIndex index = IndexOfArray(bytes).value();
  const ShardIndex some = index.Selected(std::vector<uint32_t>{3, 30});
  EXPECT_EQ(ShardIndex::Parse(some.Serialize()).value(), some);
  std::string whole, selected;
  ASSERT_TRUE(OpenArray(bytes, index)->ReadRecord(30, &whole).ok());
  ASSERT_TRUE(OpenArray(bytes, some)->ReadRecord(1, &selected).ok());
  EXPECT_EQ(whole, selected);
}

}  // namespace
}  // namespace penstock::sources
