#include "client/cli/job_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/records/example_builder.h"

namespace penstock::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kJpegStart[] = "\xFF\xD8\xFF\xE0 and so on";

void ExpectRight(const std::string& text) {
  v1::JobSpec job;
  EXPECT_EQ(
      std::string(
          config::MistakesToStatus("written", config::CheckJobText(text, augment::CheckPipeline, &job)).message()),
      "")
      << text;
}

TEST(JobWriter, AnImageAndALabelBecomeATrainingRecipe) {
  JobWriter writer;
  for (int i = 0; i < 3; ++i) {
    records::ExampleBuilder example;
    example.Bytes("image/encoded", kJpegStart);
    example.Int64("image/class/label", i);
    example.Bytes("image/filename", "a.jpg");
    ASSERT_TRUE(writer.Add(sources::ContainerKind::kTfRecord, example.Serialize()).ok());
  }
  const std::string text = writer.Write("train", "/data/train-*", 1000000);
  EXPECT_THAT(text, HasSubstr("features { key: \"image/encoded\" column: \"image\" type: BYTES }"));
  EXPECT_THAT(text, HasSubstr("features { key: \"image/class/label\" column: \"label\" type: INT64 }"));
  EXPECT_THAT(text, HasSubstr("# features { key: \"image/filename\""));
  EXPECT_THAT(text, HasSubstr("random_resized_crop"));
  ExpectRight(text);
}

TEST(JobWriter, AnEvaluationReadsEveryRecordOnceWithoutRandomOps) {
  JobWriter writer;
  records::ExampleBuilder example;
  example.Bytes("image/encoded", kJpegStart);
  example.Int64("image/class/label", 1);
  ASSERT_TRUE(writer.Add(sources::ContainerKind::kTfRecord, example.Serialize()).ok());
  const std::string text = writer.Write("val", "/data/val-*", 50000, Recipe::kEvaluation);
  EXPECT_THAT(text, HasSubstr("# Written by `penstock init --eval` from the first 1 record."));
  EXPECT_THAT(text, HasSubstr("ops { resize { shorter_side: 256 } }\nops { center_crop { height: 224 width: 224 } }"));
  EXPECT_THAT(text, HasSubstr("order { shuffle: NONE }"));
  EXPECT_THAT(text, HasSubstr("batch { size: 256 last: PAD }"));
  EXPECT_THAT(text, Not(HasSubstr("random")));
  EXPECT_THAT(text, Not(HasSubstr("seed")));
  ExpectRight(text);
}

TEST(JobWriter, WithoutAnImageEveryFeatureBecomesAColumn) {
  JobWriter writer;
  for (int i = 0; i < 4; ++i) {
    records::ExampleBuilder example;
    example.FloatList("dense", std::vector<float>(13, 1.0f));
    example.Int64List("ids", std::vector<int64_t>(static_cast<size_t>(i), 7));
    if (i % 2 == 0) example.Int64("sometimes", 1);
    if (i % 2 == 0) example.Int64List("some_list", std::vector<int64_t>(3, 1));
    ASSERT_TRUE(writer.Add(sources::ContainerKind::kTfRecord, example.Serialize()).ok());
  }
  const std::string text = writer.Write("clicks", "/data/*", 1000000);
  EXPECT_THAT(text, HasSubstr("key: \"dense\" type: FLOAT shape: 13 }"));
  EXPECT_THAT(text, HasSubstr("key: \"ids\" type: INT64 variable_length: true }"));
  EXPECT_THAT(text, HasSubstr("key: \"sometimes\" type: INT64 default { ints: 0 } }"));
  EXPECT_THAT(text, HasSubstr("key: \"some_list\" type: INT64 variable_length: true }"));
  EXPECT_THAT(text, Not(HasSubstr("decode_image")));
  ExpectRight(text);
}

TEST(JobWriter, SuggestsDecodeRawForBytesThatAreNumbers) {
  JobWriter writer;
  for (char i = 0; i < 4; ++i) {
    records::ExampleBuilder example;
    example.Bytes("image_raw", std::string(12, i));
    example.Bytes("day", "2024-01-01");
    example.Bytes("blob", std::string(static_cast<size_t>(i) + 1, '\0'));
    ASSERT_TRUE(writer.Add(sources::ContainerKind::kTfRecord, example.Serialize()).ok());
  }
  const std::string text = writer.Write("raw", "/data/*", 1000);
  EXPECT_THAT(text,
              HasSubstr("features { key: \"image_raw\" type: BYTES }  # 12 bytes each: decode_raw: UINT8 shape: 12 "
                        "reads them as numbers\n"));
  EXPECT_THAT(text, HasSubstr("features { key: \"day\" type: BYTES }\n"));
  EXPECT_THAT(text, HasSubstr("features { key: \"blob\" type: BYTES }\n"));
  ExpectRight(text);
}

TEST(JobWriter, ChoosesABatchSizeThatFitsTheRecords) {
  JobWriter writer;
  ASSERT_TRUE(writer.Add(sources::ContainerKind::kTfRecord, records::ExampleBuilder().Int64("x", 1).Serialize()).ok());
  EXPECT_THAT(writer.Write("few", "/data/*", 60), HasSubstr("batch { size: 4 last: DROP }"));
  EXPECT_THAT(writer.Write("many", "/data/*", 1000000), HasSubstr("batch { size: 256 last: DROP }"));
}

// A picture with `boxes` boxes below `prefix`, their labels, and the picture's own features.
std::string Scene(const std::string& prefix, size_t boxes, float scale, bool labels = true) {
  records::ExampleBuilder example;
  example.Bytes("image/encoded", kJpegStart).Int64("image/height", 40);
  if (boxes == 0) return example.Serialize();  // the record has none of these keys
  for (const char* side : {"xmin", "ymin"}) example.FloatList(prefix + side, std::vector<float>(boxes, 0.25f * scale));
  for (const char* side : {"xmax", "ymax"}) example.FloatList(prefix + side, std::vector<float>(boxes, scale));
  if (labels) example.Int64List("image/object/class/label", std::vector<int64_t>(boxes, 3));
  return example.Serialize();
}

TEST(JobWriter, BoxesBecomeAnnotationsWithTheirCompanions) {
  JobWriter writer;
  for (const size_t boxes : {2, 0, 1}) {
    ASSERT_TRUE(writer.Add(sources::ContainerKind::kTfRecord, Scene("image/object/bbox/", boxes, 1)).ok());
  }
  const std::string text = writer.Write("detect", "/data/train-*", 1000);
  EXPECT_THAT(text, HasSubstr("annotations {\n  boxes {\n    companions: \"image/object/class/label\"\n  }\n}\n"));
  EXPECT_THAT(text, HasSubstr("\nfeatures { key: \"image/object/class/label\" type: INT64 variable_length: true }"));
  EXPECT_THAT(text, Not(HasSubstr("key: \"image/object/bbox/xmin\""))) << "read by the annotations";
  EXPECT_THAT(text, HasSubstr("# features { key: \"image/height\""));
  ExpectRight(text);
}

TEST(JobWriter, BoxesInPixelsUnderOtherKeysAreDeclared) {
  JobWriter writer;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(writer.Add(sources::ContainerKind::kTfRecord, Scene("objects/", 1, 300, i < 2)).ok());
  const std::string text = writer.Write("detect", "/data/train-*", 1000);
  EXPECT_THAT(text, HasSubstr("xmin_key: \"objects/xmin\""));
  EXPECT_THAT(text, HasSubstr("ymax_key: \"objects/ymax\""));
  EXPECT_THAT(text, HasSubstr("pixels: true"));
  EXPECT_THAT(text, Not(HasSubstr("companions:"))) << "one record has a box without a label";
  ExpectRight(text);
}

TEST(JobWriter, ReportsThatIntegerBoxesCannotFollowTheImage) {
  records::ExampleBuilder example;
  example.Bytes("image/encoded", kJpegStart);
  for (const char* side : {"xmin", "ymin", "xmax", "ymax"}) example.Int64(side, 5);
  JobWriter writer;
  ASSERT_TRUE(writer.Add(sources::ContainerKind::kTfRecord, example.Serialize()).ok());
  const std::string text = writer.Write("detect", "/data/train-*", 1000);
  EXPECT_THAT(text, HasSubstr("The boxes are integers. Only FLOAT boxes can be annotations"));
  EXPECT_THAT(text, Not(HasSubstr("\nannotations")));
  ExpectRight(text);
}

TEST(JobWriter, RejectsRecordsThatAreNoExamples) {
  JobWriter writer;
  EXPECT_FALSE(writer.Add(sources::ContainerKind::kTfRecord, "\xff\xff\xff\xff not an example").ok());
}

}  // namespace
}  // namespace penstock::cli
