// Indexes of windows: their rows have the bytes of the records, in every container and compression, and take few bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/sources/pack_frame.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/storage/posix_storage.h"
#include "pipeline/storage/storage.h"
#include "tests/pipeline/sources/tar/tar_maker.h"
#include "tests/pipeline/sources/test_shards.h"
#include "tests/support/temp_folder.h"

namespace penstock::sources {
namespace {

using ::testing::HasSubstr;

struct StoredRecords {
  std::string stored;
  std::optional<ContainerKind> container = std::nullopt;
};

constexpr int kRecords = 60;

std::vector<StoredRecords> AllContainers() {
  std::vector<std::string> records;
  std::string lines, archive, table = "a,b\n";
  for (int i = 0; i < kRecords; ++i) {
    records.push_back(TestBytes(static_cast<size_t>(i * 13 % 70), static_cast<uint64_t>(i)));
    absl::StrAppend(&lines, "{\"n\": ", i, "}\n", i % 7 == 0 ? "\n\n" : "");
    AppendTarMember(absl::StrCat("s", i, ".txt"), std::string(static_cast<size_t>(i * 7 % 40), 't'), &archive);
    absl::StrAppend(&table, i, ",", std::string(static_cast<size_t>(i % 9), 'x'), i % 2 == 0 ? "\r\n" : "\n");
  }
  const std::string plain = Frame(records);
  return {{plain}, {GzippedBytes(plain)}, {lines}, {table, ContainerKind::kCsv}, {archive + std::string(1024, '\0')}};
}

ShardIndex IndexOf(const StoredRecords& records) {
  IndexOptions options;
  options.container = records.container;
  absl::StatusOr<ShardIndex> index = BuildShardIndex(MemoryFile(records.stored), options);
  EXPECT_TRUE(index.ok()) << index.status();
  return index.ok() ? *std::move(index) : ShardIndex();
}

// Windows of runs of 1 to 20 records.
std::shared_ptr<const plan::RecordWindows> SomeWindows(uint64_t records, const plan::WindowOptions& options,
                                                       uint64_t seed) {
  std::mt19937_64 random(seed);
  plan::WindowCutter cutter(options);
  for (uint64_t k = 0; k < records; ++k) {
    if (random() % 20 == 0) cutter.EndRun();
    cutter.Add("");
  }
  return std::make_shared<const plan::RecordWindows>(cutter.Take());
}

void ExpectRowsOfRecords(const StoredRecords& records, const ShardIndex& single, const ShardIndex& index) {
  const auto reader =
      ShardReader::Open(std::make_unique<MemoryFile>(records.stored), std::make_shared<const ShardIndex>(index));
  const auto of_records =
      ShardReader::Open(std::make_unique<MemoryFile>(records.stored), std::make_shared<const ShardIndex>(single));
  ASSERT_TRUE(reader.ok() && of_records.ok()) << reader.status() << of_records.status();
  for (uint64_t k = 0; k < index.record_count(); ++k) {
    const plan::RowParts expected = index.PartsOf(k);
    std::string row;
    ASSERT_TRUE((*reader)->ReadRecord(k, &row).ok());
    EXPECT_LE(row.size(), index.RecordLength(k));
    EXPECT_EQ(index.RecordLength(k), ShardReader::DataBytes(index, k, nullptr));
    EXPECT_EQ(index.RecordOffset(k), single.RecordOffset(expected[0].record));
    std::vector<FramedPart> parts;
    ASSERT_TRUE(ParsePack(row, &parts).ok());
    ASSERT_EQ(parts.size(), expected.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      std::string record;
      ASSERT_TRUE((*of_records)->ReadRecord(expected[i].record, &record).ok());
      EXPECT_EQ(parts[i].record, record);
      EXPECT_EQ(parts[i].number, single.NumberInShard(expected[i].record));
    }
    std::string buffer((*reader)->StoredBytes(k, nullptr), '\0');
    const auto past_caches = (*reader)->ReadRecordPastCaches(k, buffer.data());
    ASSERT_TRUE(past_caches.ok()) << past_caches.status();
    EXPECT_EQ(*past_caches, row);
  }
}

TEST(WindowedIndex, RowsHaveTheBytesOfTheirRecords) {
  for (const StoredRecords& records : AllContainers()) {
    const ShardIndex whole = IndexOf(records);
    std::vector<uint32_t> some;  // with gaps of one record and of several
    for (uint32_t k = 0; k < kRecords; ++k) {
      if (k % 5 != 2 && (k < 20 || k > 30)) some.push_back(k);
    }
    for (const ShardIndex& single : {whole, whole.Selected(some)}) {
      for (const plan::WindowOptions& options : std::vector<plan::WindowOptions>{
               {1, 1, 1}, {4, 1, 1}, {4, 3, 1}, {3, 2, 3}, {2, 9, 1}, {5, 1, 2}, {1, 2, 3}}) {
        const ShardIndex index = single.Windowed(SomeWindows(single.record_count(), options, 3));
        EXPECT_GT(index.record_count(), 0u);
        EXPECT_EQ(index.shard_records(), static_cast<uint64_t>(kRecords));
        ExpectRowsOfRecords(records, single, index);
      }
    }
  }
}

// A local file that counts its reads.
class CountedFile final : public storage::StoredFile {
 public:
  CountedFile(std::unique_ptr<storage::StoredFile> file, int* reads) : file_(std::move(file)), reads_(reads) {}
  const std::string& path() const override { return file_->path(); }
  const FileInfo& opened() const override { return file_->opened(); }
  absl::StatusOr<FileInfo> Info() const override { return file_->Info(); }
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    ++*reads_;
    return file_->ReadAt(offset, length, out);
  }
  void Read(uint64_t offset, size_t length, char* out, const storage::CallOptions& options,
            storage::CallDone<size_t> done) const override {
    ++*reads_;
    file_->Read(offset, length, out, options, std::move(done));
  }

 private:
  const std::unique_ptr<storage::StoredFile> file_;
  int* const reads_;
};

TEST(WindowedIndex, NeighborsAreOneRead) {
  const support::TempFolder folder;
  const std::string path = folder.File("shard");
  for (const StoredRecords& records : AllContainers()) {
    WriteBytes(path, records.stored);
    IndexOptions options;
    options.container = records.container;
    const auto built = BuildIndexOf(storage::LocalFiles(), path, options);
    ASSERT_TRUE(built.ok()) << built.status();
    const bool is_plain = built->index->kind().compression == Compression::kNone;
    for (const uint64_t step : {1u, 2u}) {
      const auto index = std::make_shared<const ShardIndex>(
          built->index->Windowed(SomeWindows(kRecords, {.size = 4, .stride = 1, .step = step}, 2)));
      int reads = 0;
      std::unique_ptr<storage::StoredFile> file =
          std::make_unique<CountedFile>(*storage::LocalFiles()->OpenAndWait(path), &reads);
      const auto reader = ShardReader::Open(std::move(file), index);
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_EQ((*reader)->HasReadLater(), is_plain);
      for (uint64_t k = 0; is_plain && k < index->record_count(); ++k) {
        reads = 0;
        std::string row, buffer((*reader)->StoredBytes(k, nullptr), '\0');
        ASSERT_TRUE((*reader)->ReadRecord(k, &row).ok());
        EXPECT_EQ(reads, step == 1 ? 1 : 4);
        reads = 0;
        const auto later = storage::WaitForCall<std::string_view>([&](storage::CallDone<std::string_view> done) {
          (*reader)->ReadRecordLater(k, buffer.data(), nullptr, {}, std::move(done));
        });
        ASSERT_TRUE(later.ok()) << later.status();
        EXPECT_EQ(*later, row);
        EXPECT_EQ(reads, step == 1 ? 1 : 4);
      }
    }
  }
}

TEST(WindowedIndex, SelectedWindowsKeepTheirNumbersAndRecords) {
  const StoredRecords records = AllContainers()[0];
  const ShardIndex single = IndexOf(records);
  const ShardIndex index = single.Windowed(SomeWindows(kRecords, {.size = 3, .stride = 1}, 5));
  const std::vector<uint32_t> even = {0, 2, 4, 6, 8}, later = {1, 3};
  const ShardIndex selected = index.Selected(even).Selected(later);
  ASSERT_EQ(selected.record_count(), 2u);
  for (uint64_t k = 0; k < 2; ++k) {
    const uint64_t row = even[later[k]];
    EXPECT_EQ(selected.NumberInShard(k), row);
    EXPECT_EQ(selected.PartsOf(k)[1], index.PartsOf(row)[1]);
    EXPECT_EQ(selected.RecordLength(k), index.RecordLength(row));
  }
  ExpectRowsOfRecords(records, single, selected);
  EXPECT_EQ(index.Selected({}).record_count(), 0u);
}

TEST(WindowedIndex, ABlobGivesTheSameIndex) {
  for (const StoredRecords& records : AllContainers()) {
    const ShardIndex single = IndexOf(records);
    for (const uint64_t size : {1u, 4u, 100u}) {  // the last one has no window
      const ShardIndex index = single.Windowed(SomeWindows(kRecords, {.size = size, .stride = 2, .step = 3}, 8));
      const absl::StatusOr<ShardIndex> parsed = ShardIndex::Parse(index.Serialize());
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(*parsed, index);
      EXPECT_EQ(parsed->content_hash, index.content_hash);
      EXPECT_EQ(parsed->packs().windows->longest_run, index.packs().windows->longest_run);
    }
  }
}

TEST(WindowedIndex, EachOptionAndEachRunChangesTheContentHash) {
  const ShardIndex single = IndexOf(AllContainers()[0]);
  const auto hash_of = [&](const plan::WindowOptions& options, uint64_t begin = 0, uint64_t records = 30) {
    plan::RecordWindows windows{.options = options};
    windows.AddRun(begin, records);
    return single.Windowed(std::make_shared<const plan::RecordWindows>(windows)).content_hash;
  };
  const uint64_t hash = hash_of({4, 2, 1});
  EXPECT_EQ(hash, hash_of({4, 2, 1}));
  EXPECT_NE(hash, hash_of({5, 2, 1}));
  EXPECT_NE(hash, hash_of({4, 3, 1}));
  EXPECT_NE(hash, hash_of({4, 2, 2}));
  EXPECT_NE(hash, hash_of({4, 2, 1}, 1));
  EXPECT_NE(hash, hash_of({4, 2, 1}, 0, 26));
  EXPECT_NE(hash, single.content_hash);
}

TEST(WindowedIndex, TakesFewBytesForEachWindow) {
  std::string stored;
  for (int i = 0; i < 100'000; ++i) stored += "{}\n";
  const ShardIndex single = IndexOf({stored});
  ASSERT_EQ(single.record_count(), 100'000u);
  plan::RecordWindows windows{.options = {.size = 1000, .stride = 1}};
  for (uint64_t run = 0; run < 10; ++run) windows.AddRun(run * 10'000, 10'000);
  const ShardIndex index = single.Windowed(std::make_shared<const plan::RecordWindows>(windows));
  EXPECT_EQ(index.record_count(), 90'010u);
  const size_t more = index.MemoryBytes() - single.MemoryBytes();
  EXPECT_LE(more, index.record_count() * 9 / 2);  // 4.5 bytes for each window, however many records it has
  EXPECT_LE(index.Serialize().size(), single.Serialize().size() + 100);
}

TEST(WindowedIndex, AForgedBlobIsRejected) {
  const ShardIndex single = IndexOf({Frame({"a", "bc", "def", "g", "h"})});
  plan::RecordWindows windows{.options = {.size = 2, .stride = 1}};
  windows.AddRun(0, 2);
  windows.AddRun(2, 3);
  const std::string blob = single.Windowed(std::make_shared<const plan::RecordWindows>(windows)).Serialize();
  const auto with = [&blob](size_t at, char byte) {
    std::string forged = blob.substr(0, blob.size() - sizeof(uint64_t));
    forged[at] = byte;
    const uint64_t hash = Hash64(forged);
    forged.append(reinterpret_cast<const char*>(&hash), sizeof(hash));
    return ShardIndex::Parse(forged).status();
  };
  // After the magic and the version: size, stride, step, longest run, runs, and for each its record and its windows.
  constexpr size_t kSize = 8, kStride = 9, kStep = 10, kRuns = 12, kSecond = 15, kSecondRows = 16;
  EXPECT_TRUE(with(kSize, 2).ok());
  for (const size_t at : {kSize, kStride, kStep}) EXPECT_THAT(with(at, 0).ToString(), HasSubstr("its windows"));
  EXPECT_THAT(with(kRuns, 127).ToString(), HasSubstr("its runs"));
  EXPECT_THAT(with(kSecond, 1).ToString(), HasSubstr("a run"));
  EXPECT_THAT(with(kSecond, 3).ToString(), HasSubstr("the records of its rows"));
  EXPECT_THAT(with(kSecondRows, 0).ToString(), HasSubstr("a run"));
  EXPECT_THAT(with(kSecondRows, 3).ToString(), HasSubstr("the records of its rows"));
  for (size_t size = 0; size < blob.size(); ++size) EXPECT_FALSE(ShardIndex::Parse(blob.substr(0, size)).ok());
}

TEST(WindowedIndex, ADamagedRecordFailsItsWindowsByItsOwnNumber) {
  std::string stored = Frame({"aaaa", "bbbb", "cccc", "dddd", "eeee"});
  const ShardIndex single = IndexOf({stored});
  plan::RecordWindows windows{.options = {.size = 2, .stride = 1}};
  windows.AddRun(0, 5);
  const auto index =
      std::make_shared<const ShardIndex>(single.Windowed(std::make_shared<const plan::RecordWindows>(windows)));
  stored[single.RecordOffset(2) + 13] ^= 1;
  const auto reader = ShardReader::Open(std::make_unique<MemoryFile>(stored), index);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::string row;
  for (const uint64_t intact : {0u, 3u}) EXPECT_TRUE((*reader)->ReadRecord(intact, &row).ok());
  for (const uint64_t bad : {1u, 2u}) {
    const absl::Status damaged = (*reader)->ReadRecord(bad, &row);
    EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
    EXPECT_THAT(std::string(damaged.message()), HasSubstr("record 2 at offset"));
  }
  EXPECT_TRUE(absl::IsOutOfRange((*reader)->ReadRecord(4, &row)));
}

}  // namespace
}  // namespace penstock::sources
