#include "base/foreign_data.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/base/temp_dir.h"

namespace penstock {
namespace {

TEST(ForeignData, IsRecognizedByItsFirstBytes) {
  EXPECT_EQ(ConvertibleKind("PAR1 and more"), "a Parquet file");
  EXPECT_EQ(ConvertibleKind("ARROW1\0\0"), "an Arrow file");
  EXPECT_EQ(ConvertibleKind("\xFF\xFF\xFF\xFF\x10\x01"), "an Arrow stream");
  EXPECT_EQ(ConvertibleKind("\x89HDF\r\n\x1A\n"), "an HDF5 file");
  EXPECT_EQ(ConvertibleKind("\x83\xAF\x70\xD1\x0D\x88\x4A\x3F and more"), "an ArrayRecord file");
  EXPECT_EQ(ConvertibleKind(std::string(16, '\0') + "\xDE\xC0\xEF\xBE"), "an LMDB");
  for (const char* other : {"", "PAR", "name: \"x\"", "a longer text without any magic"}) {
    EXPECT_EQ(ConvertibleKind(other), "") << other;
  }
  EXPECT_TRUE(IsConvertibleUrl("hf://a/b"));
  EXPECT_FALSE(IsConvertibleUrl("s3://a/b"));
}

TEST(ForeignData, AFolderIsRecognizedByItsIndex) {
  const TempDir dir;
  EXPECT_EQ(ConvertibleFolder(dir.path()), "");
  const std::pair<const char*, const char*> kinds[] = {
      {R"({"shards": [{"column_names": []}], "version": 2})", "an MDS data set"},
      {R"({"version": 2, "shards": [{"column_names": []}]})", "an MDS data set"},
      {R"({"chunks": [{"chunk_bytes": 9}], "config": {}})", "a LitData data set"},
      {R"({"other": []})", ""},
      {"", ""},
  };
  for (const auto& [index, kind] : kinds) {
    dir.Write("index.json", index);
    EXPECT_EQ(ConvertibleFolder(dir.path()), kind) << index;
  }
}

TEST(ForeignData, TheCommandCanBePastedIntoAShell) {
  EXPECT_EQ(ConvertHint("/a/x.parquet"), "`penstock convert /a/x.parquet --out shards` makes shards of it");
  EXPECT_EQ(ConvertHint("it's"), "`penstock convert 'it'\\''s' --out shards` makes shards of it");
}

}  // namespace
}  // namespace penstock
