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
  EXPECT_EQ(std::string(MistakesToStatus("written", CheckJobText(text, CheckPipeline, &job)).message()), "") << text;
}

TEST(JobWriter, AnImageAndALabelBecomeATrainingRecipe) {
  JobWriter writer;
  for (int i = 0; i < 3; ++i) {
    ExampleBuilder example;
    example.Bytes("image/encoded", kJpegStart);
    example.Int64("image/class/label", i);
    example.Bytes("image/filename", "a.jpg");
    ASSERT_TRUE(writer.AddRecord(example.Serialize()).ok());
  }
  const std::string text = writer.Write("train", "/data/train-*");
  EXPECT_THAT(text, HasSubstr("features { key: \"image/encoded\" column: \"image\" type: BYTES }"));
  EXPECT_THAT(text, HasSubstr("features { key: \"image/class/label\" column: \"label\" type: INT64 }"));
  EXPECT_THAT(text, HasSubstr("# features { key: \"image/filename\""));
  EXPECT_THAT(text, HasSubstr("random_resized_crop"));
  ExpectRight(text);
}

TEST(JobWriter, WithoutAnImageEveryFeatureBecomesAColumn) {
  JobWriter writer;
  for (int i = 0; i < 4; ++i) {
    ExampleBuilder example;
    example.FloatList("dense", std::vector<float>(13, 1.0f));
    example.Int64List("ids", std::vector<int64_t>(static_cast<size_t>(i), 7));
    if (i % 2 == 0) example.Int64("sometimes", 1);
    if (i % 2 == 0) example.Int64List("some_list", std::vector<int64_t>(3, 1));
    ASSERT_TRUE(writer.AddRecord(example.Serialize()).ok());
  }
  const std::string text = writer.Write("clicks", "/data/*");
  EXPECT_THAT(text, HasSubstr("key: \"dense\" type: FLOAT shape: 13 }"));
  EXPECT_THAT(text, HasSubstr("key: \"ids\" type: INT64 variable_length: true }"));
  EXPECT_THAT(text, HasSubstr("key: \"sometimes\" type: INT64 default { ints: 0 } }"));
  EXPECT_THAT(text, HasSubstr("key: \"some_list\" type: INT64 variable_length: true }"));
  EXPECT_THAT(text, Not(HasSubstr("decode_image")));
  ExpectRight(text);
}

TEST(JobWriter, RefusesWhatIsNoExample) {
  JobWriter writer;
  EXPECT_FALSE(writer.AddRecord("\xff\xff\xff\xff not an example").ok());
}

}  // namespace
}  // namespace penstock::cli
