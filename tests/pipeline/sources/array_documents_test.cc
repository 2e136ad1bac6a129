// Records of an array that end with a mark: the parts that a plain search finds, in files of each type, plain and
// compressed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/npy_header.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/npy/npy_container.h"
#include "pipeline/sources/record_walker.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/verify.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

using ::testing::HasSubstr;

template <typename T>
std::string BytesOfNumbers(const std::vector<T>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

// Documents of 0 to `most` numbers before their mark; the last one has none.
template <typename T>
std::vector<std::vector<T>> SomeDocuments(size_t count, size_t most, T mark, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<T>> documents(count);
  for (std::vector<T>& document : documents) {
    for (uint64_t i = random() % (most + 1); i > 0; --i) {
      const T number = static_cast<T>(random());
      document.push_back(number == mark ? static_cast<T>(mark + 1) : number);
    }
    document.push_back(mark);
  }
  documents.back().back() = static_cast<T>(mark + 1);
  return documents;
}

template <typename T>
void ExpectDocuments(const std::string& descr, T mark) {
  for (const size_t most : {size_t{0}, size_t{7}, size_t{50000}}) {
    const auto documents = SomeDocuments<T>(most > 1000 ? 9 : 300, most, mark, most);
    std::string numbers;
    size_t count = 0;
    for (const auto& document : documents) {
      numbers += BytesOfNumbers(document);
      count += document.size();
    }
    for (const bool is_npy : {false, true}) {
      for (const bool gzip : {false, true}) {
        SCOPED_TRACE(absl::StrCat(descr, ", at most ", most, is_npy ? ", npy" : "", gzip ? ", gzip" : ""));
        const std::string file =
            (is_npy ? NpyHeaderText(descr, {static_cast<int64_t>(count)}) : std::string()) + numbers;
        const std::string stored = gzip ? GzippedBytes(file) : file;
        const RowWindows windows{.type = is_npy ? "" : descr, .end = static_cast<int64_t>(mark)};
        const Compression compression = gzip ? Compression::kGzip : Compression::kAuto;
        const auto index = BuildShardIndex(MemoryFile(stored),
                                           {.compression = compression, .windows = windows, .restart_spacing = 16384});
        ASSERT_TRUE(index.ok()) << index.status();
        ASSERT_EQ(index->record_count(), documents.size());
        EXPECT_EQ(ShardIndex::Parse(index->Serialize()).value(), *index);
        EXPECT_NE(RowTypeOf(*index), 0u);
        const auto reader =
            ShardReader::Open(std::make_unique<MemoryFile>(stored), std::make_shared<const ShardIndex>(*index));
        ASSERT_TRUE(reader.ok()) << reader.status();
        for (uint64_t k = documents.size(); k-- > 0;) {
          std::string record;
          ASSERT_TRUE((*reader)->ReadRecord(k, &record).ok()) << k;
          ASSERT_EQ(record, NpyHeaderText(descr, {0}) + BytesOfNumbers(documents[k])) << k;
        }
        const auto verified = VerifyShard(MemoryFile(stored), {.compression = compression, .windows = windows});
        ASSERT_TRUE(verified.ok()) << verified.status();
        EXPECT_TRUE(verified->ok());
        EXPECT_EQ(verified->readable_records, documents.size());
      }
    }
  }
}

TEST(ArrayDocuments, EndWithTheMarkOrWithTheFile) {
  ExpectDocuments<uint16_t>("<u2", 50256);
  ExpectDocuments<uint32_t>("<u4", 3000000000u);
  ExpectDocuments<int32_t>("<i4", -1);
}

std::string DocumentsError(const std::string& bytes, const RowWindows& windows) {
  const auto index = BuildShardIndex(MemoryFile(bytes), {.windows = windows, .max_record_bytes = 1 << 20});
  return std::string(index.status().message());
}

TEST(ArrayDocuments, DamageAndMistakesAreErrors) {
  const RowWindows numbers{.type = "<u2", .end = 7};
  EXPECT_EQ(DocumentsError("", numbers), "");
  EXPECT_EQ(DocumentsError(TestBytes(1000, 3), numbers), "");
  EXPECT_THAT(DocumentsError(TestBytes(1001, 3), numbers), HasSubstr("after 1 of 2 bytes"));
  EXPECT_THAT(DocumentsError(std::string((1 << 20) + 2, '\1'), numbers), HasSubstr("it is longer than the limit"));
  const std::string array = NpyHeaderText("<i8", {100}) + TestBytes(800, 4);
  EXPECT_EQ(DocumentsError(array, {.end = 7}), "");
  EXPECT_EQ(DocumentsError(array, {.end = INT64_MIN}), "");
  EXPECT_THAT(DocumentsError(array.substr(0, array.size() - 3), {.end = 7}),
              HasSubstr("the file ends inside its data"));
  EXPECT_THAT(DocumentsError(array + "x", {.end = 7}), HasSubstr("bytes follow the last row"));
  EXPECT_THAT(DocumentsError(NpyHeaderText("<f4", {9}) + TestBytes(36, 4), {.end = 7}),
              HasSubstr("dataset.window.end: 7 cannot be in rows of type <f4; it needs an array of single integers"));
  EXPECT_THAT(DocumentsError(NpyHeaderText("<i4", {9, 2}) + TestBytes(72, 4), {.end = 7}),
              HasSubstr("7 cannot be in rows of type <i4 with several numbers"));
  EXPECT_THAT(DocumentsError(NpyHeaderText("|i1", {9}) + TestBytes(9, 4), {.end = 128}), HasSubstr("128 cannot be in"));
  EXPECT_THAT(DocumentsError(NpyHeaderText("<u4", {9}) + TestBytes(36, 4), {.end = -1}), HasSubstr("-1 cannot be in"));
  EXPECT_EQ(DocumentsError(NpyHeaderText("|i1", {9}) + TestBytes(9, 4), {.end = -128}), "");
}

TEST(ArrayDocuments, ACompressedFileThatIsCutOffIsDamaged) {
  const std::string whole = GzippedBytes(TestBytes(20000, 3));
  const auto index = BuildShardIndex(MemoryFile(whole.substr(0, whole.size() / 2)),
                                     {.compression = Compression::kGzip, .windows = {.type = "<u2", .end = 7}});
  EXPECT_TRUE(absl::IsDataLoss(index.status())) << index.status();
}

TEST(ArrayDocuments, OtherMarksHaveOtherSidecars) {
  const auto id = [](RowWindows windows) { return IndexOptions{.windows = std::move(windows)}.variant(); };
  EXPECT_NE(id({.end = 1}), id({.end = 2}));
  EXPECT_NE(id({.end = 1}), id({.type = "<u2", .end = 1}));
  EXPECT_NE(id({.end = 1}), id({.size = 1, .stride = 1}));
  EXPECT_NE(id({.end = 0}), 0u);
}

}  // namespace
}  // namespace penstock::sources
