#include "pipeline/pack/record_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/base/temp_dir.h"
#include "tests/pipeline/pack/pack_testing.h"

namespace penstock::pack {
namespace {

using ::testing::HasSubstr;

constexpr int kRecords = 100;

class RecordStreamTest : public ::testing::Test {
 protected:
  RecordStreamOptions Options(const std::string& name, bool replay = false) const {
    return {.folder = dir_.File(name),
            .prefix = "data",
            .shard_bytes = 1000,
            .arguments = {{"source", "x.parquet"}},
            .replay = replay};
  }

  absl::StatusOr<std::unique_ptr<RecordStream>> Open(const std::string& name, bool replay = false) {
    return RecordStream::Open(storage::LocalFiles(), Options(name, replay));
  }

  // Record i; every third one lacks a feature.
  static absl::Status Take(int i, RecordStream* stream) {
    std::string body = NumbersText<int64_t>("n", {i}, true) + BytesText("text", {std::string(i % 50, '.')}, true);
    if (i % 3 != 0) body += ArrayText("f", 10, {}, std::string(8, 'x'));
    return stream->Take({PackFrame::Type::kFeatures, body});
  }

  // Takes records [begin, end) and finishes, if the end is that of the source.
  static absl::Status Write(int begin, int end, RecordStream* stream) {
    for (int i = begin; i < end; ++i) {
      if (absl::Status taken = Take(i, stream); !taken.ok()) return taken;
    }
    return end < kRecords ? absl::OkStatus() : stream->Finish("name", "/x-*", "job.textproto");
  }

  // Returns the bytes of all files, each after its name.
  std::string Content(const std::string& name) const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(dir_.File(name))) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    std::string content;
    for (const std::string& file : files) {
      std::ifstream in(file, std::ios::binary);
      absl::StrAppend(&content, std::filesystem::path(file).filename().string(), "\n",
                      std::string(std::istreambuf_iterator<char>(in), {}));
    }
    return content;
  }

  std::string Whole() {
    const auto stream = Open("whole");
    EXPECT_TRUE(stream.ok()) << stream.status();
    EXPECT_TRUE(Write(0, kRecords, stream->get()).ok());
    return Content("whole");
  }

  TempDir dir_;
};

TEST_F(RecordStreamTest, ExamplesAreKeptAsTheyAre) {
  const auto stream = Open("examples");
  ASSERT_TRUE(stream.ok()) << stream.status();
  for (int i = 0; i < kRecords; ++i) {
    const std::string example =
        records::ExampleBuilder().Int64("n", i).Bytes("text", absl::StrCat("text ", i)).Serialize();
    ASSERT_TRUE((*stream)->Take({PackFrame::Type::kRecord, example}).ok());
  }
  const absl::Status bad = (*stream)->Take({PackFrame::Type::kRecord, "no Example"});
  EXPECT_TRUE(absl::IsInvalidArgument(bad)) << bad;
  EXPECT_THAT(std::string(bad.message()), HasSubstr(absl::StrCat("record ", kRecords, ": ")));
  ASSERT_TRUE((*stream)->Finish("name", "/x-*", "job.textproto").ok());
  EXPECT_EQ((*stream)->state().Records(), kRecords);
  const std::string content = Content("examples");
  EXPECT_THAT(content, HasSubstr(records::ExampleBuilder().Int64("n", 7).Bytes("text", "text 7").Serialize()));
  EXPECT_THAT(content, HasSubstr("features { key: \"n\" type: INT64 }"));
}

TEST_F(RecordStreamTest, ARunThatEndsAnywhereIsContinuedToTheSameFiles) {
  const std::string whole = Whole();
  for (const bool replay : {false, true}) {
    for (int end = 0; end <= kRecords; end += 7) {
      const std::string name = absl::StrCat(replay ? "replayed-" : "continued-", end);
      {
        const auto first = Open(name, replay);
        ASSERT_TRUE(first.ok()) << first.status();
        ASSERT_TRUE(Write(0, end, first->get()).ok());
      }
      const auto second = Open(name, replay);
      ASSERT_TRUE(second.ok()) << second.status();
      const int begin = replay ? 0 : static_cast<int>((*second)->state().Records());
      EXPECT_LE(begin, end);
      const absl::Status written = Write(begin, kRecords, second->get());
      EXPECT_TRUE(written.ok()) << written;
      EXPECT_EQ(Content(name), whole) << name;
    }
  }
}

TEST_F(RecordStreamTest, RecordsWithoutAnyValueMakeNoJob) {
  const auto stream = Open("out");
  ASSERT_TRUE(stream.ok()) << stream.status();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*stream)->Take({PackFrame::Type::kFeatures, ""}).ok());
  const absl::Status finished = (*stream)->Finish("name", "/x-*", "job.textproto");
  EXPECT_TRUE(absl::IsInvalidArgument(finished));
  EXPECT_THAT(finished.ToString(), HasSubstr("no record has a value"));
}

TEST_F(RecordStreamTest, ReplayedRecordsMustBeThoseOfTheShards) {
  {
    const auto first = Open("out", true);
    ASSERT_TRUE(Write(0, 50, first->get()).ok());
  }
  const auto second = Open("out", true);
  const absl::Status other = Write(1, kRecords, second->get());
  EXPECT_TRUE(absl::IsFailedPrecondition(other)) << other;
  EXPECT_THAT(other.ToString(), HasSubstr("the source yields other records"));
  EXPECT_EQ((*second)->Abandon(other), other);
  EXPECT_GT((*second)->state().shards.size(), 0u) << "finished shards stay";
}

TEST_F(RecordStreamTest, ACompleteFolderRejectsAnotherNumberOfRecords) {
  Whole();
  {
    const auto more = Open("whole", true);
    ASSERT_TRUE((*more)->state().complete);
    ASSERT_TRUE(Write(0, kRecords, more->get()).ok());
    EXPECT_THAT(Take(0, more->get()).ToString(), HasSubstr("more than 100 records came"));
  }
  const auto fewer = Open("whole", true);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Take(i, fewer->get()).ok());
  EXPECT_THAT((*fewer)->Finish("name", "/x-*", "job.textproto").ToString(), HasSubstr("10 records came"));
}

TEST_F(RecordStreamTest, OtherArgumentsAreRejectedByName) {
  {
    const auto first = Open("out");
    ASSERT_TRUE(Write(0, 50, first->get()).ok());
  }
  RecordStreamOptions options = Options("out");
  options.arguments[0].second = "y.parquet";
  EXPECT_THAT(RecordStream::Open(storage::LocalFiles(), options).status().ToString(),
              HasSubstr("source: then 'x.parquet', now 'y.parquet'"));
}

TEST_F(RecordStreamTest, ARunWithoutAFinishedShardLeavesNothing) {
  const auto stream = Open("out");
  ASSERT_TRUE(Take(0, stream->get()).ok());
  const absl::Status failed = (*stream)->Take({PackFrame::Type::kFeatures, "no feature"});
  EXPECT_THAT(failed.ToString(), HasSubstr("record 1: "));
  EXPECT_EQ((*stream)->Abandon(failed), failed);
  EXPECT_FALSE(std::filesystem::exists(dir_.File("out")));
}

TEST_F(RecordStreamTest, NoRecordsAreAnError) {
  const auto stream = Open("out");
  EXPECT_THAT((*stream)->Finish("name", "/x-*", "job.textproto").ToString(), HasSubstr("no records came"));
}

}  // namespace
}  // namespace penstock::pack
