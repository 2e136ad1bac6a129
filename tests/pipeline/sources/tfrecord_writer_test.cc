#include "pipeline/sources/tfrecord/tfrecord_writer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

TEST(TFRecordWriter, TheFileAppearsOnlyWhenItIsComplete) {
  support::TempFolder folder;
  {
    auto writer = TFRecordWriter::Open(storage::LocalFiles(), folder.File("s"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Write("abc").ok());
    EXPECT_EQ((*writer)->records(), 1u);
    EXPECT_FALSE(std::filesystem::exists(folder.File("s")));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));  // a writer that was never closed leaves no file
  auto writer = TFRecordWriter::Open(storage::LocalFiles(), folder.File("s"));
  ASSERT_TRUE((*writer)->Write("abc").ok());
  ASSERT_TRUE((*writer)->Close().ok());
  EXPECT_FALSE((*writer)->Write("more").ok());
  EXPECT_FALSE((*writer)->Close().ok());
  EXPECT_EQ(Slurp(folder.File("s")), Frame({"abc"}));
}

TEST(TFRecordWriter, RejectsInvalidOptionsAndMissingFolders) {
  support::TempFolder folder;
  EXPECT_FALSE(TFRecordWriter::Open(storage::LocalFiles(), folder.File("s"), {.compression = Compression::kAuto}).ok());
  EXPECT_FALSE(
      TFRecordWriter::Open(storage::LocalFiles(), folder.File("s"), {.compression = Compression::kGzip, .level = 12})
          .ok());
  EXPECT_TRUE(absl::IsNotFound(TFRecordWriter::Open(storage::LocalFiles(), folder.File("none/s")).status()));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace penstock::sources
