// Manifests: their rows with the bytes of the files, in each kind of text, whole and in parts, from a disk and from a
// storage that answers later; and what a reader sees of files that are missing, change, or are outside of the roots.
#include "pipeline/sources/manifest/manifest_container.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "pipeline/records/manifest_fields.h"
#include "pipeline/sources/damage.h"
#include "pipeline/sources/file_access.h"
#include "pipeline/sources/file_frame.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/verify.h"
#include "pipeline/storage/files.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/sources/test_shards.h"
#include "tests/pipeline/storage/memory_storage.h"
#include "tests/support/temp_folder.h"

namespace penstock::sources {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A folder with a data root "data", where manifests and files are.
class Manifests : public ::testing::Test {
 protected:
  Manifests() { fs::create_directories(root()); }

  std::string root() const { return fs::canonical(folder_.path()).string() + "/data"; }
  std::string PathOf(const std::string& name) const { return root() + "/" + name; }
  void Write(const std::string& name, const std::string& bytes) {
    fs::create_directories(fs::path(PathOf(name)).parent_path());
    WriteBytes(PathOf(name), bytes);
  }

  std::shared_ptr<const FileAccess> Access() const {
    return AccessTo(storage::LocalFiles(), {{.name = "data", .path = root(), .given = root()}});
  }
  IndexOptions Options(const records::ManifestFields& fields = {}) const {
    IndexOptions options;
    options.container = ContainerKind::kManifest;
    options.row_files = records::RowFilesOf(fields);
    options.files = Access();
    return options;
  }
  absl::StatusOr<ShardIndex> Index(const std::string& name, const records::ManifestFields& fields = {}) const {
    const auto file = OpenFile(PathOf(name));
    EXPECT_TRUE(file.ok()) << file.status();
    return BuildShardIndex(**file, Options(fields));
  }
  std::unique_ptr<ShardReader> Reader(const std::string& name, ShardIndex index) const {
    auto file = storage::LocalFiles()->OpenAndWait(PathOf(name));
    EXPECT_TRUE(file.ok()) << file.status();
    auto reader =
        ShardReader::Open(*std::move(file), std::make_shared<const ShardIndex>(std::move(index)), {.files = Access()});
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }
  std::unique_ptr<ShardReader> Reader(const std::string& name, const records::ManifestFields& fields = {}) const {
    absl::StatusOr<ShardIndex> index = Index(name, fields);
    EXPECT_TRUE(index.ok()) << index.status();
    return Reader(name, *std::move(index));
  }

  support::TempFolder folder_;
};

const RequestedFeatures kFields({}), kFile({{{.extension = "contents"}}});

// A record as each kind of read gives it. All must be equal.
absl::StatusOr<std::string> ReadAll(const ShardReader& reader, uint64_t k, const RequestedFeatures* features) {
  std::string buffer(reader.StoredBytes(k, features), '\0');
  absl::StatusOr<std::string> first;
  {
    const auto data = reader.ReadRecord(k, buffer.data(), features);
    first = data.ok() ? absl::StatusOr<std::string>(std::string(*data)) : data.status();
  }
  if (first.ok()) {
    EXPECT_LE(first->size(), ShardReader::DataBytes(reader.index(), k, features));
  }
  const auto expect_same = [&](const absl::StatusOr<std::string_view>& data) {
    EXPECT_EQ(data.ok(), first.ok());
    if (data.ok() && first.ok()) {
      EXPECT_EQ(*data, *first);
    } else {
      EXPECT_EQ(data.status().message(), first.status().message());
    }
  };
  std::fill(buffer.begin(), buffer.end(), 'x');
  expect_same(reader.ReadRecordPastCaches(k, buffer.data(), features));
  if (!reader.HasReadLater()) return first;
  std::fill(buffer.begin(), buffer.end(), 'y');
  expect_same(storage::WaitForCall<std::string_view>([&](storage::CallDone<std::string_view> done) {
    reader.ReadRecordLater(k, buffer.data(), features, {}, std::move(done));
  }));
  return first;
}

FramedFile Parsed(const absl::StatusOr<std::string>& data) {
  EXPECT_TRUE(data.ok()) << data.status();
  const absl::StatusOr<FramedFile> framed = ParseFileFrame(*data);
  EXPECT_TRUE(framed.ok()) << framed.status();
  return *framed;
}

TEST_F(Manifests, ARecordIsARowWithTheBytesOfItsFile) {
  Write("cat/0.jpg", TestBytes(5000, 1));
  Write("dog/1.jpg", TestBytes(70'000, 2));
  Write("empty", "");
  const std::string csv =
      "\xEF\xBB\xBF"
      "file,label\r\ncat/0.jpg,0\r\n\"dog/1.jpg\",1\n\nempty,2";
  const std::string tsv = "label\tfile\n0\tcat/0.jpg\n1\tdog/1.jpg\n2\tempty\n";
  const std::string jsonl =
      "{\"file\": \"cat/0.jpg\", \"label\": 0}\n\n{\"label\": 1, \"file\": \"dog/1.jpg\"}\r\n"
      "{\"file\":\"empty\"}";
  for (const std::string& text : {csv, tsv, jsonl}) {
    for (const bool gzip : {false, true}) {
      SCOPED_TRACE(absl::StrCat(text, gzip ? ", gzip" : ""));
      Write("list", gzip ? GzippedBytes(text) : text);
      const auto reader = Reader("list");
      ASSERT_EQ(reader->index().record_count(), 3);
      EXPECT_EQ(reader->index().kind().container, ContainerKind::kManifest);
      EXPECT_EQ(reader->HasReadLater(), !gzip);
      EXPECT_FALSE(reader->HasRanges());
      const std::vector<std::string> files = {TestBytes(5000, 1), TestBytes(70'000, 2), ""};
      for (uint64_t k = 0; k < 3; ++k) {
        for (const RequestedFeatures* features : {static_cast<const RequestedFeatures*>(nullptr), &kFields, &kFile}) {
          const auto data = ReadAll(*reader, k, features);
          const FramedFile framed = Parsed(data);
          EXPECT_EQ(framed.state, features == &kFields ? FileState::kNotRead : FileState::kRead);
          EXPECT_EQ(framed.file, features == &kFields ? "" : files[k]);
          EXPECT_THAT(std::string(framed.row), HasSubstr(k == 0 ? "cat/0.jpg" : k == 1 ? "dog/1.jpg" : "empty"));
          EXPECT_FALSE(framed.row.ends_with('\n') || framed.row.ends_with('\r'));
        }
      }
      EXPECT_GE(reader->index().longest_record(), 70'000);
      EXPECT_GE(reader->index().data_bytes(), 75'000);
      const absl::StatusOr<ShardIndex> again = ShardIndex::Parse(reader->index().Serialize());
      ASSERT_TRUE(again.ok()) << again.status();
      EXPECT_EQ(*again, reader->index());
    }
  }
}

TEST_F(Manifests, PartsOfAFileAreCutFromIt) {
  const std::string bytes = TestBytes(10'000, 3);
  Write("archive.bin", bytes);
  Write("parts.csv",
        "where,start,size\narchive.bin,0,100\narchive.bin,9000,1000\narchive.bin,10000,0\narchive.bin,9999,1\n");
  const records::ManifestFields fields{.file = "where", .offset = "start", .length = "size"};
  const auto reader = Reader("parts.csv", fields);
  const std::vector<std::pair<size_t, size_t>> parts = {{0, 100}, {9000, 1000}, {10'000, 0}, {9999, 1}};
  for (uint64_t k = 0; k < parts.size(); ++k) {
    const auto data = ReadAll(*reader, k, nullptr);
    EXPECT_EQ(Parsed(data).file, bytes.substr(parts[k].first, parts[k].second));
  }
  const auto to_end = Reader("parts.csv", {.file = "where", .offset = "start"});
  const auto data = ReadAll(*to_end, 1, nullptr);
  EXPECT_EQ(Parsed(data).file, bytes.substr(9000));
  EXPECT_NE(to_end->index().content_hash, reader->index().content_hash);
}

TEST_F(Manifests, ARowWithoutAFileIsARecordWithTheReason) {
  const std::string outside = fs::canonical(folder_.path()).string() + "/secret";
  WriteBytes(outside, "secret");
  fs::create_symlink(outside, PathOf("link"));
  fs::create_directories(PathOf("folder"));
  Write("here", "bytes");
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"gone", "gone: No such file"},
      {"", "it names no file"},
      {"../secret", "outside of the data roots"},
      {outside, "outside of the data roots"},
      {"link", "outside of the data roots"},
      {"folder", "is no regular file"},
      {"hdfs://node/file", "is a URL"},
      {"here/below", "here/below"},
  };
  std::string text = "file,label\nhere,1\n";
  for (const auto& [name, reason] : rows) absl::StrAppend(&text, name, ",0\n");
  Write("list.csv", text);
  const auto reader = Reader("list.csv");
  ASSERT_EQ(reader->index().record_count(), rows.size() + 1);
  for (uint64_t k = 0; k < rows.size(); ++k) {
    const auto data = ReadAll(*reader, k + 1, nullptr);
    const FramedFile framed = Parsed(data);
    EXPECT_EQ(framed.state, FileState::kNone);
    EXPECT_THAT(std::string(framed.file), HasSubstr(rows[k].second));
    EXPECT_EQ(Parsed(ReadAll(*reader, k + 1, &kFields)).state, FileState::kNotRead);
  }
  EXPECT_EQ(*ShardIndex::Parse(reader->index().Serialize()), reader->index());
}

TEST_F(Manifests, APartOutsideOfItsFileIsNone) {
  Write("here", "0123456789");
  Write("list.jsonl",
        "{\"file\":\"here\",\"at\":0,\"n\":10}\n{\"file\":\"here\",\"at\":11,\"n\":0}\n"
        "{\"file\":\"here\",\"at\":1,\"n\":10}\n{\"file\":\"here\",\"at\":-1,\"n\":1}\n"
        "{\"file\":\"here\",\"n\":1}\n{\"file\":[\"here\",\"here\"],\"at\":0,\"n\":1}\n"
        "{\"file\":\"here\",\"at\":1,\"n\":9223372036854775807}\n");
  const auto reader = Reader("list.jsonl", {.file = "file", .offset = "at", .length = "n"});
  const std::vector<std::string> reasons = {"",
                                            "has 10 bytes, and the row names bytes from 11",
                                            "from 1 to 11",
                                            "the field 'at' has no number",
                                            "the field 'at' has no number",
                                            "has 2 values, not the name of a file",
                                            "has 10 bytes"};
  for (uint64_t k = 0; k < reasons.size(); ++k) {
    const auto data = ReadAll(*reader, k, nullptr);
    const FramedFile framed = Parsed(data);
    EXPECT_EQ(framed.state, reasons[k].empty() ? FileState::kRead : FileState::kNone);
    EXPECT_THAT(std::string(framed.file), HasSubstr(reasons[k]));
  }
}

TEST_F(Manifests, AManifestWithoutAnyFileIsRefused) {
  Write("list.csv", "file\ngone1\ngone2\n");
  EXPECT_THAT(std::string(Index("list.csv").status().message()),
              AllOf(HasSubstr("no row has a file; record 0: "), HasSubstr("gone1")));
  Write("one.csv", "picture\nhere\n");
  EXPECT_THAT(std::string(Index("one.csv").status().message()),
              AllOf(HasSubstr("its only row has no file: the row has no field file, file_name, filename, path, url"),
                    HasSubstr("manifest { file: \"NAME\" }")));
  EXPECT_THAT(std::string(Index("one.csv", {.file = "image"}).status().message()),
              HasSubstr("the row has no field 'image', which manifest.file names"));
  Write("empty.csv", "file\n");
  EXPECT_EQ(Index("empty.csv")->record_count(), 0);
}

// The reader's error for the file of record 0 after a change.
TEST_F(Manifests, AFileThatIsNotTheIndexedOneIsADamagedRead) {
  const auto set_time = [this](const std::string& name, int64_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 123}};
    ASSERT_EQ(utimensat(AT_FDCWD, PathOf(name).c_str(), times, 0), 0);
  };
  const std::string outside = fs::canonical(folder_.path()).string() + "/secret";
  WriteBytes(outside, "0123456789");
  const std::vector<std::pair<std::string, std::function<void()>>> changes = {
      {"No such file", [&] { fs::remove(PathOf("sub/here")); }},
      {"has 9 bytes, and had 10", [&] { Write("sub/here", "012345678"); }},
      {"has the time 1500000001, and had 1500000000", [&] { set_time("sub/here", 1'500'000'001); }},
      {"by a symbolic link",
       [&] {
         fs::remove(PathOf("sub/here"));
         fs::create_symlink(outside, PathOf("sub/here"));
       }},
      {"by a symbolic link",
       [&] {
         fs::rename(PathOf("sub"), PathOf("moved"));
         fs::create_symlink(PathOf("moved"), PathOf("sub"));
       }},
  };
  for (const auto& [message, change] : changes) {
    SCOPED_TRACE(message);
    fs::remove_all(PathOf("sub"));
    fs::remove_all(PathOf("moved"));
    Write("sub/here", "0123456789");
    Write("other", "bytes");
    set_time("sub/here", 1'500'000'000);
    Write("list.csv", "file\nsub/here\nother\n");
    const auto reader = Reader("list.csv");
    EXPECT_EQ(Parsed(ReadAll(*reader, 0, nullptr)).state, FileState::kRead);
    change();
    const absl::Status damage = ReadAll(*reader, 0, nullptr).status();
    EXPECT_TRUE(absl::IsDataLoss(damage)) << damage;
    EXPECT_EQ(FaultOf(damage), Fault::kNoFile);
    EXPECT_THAT(std::string(damage.message()),
                AllOf(HasSubstr("record 0 at offset 5: "), HasSubstr(message), HasSubstr("touch the manifest")));
    EXPECT_TRUE(SameDamage(damage, ReadAll(*reader, 0, nullptr).status()));
    EXPECT_EQ(Parsed(ReadAll(*reader, 0, &kFields)).state, FileState::kNotRead) << "the row needs no file";
    EXPECT_EQ(Parsed(ReadAll(*reader, 1, nullptr)).file, "bytes");
  }
}

TEST_F(Manifests, ACopyWithTheSameTimesHasTheSameContent) {
  Write("here", "0123456789");
  Write("list.csv", "file\nhere\n");
  const uint64_t before = Index("list.csv")->content_hash;
  fs::create_directories(root() + "2");
  for (const char* name : {"here", "list.csv"}) {
    fs::copy_file(PathOf(name), root() + "2/" + name);
    fs::last_write_time(root() + "2/" + name, fs::last_write_time(PathOf(name)));
  }
  IndexOptions options = Options();
  options.files = AccessTo(storage::LocalFiles(), {{.name = "data", .path = root() + "2", .given = root() + "2"}});
  const auto file = OpenFile(root() + "2/list.csv");
  EXPECT_EQ(BuildShardIndex(**file, options)->content_hash, before);
  Write("here", "9876543210");
  fs::last_write_time(PathOf("here"), fs::last_write_time(PathOf("here")) + std::chrono::seconds(2));
  EXPECT_NE(Index("list.csv")->content_hash, before);
}

TEST_F(Manifests, LinksInsideOfTheRootsAreFollowed) {
  Write("blobs/0a", "bytes");
  fs::create_directories(PathOf("snapshot"));
  fs::create_symlink("../blobs/0a", PathOf("snapshot/photo.jpg"));
  Write("snapshot/list.csv", "file\nphoto.jpg\n../blobs/0a\n");
  const auto reader = Reader("snapshot/list.csv");
  for (uint64_t k : {0, 1}) {
    const auto data = ReadAll(*reader, k, nullptr);
    EXPECT_EQ(Parsed(data).file, "bytes");
    EXPECT_EQ(reader->index().files().Piece(k).path, "../blobs/0a");
  }
}

// An index is kept for later processes, which may have other roots.
TEST_F(Manifests, AnIndexHoldsForOtherRoots) {
  Write("sub/here", "bytes");
  Write("there", "other");
  Write("sub/list.csv", absl::StrCat("file\nhere\n", PathOf("there"), "\n"));
  IndexOptions options = Options();
  options.files = AccessTo(storage::LocalFiles(), {{.name = "all", .path = "/", .given = "/"}});
  const auto file = OpenFile(PathOf("sub/list.csv"));
  const absl::StatusOr<ShardIndex> index = BuildShardIndex(**file, options);
  ASSERT_TRUE(index.ok()) << index.status();
  const auto reader = Reader("sub/list.csv", *index);
  EXPECT_EQ(Parsed(ReadAll(*reader, 0, nullptr)).file, "bytes");
  EXPECT_EQ(Parsed(ReadAll(*reader, 1, nullptr)).file, "other");
  EXPECT_EQ(Index("sub/list.csv")->content_hash, index->content_hash);
  auto again = storage::LocalFiles()->OpenAndWait(PathOf("sub/list.csv"));
  const auto confined = ShardReader::Open(
      *std::move(again), std::make_shared<const ShardIndex>(*index),
      {.files = AccessTo(storage::LocalFiles(), {{.name = "sub", .path = PathOf("sub"), .given = PathOf("sub")}})});
  EXPECT_EQ(Parsed(ReadAll(**confined, 0, nullptr)).file, "bytes");
  EXPECT_THAT(std::string(ReadAll(**confined, 1, nullptr).status().message()),
              HasSubstr("there is outside of the data roots (sub="));
}

TEST_F(Manifests, AFileOfAnotherRootIsFoundWhereThatRootIs) {
  for (const char* place : {"1", "2"}) {
    Write(absl::StrCat("meta", place, "/list.csv"), "file\n../images1/x\n");
    Write(absl::StrCat("images", place, "/x"), "bytes");
    fs::last_write_time(PathOf(absl::StrCat("images", place, "/x")), fs::last_write_time(PathOf("images1/x")));
  }
  const auto access = [this](const std::string& place) {
    return AccessTo(storage::LocalFiles(), {{.name = "meta", .path = PathOf("meta" + place), .given = {}},
                                            {.name = "images", .path = PathOf("images" + place), .given = {}}});
  };
  IndexOptions options = Options();
  options.files = access("1");
  const absl::StatusOr<ShardIndex> index = BuildShardIndex(**OpenFile(PathOf("meta1/list.csv")), options);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->files().Piece(0).path, "//images/x");
  ShardIndex of_other = *index;
  of_other.mtime_ns = OpenFile(PathOf("meta2/list.csv")).value()->Info()->mtime_ns;
  fs::remove_all(PathOf("images1"));
  auto file = storage::LocalFiles()->OpenAndWait(PathOf("meta2/list.csv"));
  const auto reader =
      ShardReader::Open(*std::move(file), std::make_shared<const ShardIndex>(of_other), {.files = access("2")});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(Parsed(ReadAll(**reader, 0, nullptr)).file, "bytes");
  const uint64_t variant = options.variant();
  options.files = access("2");
  EXPECT_NE(options.variant(), variant) << "the rows that have a file depend on the roots";
  options.files = access("1");
  options.max_record_bytes = 7;
  EXPECT_NE(options.variant(), variant);
}

TEST_F(Manifests, ManyRowsKeepTheirFilesThroughASelection) {
  std::string text = "file,label\n";
  for (int i = 0; i < 1000; ++i) {
    const std::string name = absl::StrCat("class", i % 7, "/", i);
    Write(name, absl::StrCat("bytes of ", i));
    absl::StrAppend(&text, name, ",", i % 7, "\n");
  }
  Write("list.csv", text);
  const absl::StatusOr<ShardIndex> whole = Index("list.csv");
  ASSERT_TRUE(whole.ok()) << whole.status();
  std::vector<uint32_t> numbers;
  IndexGroups groups{{"0", "1"}, {}};
  for (uint32_t k = 3; k < 1000; k += 13) {
    numbers.push_back(k);
    groups.of_records.push_back(numbers.size() % 2);
  }
  for (const bool grouped : {false, true}) {
    const ShardIndex selected = whole->Selected(numbers, 0, grouped ? groups : IndexGroups());
    const absl::StatusOr<ShardIndex> parsed = ShardIndex::Parse(selected.Serialize());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, selected);
    const auto reader = Reader("list.csv", *parsed);
    for (uint64_t k = 0; k < numbers.size(); ++k) {
      const auto data = ReadAll(*reader, k, nullptr);
      EXPECT_EQ(Parsed(data).file, absl::StrCat("bytes of ", reader->index().NumberInShard(k)));
    }
  }
}

TEST_F(Manifests, VerifyReadsAllFiles) {
  Write("here", "bytes");
  Write("list.csv", "file\nhere\ngone\nhere\n");
  const auto file = OpenFile(PathOf("list.csv"));
  VerifyOptions options;
  options.container = ContainerKind::kManifest;
  options.row_files = records::RowFilesOf({});
  options.files = Access();
  const auto report = VerifyShard(**file, options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->readable_records, 2);
  ASSERT_EQ(report->broken.size(), 1);
  EXPECT_THAT(report->Describe(0), AllOf(HasSubstr("record 1 at offset 10"), HasSubstr("it has no file ("),
                                         HasSubstr("gone: No such file")));
  EXPECT_EQ(report->ReadableRecords(), (std::vector<uint64_t>{0, 2}));
}

// Objects have tags, and answer later.
TEST(ManifestsOfObjects, AnObjectIsReadInTheIndexedState) {
  storage::MemoryStorage storage;
  std::string text = "file\n";
  for (int i = 0; i < 600; ++i) {
    ASSERT_TRUE(storage.Put(absl::StrCat("mem://bucket/photos/", i), absl::StrCat("bytes of ", i)).ok());
    absl::StrAppend(&text, i % 2 == 0 ? "photos/" : "mem://bucket/photos/", i, "\n");
  }
  absl::StrAppend(&text, "photos/../photos/1\nmem://other/1\nphotos/%2E%2e/x\nphotos/a%2fb\n");
  ASSERT_TRUE(storage.Put("mem://bucket/list.csv", text).ok());
  IndexOptions options;
  options.container = ContainerKind::kManifest;
  options.row_files = records::RowFilesOf({});
  options.files = AccessTo(&storage, {{.name = "bucket", .path = "mem://bucket"}});
  auto file = storage.OpenAndWait("mem://bucket/list.csv");
  ASSERT_TRUE(file.ok()) << file.status();
  const absl::StatusOr<ShardIndex> index = BuildShardIndex(**file, options);
  ASSERT_TRUE(index.ok()) << index.status();
  ASSERT_EQ(index->record_count(), 604);
  for (uint64_t k = 600; k < 604; ++k) EXPECT_FALSE(index->files().HasFile(k));
  const auto reader =
      ShardReader::Open(*std::move(file), std::make_shared<const ShardIndex>(*index), {.files = options.files});
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (uint64_t k = 0; k < 600; k += 37) {
    const auto data = ReadAll(**reader, k, nullptr);
    EXPECT_EQ(Parsed(data).file, absl::StrCat("bytes of ", k));
  }
  ASSERT_TRUE(storage.Put("mem://bucket/photos/5", "bytes of X").ok());
  const absl::Status changed = ReadAll(**reader, 5, nullptr).status();
  EXPECT_TRUE(absl::IsDataLoss(changed)) << changed;
}

// A manifest on a disk may name objects, if a root has them. The root "/" has none.
TEST_F(Manifests, ALocalManifestNamesObjects) {
  storage::MemoryStorage objects;
  ASSERT_TRUE(objects.Put("mem://bucket/photo", "bytes").ok());
  const auto files = storage::FilesBy(storage::LocalFiles(), {{"mem", [&objects] { return &objects; }}});
  Write("list.csv", "file\nmem://bucket/photo\nlocal\n");
  Write("local", "more bytes");
  IndexOptions options = Options();
  std::vector<DataRoot> roots = {{.name = "local", .path = "/", .given = {}},
                                 {.name = "mem", .path = "mem:/", .given = {}}};
  options.files = AccessTo(files.get(), roots);
  const absl::StatusOr<ShardIndex> index = BuildShardIndex(**OpenFile(PathOf("list.csv")), options);
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->files().Piece(0).path, "//mem/bucket/photo");
  const auto reader = ShardReader::Open(*files->OpenAndWait(PathOf("list.csv")),
                                        std::make_shared<const ShardIndex>(*index), {.files = options.files});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(Parsed(ReadAll(**reader, 0, nullptr)).file, "bytes");
  EXPECT_EQ(Parsed(ReadAll(**reader, 1, nullptr)).file, "more bytes");
  roots.pop_back();
  options.files = AccessTo(files.get(), roots);
  const absl::StatusOr<ShardIndex> confined = BuildShardIndex(**OpenFile(PathOf("list.csv")), options);
  ASSERT_TRUE(confined.ok()) << confined.status();
  EXPECT_THAT(confined->files().Piece(0).error, HasSubstr("mem://bucket/photo is outside of the data roots"));
}

}  // namespace
}  // namespace penstock::sources
