// Records of several rows of an array: those that slices of the array have, whatever the stride, the compression and
// the selection.
#include "pipeline/sources/npy/row_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/npy_header.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/shard_records.h"
#include "pipeline/sources/verify.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kWindowRows = 100, kWindowRowBytes = 12;

// An array of float32 with 3 numbers in each of 100 rows, or the same bytes as numbers without a header.
struct WindowsFile {
  std::string header = {};
  std::string rows = TestBytes(kWindowRows * kWindowRowBytes, 5);
  std::string descr = "<f4";
  std::vector<int64_t> row_shape = {3};
  uint64_t row_bytes = kWindowRowBytes;
  RowWindows windows = {};

  std::string bytes() const { return header + rows; }
  // Returns the data of record k: the file that NumPy writes for a slice.
  std::string Expected(uint64_t k) const {
    std::vector<int64_t> shape = row_shape;
    shape.insert(shape.begin(), static_cast<int64_t>(windows.size));
    return NpyHeaderText(descr, shape) + rows.substr(k * windows.stride * row_bytes, windows.size * row_bytes);
  }
  uint64_t records() const {
    const uint64_t all = rows.size() / row_bytes;
    return all < windows.size ? 0 : (all - windows.size) / windows.stride + 1;
  }
};

std::string ArrayFile() { return NpyHeaderText("<f4", {kWindowRows, 3}) + WindowsFile().rows; }

std::vector<WindowsFile> WindowsFiles() {
  std::vector<WindowsFile> files;
  for (const auto& [size, stride] : std::vector<std::pair<uint64_t, uint64_t>>{
           {1, 1}, {10, 10}, {10, 1}, {10, 9}, {7, 13}, {100, 1}, {100, 500}, {99, 1}, {101, 1}, {33, 33}, {1, 40}}) {
    WindowsFile array{.header = NpyHeaderText("<f4", {kWindowRows, 3})};
    array.windows = {.size = size, .stride = stride};
    files.push_back(array);
    WindowsFile numbers{.descr = "<u2", .row_shape = {}, .row_bytes = 2};
    numbers.windows = {.size = size, .stride = stride, .type = "<u2"};
    files.push_back(numbers);
  }
  return files;
}

absl::StatusOr<ShardIndex> IndexOfWindows(const std::string& stored, const RowWindows& windows,
                                          Compression compression = Compression::kAuto) {
  return BuildShardIndex(MemoryFile(stored), {.compression = compression, .windows = windows, .restart_spacing = 256});
}

std::unique_ptr<ShardReader> OpenWindows(const std::string& stored, const ShardIndex& index) {
  auto reader = ShardReader::Open(std::make_unique<MemoryFile>(stored), std::make_shared<const ShardIndex>(index));
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

TEST(RowWindows, EachRecordIsASliceOfTheArray) {
  for (const WindowsFile& file : WindowsFiles()) {
    for (const bool gzip : {false, true}) {
      SCOPED_TRACE(absl::StrCat("size ", file.windows.size, ", stride ", file.windows.stride, " ", file.windows.type,
                                gzip ? " gzip" : ""));
      const std::string stored = gzip ? GzippedBytes(file.bytes()) : file.bytes();
      const auto index = IndexOfWindows(stored, file.windows, gzip ? Compression::kGzip : Compression::kAuto);
      ASSERT_TRUE(index.ok()) << index.status();
      ASSERT_EQ(index->record_count(), file.records());
      EXPECT_EQ(ShardIndex::Parse(index->Serialize()).value(), *index);
      const auto reader = OpenWindows(stored, *index);
      for (uint64_t k = index->record_count(); k-- > 0;) {
        std::string record;
        ASSERT_TRUE(reader->ReadRecord(k, &record).ok()) << k;
        ASSERT_EQ(record, file.Expected(k)) << k;
      }
      uint64_t next = 0;
      ASSERT_TRUE(ForEachRecord(*reader, nullptr, [&](uint64_t k, const absl::StatusOr<std::string_view>& record) {
                    EXPECT_EQ(k, next++);
                    EXPECT_EQ(*record, file.Expected(k));
                    return absl::OkStatus();
                  }).ok());
      EXPECT_EQ(next, index->record_count());
      // The walk gives the same records.
      const MemoryFile memory(stored);
      auto walker = *RecordWalker::Start(
          &memory, {.compression = gzip ? Compression::kGzip : Compression::kAuto, .windows = file.windows});
      std::string data;
      for (uint64_t k = 0; k < file.records(); ++k) {
        ASSERT_EQ(walker->Next(&data).value(), RecordWalker::Step::kRecord);
        ASSERT_EQ(data, file.Expected(k));
      }
      EXPECT_EQ(walker->Next(&data).value(), RecordWalker::Step::kEnd);
      EXPECT_EQ(walker->record(), file.records());
      const auto verified =
          VerifyShard(memory, {.compression = gzip ? Compression::kGzip : Compression::kAuto, .windows = file.windows});
      ASSERT_TRUE(verified.ok()) << verified.status();
      EXPECT_TRUE(verified->ok());
      EXPECT_EQ(verified->readable_records, file.records());
    }
  }
}

TEST(RowWindows, ASelectionHasItsRecords) {
  for (const WindowsFile& file : WindowsFiles()) {
    const auto index = *IndexOfWindows(file.bytes(), file.windows);
    std::vector<uint32_t> numbers;
    for (uint32_t k = 0; k < index.record_count(); k += 3) numbers.push_back(k);
    IndexGroups groups{{"a", "b"}, {}};
    for (size_t i = 0; i < numbers.size(); ++i) groups.of_records.push_back(i % 2 == 0 ? 1 : 0);
    if (numbers.size() < 2) groups = {};
    for (const IndexGroups& of : {IndexGroups(), groups}) {
      if (numbers.size() == index.record_count() && of.names.empty()) continue;
      const ShardIndex selected = index.Selected(numbers, 0, of);
      EXPECT_EQ(ShardIndex::Parse(selected.Serialize()).value(), selected);
      EXPECT_NE(selected.content_hash, index.content_hash);
      const auto reader = OpenWindows(file.bytes(), selected);
      for (uint64_t k = 0; k < selected.record_count(); ++k) {
        std::string record;
        ASSERT_TRUE(reader->ReadRecord(k, &record).ok()) << k;
        ASSERT_EQ(record, file.Expected(selected.NumberInShard(k)));
      }
    }
  }
}

// Ranges of overlapping records would have bytes twice.
TEST(RowWindows, OverlappingRecordsAreReadOneByOne) {
  const auto index_of = [](uint64_t size, uint64_t stride) {
    return *IndexOfWindows(ArrayFile(), {.size = size, .stride = stride});
  };
  EXPECT_FALSE(index_of(10, 9).is_in_file_order());
  EXPECT_TRUE(index_of(10, 10).is_in_file_order());
  EXPECT_TRUE(index_of(10, 11).is_in_file_order());
}

TEST(RowWindows, OtherWindowsHaveOtherContentAndOtherSidecars) {
  const std::string file = ArrayFile();
  std::vector<uint64_t> hashes, ids;
  for (const RowWindows& windows : std::vector<RowWindows>{{}, {1, 1}, {2, 1}, {2, 2}, {3, 2}}) {
    hashes.push_back(IndexOfWindows(file, windows)->content_hash);
    ids.push_back(IndexOptions{.windows = windows}.variant());
  }
  ids.push_back(IndexOptions{.windows = {1, 1, "<u2"}}.variant());
  ids.push_back(IndexOptions{.windows = {1, 1, "<u4"}}.variant());
  ids.push_back(IndexOptions{.compression = Compression::kGzip, .windows = {1, 1, "<u4"}}.variant());
  EXPECT_EQ(ids[0], 0u);
  for (std::vector<uint64_t>* const values : {&hashes, &ids}) {
    std::sort(values->begin(), values->end());
    EXPECT_EQ(std::adjacent_find(values->begin(), values->end()), values->end());
  }
}

std::string WindowsError(const std::string& bytes, const RowWindows& windows) {
  return std::string(IndexOfWindows(bytes, windows).status().message());
}

TEST(RowWindows, DamageIsFoundAlsoInRowsThatFillNoRecord) {
  const std::string whole = ArrayFile();
  for (const RowWindows& windows : std::vector<RowWindows>{{10, 10}, {30, 1}, {30, 30}, {7, 50}, {200, 1}}) {
    EXPECT_EQ(WindowsError(whole, windows), "");
    EXPECT_THAT(WindowsError(whole.substr(0, whole.size() - 1), windows), HasSubstr("the file ends inside its data"));
    EXPECT_THAT(WindowsError(whole + "x", windows), HasSubstr("bytes follow the last row"));
  }
  const RowWindows numbers = {.size = 10, .stride = 10, .type = "<u4"};
  EXPECT_EQ(WindowsError(TestBytes(444, 9), numbers), "");
  EXPECT_THAT(WindowsError(TestBytes(444, 9) + "x", numbers),
              HasSubstr("the file ends inside its data; this record is lost "
                        "(after 1 of 4 bytes)"));
  EXPECT_EQ(WindowsError("", numbers), "");
  for (const RowWindows& windows :
       std::vector<RowWindows>{{5, 10, "<u2"}, {5, 7, "<u2"}, {3, 1, "<u2"}, {9, 1, "<u2"}}) {
    for (const bool gzip : {false, true}) {
      const auto error = [&](const std::string& bytes) {
        return gzip ? std::string(IndexOfWindows(GzippedBytes(bytes), windows, Compression::kGzip).status().message())
                    : WindowsError(bytes, windows);
      };
      EXPECT_EQ(error(TestBytes(12, 9)), "");
      EXPECT_THAT(error(TestBytes(12, 9) + "x"), HasSubstr("after 1 of 2 bytes"));
    }
  }
}

TEST(RowWindows, AFileShorterThanAWindowHasNoRecordWhateverTheLimit) {
  const auto index =
      BuildShardIndex(MemoryFile(TestBytes(4, 9)), {.windows = {1000, 1000, "<u4"}, .max_record_bytes = 100});
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->record_count(), 0u);
}

TEST(RowWindows, ACrcIsThatOfTheWholeRecord) {
  std::string bytes = ArrayFile();
  const auto index = *IndexOfWindows(bytes, {.size = 10, .stride = 5});
  bytes[bytes.size() - 50 * kWindowRowBytes] ^= 1;  // row 50 is in the records 9 and 10
  const auto reader = OpenWindows(bytes, index);
  for (uint64_t k = 0; k < index.record_count(); ++k) {
    std::string record;
    EXPECT_EQ(reader->ReadRecord(k, &record).ok(), k != 9 && k != 10) << k;
  }
}

TEST(RowWindows, MistakesHaveARemedy) {
  EXPECT_THAT(WindowsError(TestBytes(100, 9), {.size = 0, .stride = 0, .type = "<u2"}),
              HasSubstr("numbers without a header need dataset.window, such as window { size: 1025 stride: 1024 }"));
  const std::string record_array = NpyHeaderText("[('a', '<f4'), ('b', '<i4')]", {4}) + TestBytes(32, 9);
  EXPECT_THAT(WindowsError(record_array, {.size = 2, .stride = 1}),
              HasSubstr("dataset.window is for arrays without fields"));
  EXPECT_THAT(WindowsError(ArrayFile(), {.size = 1, .stride = 1u << 30}),
              HasSubstr("a row has 12 bytes, so size and stride are below 178956970 rows (2 GiB); make them smaller"));
  const auto large = BuildShardIndex(MemoryFile(ArrayFile()), {.windows = {50, 50}, .max_record_bytes = 100});
  EXPECT_THAT(std::string(large.status().message()), HasSubstr("it is longer than the limit"));
  EXPECT_THAT(WindowsError("{\"a\": 1}\n{\"a\": 2}\n", {.size = 2, .stride = 1}),
              HasSubstr("dataset.window is for arrays, and this is a JSONL file; leave it out"));
  EXPECT_THAT(WindowsError(TestBytes(100, 9), {.size = 2, .stride = 1}),
              HasSubstr("this is no .npy file; for numbers without a header name their type: source: UINT16, UINT32 or "
                        "INT32"));
}

// Any bytes are numbers, so files of other kinds are found by their first bytes.
TEST(RowWindows, FilesOfOtherKindsAreNoNumbers) {
  const RowWindows numbers = {.size = 2, .stride = 1, .type = "<u2"};
  for (const auto& [bytes, kind] : std::vector<std::pair<std::string, std::string>>{
           {ArrayFile(), "a .npy file"},
           {"{\"a\": 1}\n", "a JSONL file"},
           {std::string("MMIDIDX\0\0\1\0\0\0\0\0\0\0\10", 18), "the index of Megatron's tokens"}}) {
    EXPECT_THAT(WindowsError(bytes, numbers),
                HasSubstr(absl::StrCat("this is ", kind, ", but dataset.source names numbers without a header")));
  }
  EXPECT_THAT(WindowsError(GzippedBytes(TestBytes(100, 9)), numbers),
              HasSubstr("this begins as a GZIP file; name compression: GZIP, or NONE if these bytes are numbers"));
  EXPECT_TRUE(IndexOfWindows(GzippedBytes(TestBytes(100, 9)), numbers, Compression::kGzip).ok());
  EXPECT_TRUE(IndexOfWindows(std::string("\x1f\x8b\x08\x00", 4), numbers, Compression::kNone).ok());
}

}  // namespace
}  // namespace penstock::sources
