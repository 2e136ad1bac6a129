#include "pipeline/pack/record_spool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/base/temp_dir.h"

namespace penstock::pack {
namespace {

std::string Record(int i) { return absl::StrCat("record ", i, std::string(static_cast<size_t>(i * 37 % 5000), 'r')); }

void WritePart(const std::string& file, int begin, int end) {
  const auto spool = SpoolWriter::Open(file);
  ASSERT_TRUE(spool.ok()) << spool.status();
  PackSchema schema;
  for (int i = begin; i < end; ++i) {
    ASSERT_TRUE((*spool)->Write(Record(i)).ok());
    schema.EndRecord();
  }
  ASSERT_TRUE((*spool)->Finish(schema).ok());
}

TEST(RecordSpool, PartsAreOneSourceInTheirOrder) {
  const TempDir dir;
  WritePart(dir.File("a"), 0, 1000);
  WritePart(dir.File("b"), 1000, 1000);
  WritePart(dir.File("c"), 1000, 1003);
  std::vector<std::unique_ptr<SpoolFile>> parts;
  for (const char* name : {"a", "b", "c"}) {
    auto part = SpoolFile::Open(dir.File(name));
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_EQ((*part)->schema().records(), (*part)->records());
    parts.push_back(*std::move(part));
  }
  const auto source = NewSpoolSource(std::move(parts));
  ASSERT_EQ(source->size(), 1003u);
  const auto maker = source->NewMaker();
  for (const int i : {0, 1002, 999, 1000, 17}) {
    imports::MadeRecord made;
    ASSERT_TRUE(maker->Make(static_cast<uint64_t>(i), &made).ok());
    EXPECT_EQ(made.bytes, Record(i));
  }
}

TEST(RecordSpool, AnUnfinishedPartHasATemporaryNameAndTakesNoSpace) {
  const TempDir dir;
  {
    const auto spool = SpoolWriter::Open(dir.File("part"));
    ASSERT_TRUE(spool.ok());
    ASSERT_TRUE((*spool)->Write(std::string(3'000'000, 'x')).ok());
    EXPECT_FALSE(StatFile(dir.File("part")).ok());
  }
  ASSERT_EQ(dir.Entries(), 1u);
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    EXPECT_EQ(entry.file_size(), 0u);
    EXPECT_EQ(entry.path().filename().string().find(absl::StrCat("part", kOpenSpool)), 0u);
  }
}

TEST(RecordSpool, ADamagedPartIsRejected) {
  const TempDir dir;
  WritePart(dir.File("a"), 0, 10);
  const std::string whole = *ReadWholeFile(dir.File("a"));
  dir.Write("cut", whole.substr(0, whole.size() - 1));
  dir.Write("short", whole.substr(0, 7));
  std::string wrong = whole;
  wrong[wrong.size() - 60] ^= 1;  // the schema, or where records end
  dir.Write("wrong", wrong);
  for (const char* name : {"cut", "short", "wrong"}) {
    EXPECT_TRUE(absl::IsDataLoss(SpoolFile::Open(dir.File(name)).status())) << name;
  }
}

}  // namespace
}  // namespace penstock::pack
