// Tokens of Megatron-LM: its sequences as records, in each type of integers, and files that contradict their index.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/npy_header.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/npy/megatron_index.h"
#include "pipeline/sources/shard_index_bytes.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/verify.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/sources/test_shards.h"
#include "tests/support/temp_folder.h"

namespace penstock::sources {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// What Megatron's IndexedDatasetBuilder writes for sequences of these lengths.
std::string IndexText(uint8_t code, size_t number_bytes, const std::vector<int32_t>& lengths) {
  std::string out(kMegatronMagic);
  AppendFixed(uint64_t{1}, &out);
  AppendFixed(code, &out);
  AppendFixed(uint64_t{lengths.size()}, &out);
  AppendFixed(uint64_t{lengths.size() + 1}, &out);
  for (const int32_t length : lengths) AppendFixed(length, &out);
  int64_t offset = 0;
  for (const int32_t length : lengths) {
    AppendFixed(offset, &out);
    offset += int64_t{length} * static_cast<int64_t>(number_bytes);
  }
  for (size_t i = 0; i <= lengths.size(); ++i) AppendFixed(static_cast<int64_t>(i), &out);
  return out;
}

class Megatron : public ::testing::Test {
 protected:
  std::string PathOf(const std::string& name) const { return fs::canonical(folder_.path()).string() + "/" + name; }
  IndexOptions Options() const {
    IndexOptions options;
    options.container = ContainerKind::kNpy;
    options.windows.is_megatron = true;
    options.files = AccessTo(storage::LocalFiles(), {});
    return options;
  }
  absl::StatusOr<ShardIndex> Index(const std::string& name) const {
    const auto file = OpenFile(PathOf(name));
    EXPECT_TRUE(file.ok()) << file.status();
    return BuildShardIndex(**file, Options());
  }
  void Write(const std::string& stem, const std::string& bin, const std::string& idx) {
    WriteBytes(PathOf(stem + ".bin"), bin);
    WriteBytes(PathOf(stem + ".idx"), idx);
  }
  std::string Fault(const std::string& bin, const std::string& idx) {
    Write("wrong", bin, idx);
    return std::string(Index("wrong.bin").status().message());
  }

  support::TempFolder folder_;
};

TEST_F(Megatron, ASequenceIsARecord) {
  std::mt19937_64 random(1);
  for (const auto& [code, descr, bytes] :
       {std::tuple{1, "|u1", 1}, {2, "|i1", 1}, {3, "<i2", 2}, {4, "<i4", 4}, {5, "<i8", 8}, {8, "<u2", 2}}) {
    SCOPED_TRACE(descr);
    std::vector<int32_t> lengths = {0, 1, 70'000};
    for (int i = 0; i < 200; ++i) lengths.push_back(static_cast<int32_t>(random() % 300));
    std::vector<std::string> sequences;
    std::string bin;
    for (const int32_t length : lengths) {
      sequences.push_back(TestBytes(static_cast<size_t>(length) * bytes, random()));
      bin += sequences.back();
    }
    Write("tokens", bin, IndexText(static_cast<uint8_t>(code), bytes, lengths));
    const absl::StatusOr<ShardIndex> index = Index("tokens.bin");
    ASSERT_TRUE(index.ok()) << index.status();
    ASSERT_EQ(index->record_count(), lengths.size());
    EXPECT_EQ(*ShardIndex::Parse(index->Serialize()), *index);
    const auto reader = ShardReader::Open(*OpenFile(PathOf("tokens.bin")), std::make_shared<const ShardIndex>(*index));
    ASSERT_TRUE(reader.ok()) << reader.status();
    std::string record;
    for (uint64_t k = 0; k < sequences.size(); ++k) {
      ASSERT_TRUE((*reader)->ReadRecord(k, &record).ok());
      const absl::StatusOr<NpyHeader> header = ParseNpyHeader(record);
      ASSERT_TRUE(header.ok()) << header.status();
      EXPECT_EQ(header->descr, descr);
      EXPECT_EQ(record.substr(header->data_offset), sequences[k]);
    }
    VerifyOptions verify;
    verify.container = ContainerKind::kNpy;
    verify.windows = Options().windows;
    verify.files = Options().files;
    const auto report = VerifyShard(**OpenFile(PathOf("tokens.bin")), verify);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->readable_records, lengths.size());
  }
}

TEST_F(Megatron, TheContentHashCoversTheBordersOfSequences) {
  Write("a", "12345678", IndexText(8, 2, {1, 3}));
  Write("b", "12345678", IndexText(8, 2, {3, 1}));
  Write("c", "12345678", IndexText(3, 2, {1, 3}));
  EXPECT_NE(Index("a.bin")->content_hash, Index("b.bin")->content_hash);
  EXPECT_NE(Index("a.bin")->content_hash, Index("c.bin")->content_hash);
}

TEST_F(Megatron, FilesThatAreNotWhatTheIndexSaysAreRefused) {
  const std::string index = IndexText(8, 2, {1, 3});
  EXPECT_THAT(Fault("1234567", index), AllOf(HasSubstr("record 1 at offset 2"), HasSubstr("wrong.idx")));
  EXPECT_THAT(Fault("123456789", index), HasSubstr("the 2 sequences of"));
  EXPECT_THAT(Fault("12345678", "MMIDIDX"), HasSubstr("it does not begin with MMIDIDX"));
  EXPECT_THAT(Fault("12345678", IndexText(7, 4, {2})), HasSubstr("the type of code 7, which is no integer"));
  EXPECT_THAT(Fault("12345678", IndexText(8, 4, {1, 1})), HasSubstr("sequence 1 begins at byte 4"));
  EXPECT_THAT(Fault("12345678", IndexText(8, 2, {-1, 5})), HasSubstr("sequence 0 has the length -1"));
  EXPECT_THAT(Fault("12345678", index.substr(0, 57)), HasSubstr("it ends before the end of its 2 sequences"));
  fs::remove(PathOf("wrong.idx"));
  EXPECT_THAT(std::string(Index("wrong.bin").status().message()), HasSubstr("there is no index "));
  WriteBytes(PathOf("tokens"), "12345678");
  EXPECT_THAT(std::string(Index("tokens").status().message()), HasSubstr("its name does not end with .bin"));
  WriteBytes(PathOf("only.idx"), index);
  EXPECT_THAT(std::string(Index("only.idx").status().message()), HasSubstr("the index of Megatron's tokens"));
}

TEST(MegatronIndexText, SurvivesForgedBytes) {
  const std::string text = IndexText(4, 4, std::vector<int32_t>(50, 7));
  ASSERT_TRUE(ParseMegatronIndex(text).ok());
  std::mt19937_64 random(2);
  for (int i = 0; i < 20'000; ++i) {
    std::string forged = text.substr(0, random() % 4 == 0 ? random() % text.size() : text.size());
    for (uint64_t changes = random() % 4; changes > 0 && !forged.empty(); --changes) {
      forged[random() % (random() % 2 == 0 ? std::min<size_t>(forged.size(), 40) : forged.size())] =
          static_cast<char>(random());
    }
    const auto index = ParseMegatronIndex(forged);
    if (index.ok()) {
      EXPECT_LE(index->sequences.size() * 12, forged.size());
    }
  }
}

}  // namespace
}  // namespace penstock::sources
