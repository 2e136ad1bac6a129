#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "pipeline/image/jpeg/restart_jpeg.h"
#include "pipeline/import/file_source.h"
#include "pipeline/import/record_files_source.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/base/temp_dir.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/pipeline/import/import_testing.h"
#include "tests/support/test_dataset.h"

namespace penstock::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PrepareOptions Untouched() {
  PrepareOptions options;
  options.restart_index = false;
  return options;
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(ClassFolders, LabelsFollowTheBytesOfTheNames) {
  TempDir dir;
  dir.Write("src/b/2.jpg", "22");
  dir.Write("src/b/1.jpg", "1");
  dir.Write("src/B/x.jpg", "3");
  dir.Write("src/a/sub/deep.jpg", "4");
  dir.Write("src/a/.hidden", "no");
  dir.Write("src/stray.txt", "no");
  std::filesystem::create_directory(dir.File("src/empty"));
  const auto found = ListClassFolders(storage::LocalFiles(), dir.File("src"), nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(LabelNamesText(found->labels), "B\t0\na\t1\nb\t2\nempty\t3\n");
  EXPECT_EQ(found->stray, 1u);
  EXPECT_EQ(found->empty, 1u);
  const FileSet& files = found->files;
  ASSERT_EQ(files.size(), 4u);
  EXPECT_EQ(files.path(0), dir.File("src/B/x.jpg"));
  EXPECT_EQ(files.name(1), "sub/deep.jpg");
  EXPECT_EQ(files.class_name(1), "a");
  EXPECT_EQ(files.name(2), "1.jpg");
  EXPECT_EQ(files.label(3), 2);
  EXPECT_EQ(files.bytes(), 5u);
}

TEST(ClassFolders, TakeTheirLabelsFromAFile) {
  TempDir dir;
  dir.Write("src/cat/1.jpg", "1");
  dir.Write("src/great dane/1.jpg", "1");
  dir.Write("labels", "great dane 7\r\n\ncat\t-1\nunused 3\n");
  const auto labels = ReadLabelNames(storage::LocalFiles(), dir.File("labels"));
  ASSERT_TRUE(labels.ok()) << labels.status();
  const auto found = ListClassFolders(storage::LocalFiles(), dir.File("src"), &*labels);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->files.label(0), -1);
  EXPECT_EQ(found->files.label(1), 7);
  LabelNames lacking = *labels;
  lacking.erase("cat");
  EXPECT_THAT(Message(ListClassFolders(storage::LocalFiles(), dir.File("src"), &lacking).status()),
              HasSubstr("src/cat has no number"));
}

TEST(ClassFolders, ErrorsNameAFolderWithoutClassFolders) {
  TempDir dir;
  EXPECT_EQ(ListClassFolders(storage::LocalFiles(), dir.File("none"), nullptr).status().code(),
            absl::StatusCode::kNotFound);
  dir.Write("shards/train-00000", "no image");
  EXPECT_THAT(Message(ListClassFolders(storage::LocalFiles(), dir.File("shards"), nullptr).status()),
              HasSubstr("no class folders"));
  std::filesystem::create_directories(dir.File("empty/a"));
  EXPECT_THAT(Message(ListClassFolders(storage::LocalFiles(), dir.File("empty"), nullptr).status()),
              HasSubstr("hold no files"));
  dir.Write("loop/a/1.jpg", "1");
  std::filesystem::create_directory_symlink(dir.File("loop/a"), dir.File("loop/a/again"));
  EXPECT_THAT(Message(ListClassFolders(storage::LocalFiles(), dir.File("loop"), nullptr).status()),
              HasSubstr("nested"));
}

TEST(ClassFolders, AFlatFolderOfImagesHasNoLabels) {
  TempDir dir;
  for (const char* name : {"flat/1.jpg", "flat/2.jpg"}) dir.Write(name, image::MakeJpeg({.width = 40, .height = 30}));
  auto found = ListClassFolders(storage::LocalFiles(), dir.File("flat"), nullptr);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_FALSE(found->files.labeled());
  EXPECT_TRUE(found->labels.empty());
  ASSERT_EQ(found->files.size(), 2u);
  EXPECT_EQ(found->files.path(1), dir.File("flat/2.jpg"));
  const auto source = NewFileSource(std::move(found->files), {}, false);
  ASSERT_TRUE(source.ok()) << source.status();
  MadeRecord made;
  ASSERT_TRUE((*source)->NewMaker()->Make(0, &made).ok());
  EXPECT_EQ(made.bytes.find("label"), std::string::npos);
  EXPECT_NE(made.bytes.find("1.jpg"), std::string::npos);
}

TEST(ClassFolders, OtherFilesAreLeftOutOnRequest) {
  TempDir dir;
  dir.Write("src/a/1.jpg", image::MakeJpeg({.width = 40, .height = 30}));
  dir.Write("src/a/Thumbs.db", "no image");
  auto all = ListClassFolders(storage::LocalFiles(), dir.File("src"), nullptr);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->files.size(), 2u);
  const auto source = NewFileSource(std::move(all->files), {}, false);
  ASSERT_TRUE(source.ok()) << source.status();
  MadeRecord made;
  EXPECT_THAT(Message((*source)->NewMaker()->Make(1, &made)), HasSubstr("--skip-other"));

  const auto images = ListClassFolders(storage::LocalFiles(), dir.File("src"), nullptr, /*skip_other=*/true);
  ASSERT_TRUE(images.ok()) << images.status();
  EXPECT_EQ(images->files.size(), 1u);
  EXPECT_EQ(images->files.left_out(), 1u);
  EXPECT_EQ(images->files.first_left_out(), dir.File("src/a/Thumbs.db"));
  dir.Write("list", "src/a/1.jpg 1\nsrc/a/Thumbs.db 2\nsrc/a/gone.jpg 3\n");
  const auto listed = ReadFileList(storage::LocalFiles(), dir.File("list"), dir.path(), nullptr, /*skip_other=*/true);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->size(), 2u) << "an unreadable file is kept, so that it gets its own error";
  EXPECT_EQ(listed->unreadable(), 1u);
}

TEST(FileList, AcceptsCommasAsSeparators) {
  TempDir dir;
  const LabelNames names = {{"hen,cock", 8}, {"owl", 9}};
  dir.Write("list", "a.jpg,3\nb c.jpg, 4\n\"d,e.jpg\",5\nf.jpg 6\ng,h.jpg 7\ni.jpg hen,cock\nj.jpg,\"owl\"\n");
  const auto files = ReadFileList(storage::LocalFiles(), dir.File("list"), "/r", &names);
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<std::string> found;
  for (size_t i = 0; i < files->size(); ++i) found.push_back(absl::StrCat(files->path(i), "=", files->label(i)));
  EXPECT_THAT(found, ElementsAre("/r/a.jpg=3", "/r/b c.jpg=4", "/r/d,e.jpg=5", "/r/f.jpg=6", "/r/g,h.jpg=7",
                                 "/r/i.jpg=8", "/r/j.jpg=9"));
  for (const char* heads : {"filename,label", "file name,label"}) {
    dir.Write("list", absl::StrCat(heads, "\na.jpg,1\n"));
    EXPECT_THAT(Message(ReadFileList(storage::LocalFiles(), dir.File("list"), "/r", nullptr).status()),
                HasSubstr("list:1: 'label' is no number; if this line names the columns, remove it"));
  }
}

TEST(LabelNames, BadLinesAreNamed) {
  TempDir dir;
  dir.Write("l", "a 1\nb\n");
  EXPECT_THAT(Message(ReadLabelNames(storage::LocalFiles(), dir.File("l")).status()), HasSubstr("l:2: 'b'"));
  dir.Write("l", "a 1\nb two\n");
  EXPECT_THAT(Message(ReadLabelNames(storage::LocalFiles(), dir.File("l")).status()), HasSubstr("l:2"));
  dir.Write("l", "a 1\na 2\n");
  EXPECT_THAT(Message(ReadLabelNames(storage::LocalFiles(), dir.File("l")).status()),
              HasSubstr("has the number 1 above and 2 here"));
  dir.Write("l", "\n");
  EXPECT_FALSE(ReadLabelNames(storage::LocalFiles(), dir.File("l")).ok());
}

TEST(FileList, ReadsPathsAndLabels) {
  TempDir dir;
  dir.Write("root/a b.jpg", "1");
  dir.Write("root/c.jpg", "2");
  dir.Write("list", absl::StrCat("a b.jpg 3\nc.jpg\t-4\r\n\n", dir.File("root/c.jpg"), " tench\n"));
  const LabelNames names = {{"tench", 9}};
  const auto files = ReadFileList(storage::LocalFiles(), dir.File("list"), dir.File("root"), &names);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 3u);
  EXPECT_EQ(files->path(0), dir.File("root/a b.jpg"));
  EXPECT_EQ(files->label(1), -4);
  EXPECT_EQ(files->path(2), dir.File("root/c.jpg"));
  EXPECT_EQ(files->label(2), 9);
  EXPECT_EQ(files->class_name(2), "tench");
  EXPECT_EQ(files->unreadable(), 0u);
}

TEST(FileList, BadLinesAreNamed) {
  TempDir dir;
  dir.Write("list", "a.jpg 1\nb.jpg\n");
  EXPECT_THAT(Message(ReadFileList(storage::LocalFiles(), dir.File("list"), "/", nullptr).status()),
              HasSubstr("list:2: 'b.jpg'"));
  dir.Write("list", "a.jpg one\n");
  EXPECT_THAT(Message(ReadFileList(storage::LocalFiles(), dir.File("list"), "/", nullptr).status()),
              HasSubstr("'one' is no number; --labels"));
  dir.Write("list", "");
  EXPECT_THAT(Message(ReadFileList(storage::LocalFiles(), dir.File("list"), "/", nullptr).status()),
              HasSubstr("lists no files"));
  EXPECT_EQ(ReadFileList(storage::LocalFiles(), dir.File("gone"), "/", nullptr).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(FileSource, WritesImageNetsKeys) {
  TempDir dir;
  const std::string jpeg = image::MakeJpeg({.width = 40, .height = 30});
  dir.Write("src/tench/n1.JPEG", jpeg);
  auto found = ListClassFolders(storage::LocalFiles(), dir.File("src"), nullptr);
  ASSERT_TRUE(found.ok());
  const auto source = NewFileSource(found->files, Untouched(), false);
  ASSERT_TRUE(source.ok()) << source.status();
  const std::string record = MakeAll(**source).at(0);
  EXPECT_EQ(FeatureOf<std::string>(record, "image/encoded"), jpeg);
  EXPECT_EQ(FeatureOf<int64_t>(record, "image/class/label"), 0);
  EXPECT_EQ(FeatureOf<std::string>(record, "image/class/text"), "tench");
  EXPECT_EQ(FeatureOf<std::string>(record, "image/filename"), "n1.JPEG");
  EXPECT_EQ(FeatureOf<std::string>(record, "image/format"), "JPEG");
  EXPECT_EQ(FeatureOf<int64_t>(record, "image/height"), 30);
  EXPECT_EQ(FeatureOf<int64_t>(record, "image/width"), 40);
}

TEST(FileSource, AChangedFileIsAnotherSource) {
  TempDir dir;
  dir.Write("list", "a.jpg 1\n");
  dir.Write("a.jpg", "1");
  const auto print = [&] {
    return ReadFileList(storage::LocalFiles(), dir.File("list"), dir.path(), nullptr)->fingerprint();
  };
  const uint64_t before = print();
  EXPECT_EQ(print(), before);
  dir.Write("a.jpg", "12");
  EXPECT_NE(print(), before);
}

TEST(FileSource, BadFilesAreNamed) {
  TempDir dir;
  dir.Write("text.jpg", "no image at all, but text");
  dir.Write("cut.jpg", image::MakeJpeg({.width = 40, .height = 30}).substr(0, 600));
  dir.Write("list", "text.jpg 1\ncut.jpg 2\ngone.jpg 3\n");
  auto files = ReadFileList(storage::LocalFiles(), dir.File("list"), dir.path(), nullptr);
  ASSERT_TRUE(files.ok());
  const absl::Status refused = NewFileSource(*files, Untouched(), false).status();
  EXPECT_THAT(Message(refused), HasSubstr("1 of 3 files cannot be read"));
  EXPECT_THAT(Message(refused), HasSubstr(dir.File("gone.jpg")));
  for (const bool restart_index : {false, true}) {
    PrepareOptions options;
    options.restart_index = restart_index;
    const auto source = NewFileSource(*files, options, true);
    ASSERT_TRUE(source.ok());
    const auto maker = (*source)->NewMaker();
    MadeRecord record;
    for (uint64_t i = 0; i < 3; ++i) {
      const absl::Status status = maker->Make(i, &record);
      EXPECT_TRUE(IsBadItem(status)) << status;
      EXPECT_THAT(Message(status), HasSubstr(files->path(i)));
    }
  }
}

// Opens a job over all shards in `folder`.
absl::StatusOr<std::shared_ptr<loader::DatasetReader>> OpenShards(const std::string& folder) {
  v1::JobSpec job;
  job.add_dataset()->add_files(folder + "/*");
  return loader::OpenDataset(storage::LocalFiles(), job, {{"local", "/"}}, std::nullopt, 1);
}

TEST(RecordFilesSource, KeepsRecordsAndRewritesTheirImages) {
  TempDir dir;
  const support::TestDataset set = support::MakeImageDataset({.shards = 2, .records_per_shard = 5}, dir.path());
  const auto reader = OpenShards(dir.path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto kept = MakeAll(*NewRecordFilesSource(*reader, std::nullopt, "image/encoded"));
  ASSERT_EQ(kept.size(), 10u);
  PrepareOptions smaller = Untouched();
  smaller.longer_side = 32;
  const auto untouched = MakeAll(*NewRecordFilesSource(*reader, Untouched(), "image/encoded"));
  const auto indexed = MakeAll(*NewRecordFilesSource(*reader, PrepareOptions(), "image/encoded"));
  const auto resized = MakeAll(*NewRecordFilesSource(*reader, smaller, "image/encoded"));
  for (size_t i = 0; i < kept.size(); ++i) {
    std::string original;
    ASSERT_TRUE((*reader)->ReadRecord(i, &original).ok());
    EXPECT_EQ(kept[i], original);
    EXPECT_EQ(untouched[i], original);
    for (const std::string& changed : {indexed[i], resized[i]}) {
      EXPECT_EQ(FeatureOf<int64_t>(changed, "image/class/label"), FeatureOf<int64_t>(original, "image/class/label"));
      EXPECT_EQ(FeatureOf<std::string>(changed, "image/filename"), FeatureOf<std::string>(original, "image/filename"));
    }
    const std::string jpeg = *FeatureOf<std::string>(original, "image/encoded");
    EXPECT_EQ(FeatureOf<std::string>(indexed[i], "image/encoded"), *image::AddRestartIndex(jpeg));
    EXPECT_EQ(FeatureOf<int64_t>(indexed[i], "image/width"), std::nullopt);
    const auto header = image::ProbeImage(*FeatureOf<std::string>(resized[i], "image/encoded"));
    ASSERT_TRUE(header.ok());
    EXPECT_EQ(header->width, 32);
    EXPECT_EQ(FeatureOf<int64_t>(resized[i], "image/width"), 32);
    EXPECT_EQ(FeatureOf<int64_t>(resized[i], "image/height"), header->height);
    EXPECT_EQ(FeatureOf<std::string>(resized[i], "image/format"), "JPEG");
  }
}

TEST(RecordFilesSource, NamesTheRecordWhoseImageItCannotFind) {
  TempDir dir;
  support::MakeImageDataset({.shards = 1, .records_per_shard = 2}, dir.path());
  const auto reader = OpenShards(dir.path());
  ASSERT_TRUE(reader.ok());
  const auto source = NewRecordFilesSource(*reader, PrepareOptions(), "picture");
  MadeRecord record;
  const absl::Status status = source->NewMaker()->Make(1, &record);
  EXPECT_TRUE(IsBadItem(status));
  EXPECT_THAT(Message(status), HasSubstr("record 1"));
  EXPECT_THAT(Message(status), HasSubstr("it has: image/boxes, image/class/label, image/encoded"));
  EXPECT_THAT(Message(status), HasSubstr("--image-key"));
}

}  // namespace
}  // namespace penstock::imports
