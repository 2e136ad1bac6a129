// Indexes of selected records: they read the same bytes as the index of all records, and survive hostile blobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/shard_reader.h"
#include "tests/pipeline/sources/tar/tar_maker.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kRecords = 230;

enum class Kind { kPlain, kGzip, kTar };

void WriteKind(Kind kind, const std::string& path) {
  if (kind == Kind::kTar) {
    std::string archive;
    for (uint32_t i = 0; i < kRecords; ++i) {
      AppendTarMember(absl::StrCat("s", i, ".txt"), TestBytes(i % 70, i), &archive);
      AppendTarMember(absl::StrCat("s", i, ".cls"), absl::StrCat(i), &archive);
    }
    WriteBytes(path, archive + std::string(1024, '\0'));
    return;
  }
  std::vector<std::string> records;
  for (uint32_t i = 0; i < kRecords; ++i) records.push_back(TestBytes(40 + 13 * (i % 90), i));
  WriteShard(path, records, kind == Kind::kGzip ? Compression::kGzip : Compression::kNone);
}

std::vector<uint32_t> RandomNumbers(std::mt19937* random) {
  const uint32_t of = 1 + (*random)() % 9;
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < kRecords; ++i) {
    if ((*random)() % 10 < of) numbers.push_back(i);
  }
  return numbers;
}

std::unique_ptr<ShardReader> Reader(const std::string& path, ShardIndex index) {
  auto reader = ShardReader::Open(*storage::LocalFiles()->OpenAndWait(path),
                                  std::make_shared<const ShardIndex>(std::move(index)));
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

class SelectedIndex : public ::testing::TestWithParam<Kind> {
 protected:
  SelectedIndex() : path_(folder_.File("shard")) {
    WriteKind(GetParam(), path_);
    whole_ = *BuildShardIndex(**OpenFile(path_), {.restart_spacing = 4 << 10});
    EXPECT_EQ(whole_.record_count(), kRecords);
  }

  support::TempFolder folder_;
  const std::string path_;
  ShardIndex whole_;
};

TEST_P(SelectedIndex, ReadsEachSelectedRecordAndKnowsItsNumber) {
  std::mt19937 random(1);
  const auto all = Reader(path_, whole_);
  for (int trial = 0; trial < 20; ++trial) {
    const std::vector<uint32_t> numbers = RandomNumbers(&random);
    const ShardIndex selected = whole_.Selected(numbers);
    const auto parsed = ShardIndex::Parse(selected.Serialize());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_EQ(*parsed, selected);
    ASSERT_EQ(selected.record_count(), numbers.size());
    EXPECT_EQ(selected.shard_records(), kRecords);
    const auto reader = Reader(path_, *parsed);
    std::string expected, got;
    uint64_t bytes = 0;
    for (uint64_t k = 0; k < numbers.size(); ++k) {
      ASSERT_EQ(selected.NumberInShard(k), numbers[k]);
      ASSERT_EQ(selected.RecordOffset(k), whole_.RecordOffset(numbers[k]));
      ASSERT_TRUE(all->ReadRecord(numbers[k], &expected).ok());
      const absl::Status read = reader->ReadRecord(k, &got);
      ASSERT_TRUE(read.ok()) << read;
      ASSERT_EQ(got, expected);
      bytes += whole_.RecordLength(numbers[k]);
    }
    EXPECT_EQ(selected.data_bytes(), bytes);
  }
}

TEST_P(SelectedIndex, OfASelectedIndexHasTheNumbersInTheFile) {
  std::mt19937 random(3);
  const std::vector<uint32_t> numbers = RandomNumbers(&random);
  const ShardIndex first = whole_.Selected(numbers, 4);
  std::vector<uint32_t> thirds, expected;
  for (uint32_t k = 1; k < numbers.size(); k += 3) {
    thirds.push_back(k);
    expected.push_back(numbers[k]);
  }
  const ShardIndex second = first.Selected(thirds, first.left_out());
  EXPECT_EQ(second.shard_records(), kRecords);
  EXPECT_EQ(second.left_out(), 4u);
  ASSERT_EQ(std::vector<uint32_t>(second.numbers().begin(), second.numbers().end()), expected);
  const auto all = Reader(path_, whole_), part = Reader(path_, second);
  std::string wanted, got;
  for (uint64_t k = 0; k < expected.size(); ++k) {
    ASSERT_TRUE(all->ReadRecord(expected[k], &wanted).ok());
    ASSERT_TRUE(part->ReadRecord(k, &got).ok());
    ASSERT_EQ(got, wanted);
  }
}

TEST_P(SelectedIndex, HasAHashThatCoversTheNumbersAndTheContent) {
  const ShardIndex evens = whole_.Selected(std::vector<uint32_t>{0, 2, 4}),
                   odds = whole_.Selected(std::vector<uint32_t>{1, 3, 5});
  EXPECT_NE(evens.content_hash, odds.content_hash);
  EXPECT_NE(evens.content_hash, whole_.content_hash);
  EXPECT_EQ(evens.content_hash, whole_.Selected(std::vector<uint32_t>{0, 2, 4}).content_hash);
  ShardIndex other = whole_;
  ++other.content_hash;
  EXPECT_NE(evens.content_hash, other.Selected(std::vector<uint32_t>{0, 2, 4}).content_hash);
}

TEST_P(SelectedIndex, OfAllRecordsIsTheWholeIndex) {
  std::vector<uint32_t> all(kRecords);
  for (uint32_t i = 0; i < kRecords; ++i) all[i] = i;
  EXPECT_EQ(whole_.Selected(all), whole_);
}

TEST_P(SelectedIndex, MayBeEmpty) {
  const ShardIndex none = whole_.Selected({});
  EXPECT_EQ(none.record_count(), 0u);
  EXPECT_EQ(none.shard_records(), kRecords);
  const auto parsed = ShardIndex::Parse(none.Serialize());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, none);
}

TEST_P(SelectedIndex, NamesADamagedRecordByItsNumberInTheFile) {
  if (GetParam() == Kind::kGzip) return;  // the damage would be that of the compressed stream
  std::string bytes = *ReadWholeFile(path_);
  bytes[whole_.RecordOffset(7) + whole_.StoredBytes(7) / 2] ^= 1;
  WriteBytes(path_, bytes);
  ShardIndex index = whole_.Selected(std::vector<uint32_t>{5, 7});
  const FileInfo now = *(*OpenFile(path_))->Info();
  index.mtime_ns = now.mtime_ns;
  std::string record;
  const absl::Status read = Reader(path_, index)->ReadRecord(1, &record);
  EXPECT_TRUE(absl::IsDataLoss(read)) << read;
  EXPECT_THAT(read.message(), HasSubstr(absl::StrCat("record 7 at offset ", whole_.RecordOffset(7))));
}

// Returns the groups of these records: group n has those whose number, divided by 7, leaves n.
IndexGroups GroupsOfNumbers(const std::vector<uint32_t>& numbers) {
  IndexGroups groups{{"", "b", "cc", "d", "e\xff", "f", "g"}, {}};
  for (const uint32_t number : numbers) groups.of_records.push_back(number % 7);
  return groups;
}

TEST_P(SelectedIndex, WithGroupsNumbersTheRecordsInTheirOrder) {
  std::mt19937 random(5);
  const auto all = Reader(path_, whole_);
  std::vector<uint32_t> every(kRecords);
  for (uint32_t i = 0; i < kRecords; ++i) every[i] = i;
  for (int trial = 0; trial < 10; ++trial) {
    std::vector<uint32_t> numbers = trial == 0 ? every : RandomNumbers(&random);
    const ShardIndex index = whole_.Selected(numbers, 0, GroupsOfNumbers(numbers));
    EXPECT_TRUE(index.is_selected() && !index.is_in_file_order());
    const auto parsed = ShardIndex::Parse(index.Serialize());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    ASSERT_EQ(*parsed, index);
    EXPECT_EQ(parsed->Groups(), GroupsOfNumbers(numbers));
    EXPECT_EQ(whole_.Selected(index.numbers(), 0, index.Groups()), index);
    std::stable_sort(numbers.begin(), numbers.end(), [](uint32_t a, uint32_t b) { return a % 7 < b % 7; });
    const auto reader = Reader(path_, *parsed);
    std::string expected, got;
    std::vector<uint32_t> counts(7, 0);
    for (uint64_t k = 0; k < numbers.size(); ++k) {
      ASSERT_EQ(index.NumberInShard(k), numbers[k]);
      ASSERT_EQ(index.RecordOffset(k), whole_.RecordOffset(numbers[k]));
      ASSERT_EQ(index.StoredBytes(k), whole_.StoredBytes(numbers[k]));
      ASSERT_TRUE(all->ReadRecord(numbers[k], &expected).ok());
      const absl::Status read = reader->ReadRecord(k, &got);
      ASSERT_TRUE(read.ok()) << read;
      ASSERT_EQ(got, expected);
      ++counts[numbers[k] % 7];
    }
    EXPECT_TRUE(std::equal(counts.begin(), counts.end(), index.group_records().begin()));
    EXPECT_EQ(index.RecordOffset(numbers.size()), index.stream_size());
  }
}

TEST_P(SelectedIndex, HasAHashThatCoversTheGroups) {
  const std::vector<uint32_t> numbers = {0, 2, 4};
  std::vector<uint64_t> hashes = {whole_.Selected(numbers).content_hash};
  hashes.push_back(whole_.Selected(numbers, 0, {{"a"}, {0, 0, 0}}).content_hash);
  hashes.push_back(whole_.Selected(numbers, 0, {{"b"}, {0, 0, 0}}).content_hash);
  hashes.push_back(whole_.Selected(numbers, 0, {{"a", "b"}, {0, 0, 1}}).content_hash);
  hashes.push_back(whole_.Selected(numbers, 0, {{"a", "b"}, {0, 1, 0}}).content_hash);
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

// A blob with a changed byte and a right checksum either does not parse, or has each of its records once.
void ExpectForgedBlobsAreHarmless(const std::string& blob, size_t stride) {
  const size_t dense = 2000;
  for (size_t at = 8; at + 8 < blob.size(); at += at < dense || at + dense > blob.size() ? 1 : stride) {
    for (const uint8_t flip : {1, 0x40, 0x80, 0xff}) {
      std::string forged = blob.substr(0, blob.size() - 8);
      forged[at] = static_cast<char>(forged[at] ^ flip);
      char hash[8];
      StoreLittleEndian(Hash64(forged), hash);
      forged.append(hash, sizeof(hash));
      const auto parsed = ShardIndex::Parse(forged);
      if (!parsed.ok()) continue;
      ASSERT_TRUE(parsed->is_selected());
      std::vector<uint64_t> numbers;
      for (uint64_t k = 0; k < parsed->record_count(); ++k) numbers.push_back(parsed->NumberInShard(k));
      if (!parsed->is_in_file_order()) std::sort(numbers.begin(), numbers.end());
      uint64_t next = 0;
      for (const uint64_t number : numbers) {
        ASSERT_GE(number, next) << at;
        next = number + 1;
      }
      ASSERT_LE(next, parsed->shard_records()) << at;
    }
  }
}

TEST_P(SelectedIndex, SurvivesForgedBlobs) {
  // The windows of compressed checkpoints are long and have no structure: some of their bytes are enough.
  const size_t stride = GetParam() == Kind::kGzip ? 97 : 1;
  std::mt19937 random(2);
  const std::vector<uint32_t> numbers = RandomNumbers(&random);
  ExpectForgedBlobsAreHarmless(whole_.Selected(numbers).Serialize(), stride);
  ExpectForgedBlobsAreHarmless(whole_.Selected(numbers, 0, GroupsOfNumbers(numbers)).Serialize(), stride);
}

INSTANTIATE_TEST_SUITE_P(Kinds, SelectedIndex, ::testing::Values(Kind::kPlain, Kind::kGzip, Kind::kTar),
                         [](const ::testing::TestParamInfo<Kind>& kind) {
                           return kind.param == Kind::kPlain ? "Plain" : kind.param == Kind::kGzip ? "Gzip" : "Tar";
                         });

}  // namespace
}  // namespace penstock::sources
