#include "pipeline/sources/index_builder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/little_endian.h"
#include "pipeline/sources/record_walker.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

std::vector<std::string> SomeRecords() {
  std::vector<std::string> records;
  for (size_t i = 0; i < 200; ++i) records.push_back(TestBytes(i * i % 5000, i));
  return records;
}

absl::StatusOr<ShardIndex> IndexOf(const std::string& path, const IndexOptions& options = {}) {
  auto file = OpenFile(path);
  if (!file.ok()) return file.status();
  return BuildShardIndex(**file, options);
}

TEST(BuildShardIndex, FindsTheSameRecordsUnderEveryCompression) {
  support::TempFolder folder;
  const std::vector<std::string> records = SomeRecords();
  uint64_t hash = 0;
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    const std::string path = folder.File(std::string(CompressionName(compression)));
    WriteShard(path, records, compression);
    const auto index = IndexOf(path);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ(index->kind().compression, compression);
    ASSERT_EQ(index->record_count(), records.size());
    for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(index->RecordLength(i), records[i].size());
    EXPECT_EQ(index->stream_size(), Frame(records).size());
    EXPECT_EQ(index->file_size, std::filesystem::file_size(path));
    if (hash == 0) hash = index->content_hash;
    EXPECT_EQ(index->content_hash, hash);
  }
}

TEST(BuildShardIndex, HashesOrderLengthsAndContent) {
  const auto hash = [](const std::vector<std::string>& records) {
    MemoryFile file(Frame(records));
    return BuildShardIndex(file)->content_hash;
  };
  EXPECT_NE(hash({"a", "b"}), hash({"b", "a"}));
  EXPECT_NE(hash({"a", "b"}), hash({"a", "c"}));
  EXPECT_NE(hash({"a", "b"}), hash({"a", "b", ""}));
  EXPECT_EQ(hash({"a", "b"}), hash({"a", "b"}));
  // Pinned, because snapshots are compared across releases.
  EXPECT_EQ(hash({"a", "b"}), 10401389306897323706u);
}

TEST(BuildShardIndex, SkipsLargeDataAndStillDetectsTheEnd) {
  const std::string big = TestBytes(3'000'000, 5);
  const std::string stream = Frame({"first", big, big, "last"});
  MemoryFile file(stream);
  const auto index = BuildShardIndex(file);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->record_count(), 4u);
  MemoryFile cut(stream.substr(0, stream.size() - 1'000'000));
  const auto broken = BuildShardIndex(cut);
  EXPECT_TRUE(absl::IsDataLoss(broken.status())) << broken.status();
}

TEST(BuildShardIndex, ErrorsNameFileRecordOffsetAndReadableRecords) {
  std::string stream = Frame({"one", "two", "three"});
  stream[2 * 19] ^= 1;
  MemoryFile file(stream);
  const auto index = BuildShardIndex(file);
  ASSERT_TRUE(absl::IsDataLoss(index.status()));
  const std::string message(index.status().message());
  for (const char* part : {"memory", "record 2", "offset 38", "2 records before it are readable"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(BuildShardIndex, ChecksDataOnlyWhenAsked) {
  std::string stream = Frame({"one", "two", "three"});
  stream[19 + 13] ^= 1;
  MemoryFile file(stream);
  EXPECT_TRUE(BuildShardIndex(file).ok());
  const auto checked = BuildShardIndex(file, {.verify_data = true});
  EXPECT_TRUE(absl::IsDataLoss(checked.status())) << checked.status();
  EXPECT_NE(std::string(checked.status().message()).find("record 1 at offset 19"), std::string::npos);
}

TEST(BuildShardIndex, RejectsALongRecordBeforeItAllocates) {
  // A length of 2^60 with a right CRC.
  std::string header(12, '\0');
  header[7] = 0x10;
  std::string framed;
  AppendFramedRecord(std::string_view(header).substr(0, 8), &framed);
  StoreLittleEndian<uint32_t>(LoadLittleEndian<uint32_t>(framed.data() + framed.size() - 4), header.data() + 8);
  MemoryFile file(header + "data");
  const auto index = BuildShardIndex(file);
  EXPECT_TRUE(absl::IsResourceExhausted(index.status())) << index.status();
  MemoryFile small(Frame({"12345678"}));
  EXPECT_TRUE(BuildShardIndex(small, {.max_record_bytes = 8}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(BuildShardIndex(small, {.max_record_bytes = 7}).status()));
}

TEST(BuildShardIndex, NeverCrashesOnAFileCutAnywhere) {
  support::TempFolder folder;
  const std::vector<std::string> records = {"", "a", TestBytes(40, 1), TestBytes(100, 2), "end"};
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    WriteShard(folder.File("whole"), records, compression);
    const std::string whole = Slurp(folder.File("whole"));
    uint64_t border = 0;
    size_t next = 0;
    for (size_t cut = 0; cut < whole.size(); ++cut) {
      MemoryFile file(whole.substr(0, cut));
      const auto index = BuildShardIndex(file, {.compression = compression});
      if (compression == Compression::kNone && cut == border) {
        ASSERT_TRUE(index.ok()) << cut;
        ASSERT_EQ(index->record_count(), next);
        border += records[next++].size() + 16;
      } else if (cut > 0) {
        ASSERT_TRUE(absl::IsDataLoss(index.status())) << cut << " " << index.status();
      }
    }
  }
}

TEST(BuildShardIndex, AnEmptyFileHasNoRecords) {
  MemoryFile file("");
  for (const Compression compression :
       {Compression::kAuto, Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    const auto index = BuildShardIndex(file, {.compression = compression});
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ(index->record_count(), 0u);
  }
}

TEST(BuildShardIndex, ReportsItsProgressToTheLastByte) {
  support::TempFolder folder;
  std::vector<std::string> records(120, TestBytes(100'000, 3));
  for (const Compression compression : {Compression::kNone, Compression::kGzip}) {
    WriteShard(folder.File("s"), records, compression);
    uint64_t told = 0;
    int calls = 0;
    ASSERT_TRUE(IndexOf(folder.File("s"), {.progress =
                                               [&](uint64_t bytes) {
                                                 told += bytes;
                                                 ++calls;
                                               }})
                    .ok());
    EXPECT_EQ(told, std::filesystem::file_size(folder.File("s")));
    EXPECT_GT(calls, 1);
  }
}

TEST(BuildShardIndex, BoundsTheMemoryOfRestartWindows) {
  support::TempFolder folder;
  std::vector<std::string> records;
  for (size_t i = 0; i < 100; ++i) records.push_back(TestBytes(40'000, i));
  WriteShard(folder.File("s"), records, Compression::kGzip);
  const auto index = IndexOf(folder.File("s"), {.restart_spacing = 16 << 10, .max_window_bytes = 200'000});
  ASSERT_TRUE(index.ok());
  uint64_t windows = 0;
  for (const RestartPoint& point : index->restart_points) windows += point.window.size();
  EXPECT_LE(windows, 200'000u);
  EXPECT_GT(index->restart_points.size(), 2u);
  EXPECT_EQ(index->restart_points[0].stream_offset, 0u);
}

class ChangingFile final : public RandomAccessFile {
 public:
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    ++reads_;
    return inner_.ReadAt(offset, length, out);
  }
  absl::StatusOr<FileInfo> Info() const override { return FileInfo{Frame({"abc"}).size(), reads_}; }
  const std::string& path() const override { return inner_.path(); }

 private:
  MemoryFile inner_{Frame({"abc"})};
  mutable int64_t reads_ = 0;
};

TEST(BuildShardIndex, DetectsAWriter) { EXPECT_TRUE(absl::IsAborted(BuildShardIndex(ChangingFile()).status())); }

// Plain records whose first bytes look like gzip or zlib.
TEST(DetectShardKind, PrefersAValidLengthCrcToAnyMagic) {
  MemoryFile gzip_like(Frame({std::string(559'903, 'x')}));
  char magic[3];
  ASSERT_TRUE(gzip_like.ReadAt(0, 3, magic).ok());
  ASSERT_EQ(std::string(magic, 3), "\x1f\x8b\x08");
  EXPECT_EQ(DetectShardKind(gzip_like)->compression, Compression::kNone);
  MemoryFile zlib_like(Frame({std::string(0x9c78, 'x')}));
  EXPECT_EQ(DetectShardKind(zlib_like)->compression, Compression::kNone);
  std::string broken = Frame({std::string(0x9c78, 'x')});
  broken[9] ^= 1;
  EXPECT_EQ(DetectShardKind(MemoryFile(broken))->compression, Compression::kNone);
}

TEST(DetectShardKind, FindsEachKind) {
  support::TempFolder folder;
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    for (const int count : {0, 1, 5}) {
      WriteShard(folder.File("s"), std::vector<std::string>(count, "record"), compression);
      auto file = OpenFile(folder.File("s"));
      ASSERT_TRUE(file.ok());
      EXPECT_EQ(DetectShardKind(**file)->compression, compression) << CompressionName(compression) << count;
    }
  }
  for (const char* other : {"", "x", "\x1f", "\x78\x9c", "some text, longer than a header"}) {
    EXPECT_EQ(DetectShardKind(MemoryFile(other))->compression, Compression::kNone);
  }
}

TEST(RecordWalker, ReadsDataWithoutAnIndex) {
  support::TempFolder folder;
  const std::vector<std::string> records = SomeRecords();
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    WriteShard(folder.File("s"), records, compression);
    auto file = OpenFile(folder.File("s"));
    ASSERT_TRUE(file.ok());
    auto walker = RecordWalker::Start(file->get(), {.check_data = false});
    ASSERT_TRUE(walker.ok());
    std::string data;
    for (const std::string& record : records) {
      const auto step = (*walker)->Next(&data);
      ASSERT_TRUE(step.ok() && *step == RecordWalker::Step::kRecord);
      ASSERT_EQ(data, record);
      ASSERT_TRUE((*walker)->data_is_right());
    }
    EXPECT_EQ(*(*walker)->Next(), RecordWalker::Step::kEnd);
  }
}

}  // namespace
}  // namespace penstock::sources
