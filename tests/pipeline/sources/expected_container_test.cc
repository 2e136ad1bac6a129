// Shards whose job names their container (dataset.source).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/npy_header.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/sources/file_kind.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/index_job.h"
#include "tests/pipeline/sources/tar/tar_maker.h"
#include "tests/pipeline/sources/test_shards.h"
#include "tests/support/temp_folder.h"

namespace penstock::sources {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<ShardIndex> IndexAs(const std::string& bytes, v1::Source::Kind source) {
  v1::JobSpec job;
  job.add_dataset()->set_source(source);
  return BuildShardIndex(MemoryFile(bytes), IndexOptionsOf(job));
}

std::string TarOf(int samples) {
  std::string bytes;
  for (int i = 0; i < samples; ++i) AppendTarMember(std::to_string(i) + ".cls", "7", &bytes);
  return bytes;
}

constexpr char kJsonLines[] = "{\"a\": 1}\n{\"a\": 2}\n";

std::string TfRecords() {
  support::TempFolder folder;
  WriteShard(folder.File("s"), {"a", "b"});
  return Slurp(folder.File("s"));
}

std::string Array() { return NpyHeaderText("<f4", {2}) + "abcdefgh"; }

TEST(ExpectedContainer, GivesTheIndexOfTheDetectedContainer) {
  for (const auto& [bytes, source] :
       {std::pair(TarOf(3), v1::Source::TAR), std::pair(TfRecords(), v1::Source::TFRECORD),
        std::pair(std::string(kJsonLines), v1::Source::JSONL), std::pair(Array(), v1::Source::NPY)}) {
    const auto index = IndexAs(bytes, source);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ(*index, IndexAs(bytes, v1::Source::AUTO).value());
  }
}

TEST(ExpectedContainer, AShardOfAnotherContainerIsRejectedByName) {
  const absl::Status tar = IndexAs(TarOf(3), v1::Source::TFRECORD).status();
  EXPECT_TRUE(absl::IsInvalidArgument(tar));
  EXPECT_EQ(tar.message(),
            "memory: this is a tar archive, but dataset.source is TFRECORD; leave `source` out, or leave the "
            "file out of dataset.files");
  const absl::Status records = IndexAs(TfRecords(), v1::Source::TAR).status();
  EXPECT_TRUE(absl::IsInvalidArgument(records));
  EXPECT_EQ(records.message(),
            "memory: this is a TFRecord file, but dataset.source is TAR; leave `source` out, or leave the "
            "file out of dataset.files");
}

TEST(ExpectedContainer, EachPairOfAFileAndAnotherSourceIsNamed) {
  const std::string wrong[][3] = {{TarOf(3), "a tar archive", "JSONL"},     {TfRecords(), "a TFRecord file", "JSONL"},
                                  {kJsonLines, "a JSONL file", "TFRECORD"}, {kJsonLines, "a JSONL file", "TAR"},
                                  {TarOf(3), "a tar archive", "TEXT"},      {TfRecords(), "a TFRecord file", "TEXT"},
                                  {TarOf(3), "a tar archive", "CSV"},       {TfRecords(), "a TFRecord file", "TSV"},
                                  {TarOf(3), "a tar archive", "NPY"},       {kJsonLines, "a JSONL file", "NPY"},
                                  {Array(), "a .npy file", "TFRECORD"},     {Array(), "a .npy file", "TAR"},
                                  {Array(), "a .npy file", "JSONL"},        {Array(), "a .npy file", "CSV"}};
  for (const auto& [bytes, noun, name] : wrong) {
    v1::Source::Kind source = v1::Source::AUTO;
    ASSERT_TRUE(v1::Source::Kind_Parse(name, &source));
    const absl::Status status = IndexAs(bytes, source).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("memory: this is " + noun + ", but dataset.source is " + name + "; leave `source` out"));
  }
}

TEST(ExpectedContainer, TextOfAnyKindIsJsonlIfTheJobNamesIt) {
  for (const std::string bytes : {"", "\n", "[1]\n", "{\n\"a\": 1}", "text"}) {
    const auto index = IndexAs(bytes, v1::Source::JSONL);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ(index->kind().container, ContainerKind::kJsonl);
  }
  EXPECT_THAT(std::string(IndexAs(std::string(100, '\1'), v1::Source::JSONL).status().message()),
              HasSubstr("dataset.source is JSONL, but the file does not begin with text"));
  EXPECT_TRUE(IsOtherKindOfFile(IndexAs("\x89PNG\r\n\x1A\n" + std::string(600, 'p'), v1::Source::JSONL).status()));
}

TEST(ExpectedContainer, AnyBytesWithoutAZeroAreTextIfTheJobNamesIt) {
  for (const std::string& bytes :
       {std::string(), std::string("\n"), std::string(kJsonLines), std::string(600, '\1'), std::string("x^2 + y^2\n"),
        std::string("\xFF\xFE\n"), std::string(512, 'x') + std::string(9, '\0')}) {
    for (const std::string& stored : {bytes, GzippedBytes(bytes)}) {
      const auto index = IndexAs(stored, v1::Source::TEXT);
      ASSERT_TRUE(index.ok()) << index.status();
      EXPECT_EQ(index->kind().container, ContainerKind::kText);
      EXPECT_EQ(index->content_hash, IndexAs(bytes, v1::Source::TEXT)->content_hash);
    }
  }
  EXPECT_THAT(std::string(IndexAs(std::string(1, '\0'), v1::Source::TEXT).status().message()),
              HasSubstr("dataset.source is TEXT, but the file does not begin with text"));
  EXPECT_THAT(std::string(IndexAs(std::string(1, '\0'), v1::Source::CSV).status().message()),
              HasSubstr("dataset.source is CSV, but the file does not begin with text"));
  EXPECT_TRUE(IsOtherKindOfFile(IndexAs("\x89PNG\r\n\x1A\n" + std::string(600, '\0'), v1::Source::TEXT).status()));
}

TEST(ExpectedContainer, AFileThatIsNoShardGivesTheErrorOfAutomaticDetection) {
  for (const std::string& bytes :
       {std::string("\x28\xB5\x2F\xFD") + std::string(600, 'z'), "\xFF\xD8\xFF" + std::string(600, 'j')}) {
    const absl::Status as_tar = IndexAs(bytes, v1::Source::TAR).status();
    EXPECT_TRUE(IsOtherKindOfFile(as_tar)) << as_tar;
    EXPECT_EQ(as_tar, IndexAs(bytes, v1::Source::AUTO).status());
  }
  std::string damaged = TarOf(3);
  damaged.replace(257, 5, "xxxxx");
  EXPECT_THAT(std::string(IndexAs(damaged, v1::Source::TAR).status().message()),
              HasSubstr("memory: dataset.source is TAR, but the file does not begin with a tar header"));
}

TEST(ExpectedContainer, AnArchiveWithoutMembersHasNoSamples) {
  for (const size_t bytes : {0, 512, 1024, 10240}) {
    const auto index = IndexAs(std::string(bytes, '\0'), v1::Source::TAR);
    ASSERT_TRUE(index.ok()) << index.status();
    EXPECT_EQ(index->record_count(), 0u);
    EXPECT_EQ(index->kind().container, ContainerKind::kTar);
    EXPECT_EQ(ShardIndex::Parse(index->Serialize()).value(), *index);
  }
  EXPECT_FALSE(IndexAs(std::string(100, '\0'), v1::Source::TAR).ok());
  EXPECT_FALSE(IndexAs(std::string(1024, '\0'), v1::Source::AUTO).ok());
}

}  // namespace
}  // namespace penstock::sources
