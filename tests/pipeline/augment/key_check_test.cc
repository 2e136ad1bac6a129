#include "pipeline/augment/features/key_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include "pipeline/records/example_builder.h"

namespace penstock::augment {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

v1::JobSpec JobOf(const std::string& text) {
  v1::JobSpec job;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &job));
  return job;
}

std::vector<std::string> MistakesOf(const std::string& job, const std::vector<std::string>& records) {
  KeyCheck check(JobOf(job));
  for (const std::string& record : records) check.Add(record);
  return check.Mistakes("the first 2 records of 1 shard");
}

std::string Picture() {
  return records::ExampleBuilder().Bytes("image/encoded", "x").Int64("image/class/label", 1).Serialize();
}

std::string Clip() {
  records::SequenceExampleBuilder clip;
  clip.context().Int64("label", 3);
  const std::vector<std::string_view> frame = {"x"};
  clip.List("frames").BytesEntry(frame).BytesEntry(frame);
  return clip.Serialize();
}

TEST(KeyCheck, AMissingKeyIsNamedWithTheExistingKeysAndTheNearestOne) {
  EXPECT_THAT(
      MistakesOf("features { key: 'image/encoded' type: BYTES }"
                 "features { key: 'image/clas/label' type: INT64 variable_length: true }",
                 {Picture(), Picture()}),
      ElementsAre(
          "features[1].key: none of the first 2 records of 1 shard has a key \"image/clas/label\" (did you mean "
          "'image/class/label'?); they have: image/class/label, image/encoded. If this is intended, give "
          "the feature a default, or use --allow-missing"));
}

TEST(KeyCheck, OneRecordWithTheKeyIsEnough) {
  const std::string job = "features { key: 'rare' type: FLOAT variable_length: true }";
  EXPECT_THAT(MistakesOf(job, {Picture(), records::ExampleBuilder().Float("rare", 1).Serialize()}), IsEmpty());
  EXPECT_THAT(MistakesOf(job, {Picture(), records::ExampleBuilder().Unset("rare").Serialize()}), IsEmpty())
      << "the key is spelled correctly";
}

TEST(KeyCheck, AFeatureWithADefaultMayBeMissing) {
  EXPECT_THAT(MistakesOf("features { key: 'weight' type: FLOAT default { floats: 1 } }", {Picture()}), IsEmpty());
}

TEST(KeyCheck, ReportsSequenceExamplesThatAreReadAsExamples) {
  EXPECT_THAT(MistakesOf("features { key: 'frames' type: BYTES variable_length: true }", {Clip()}),
              ElementsAre(AllOf(StartsWith("features[0].key: \"frames\" is a feature list"),
                                HasSubstr("dataset { format: SEQUENCE_EXAMPLE }"), HasSubstr("sequence: true"))));
  EXPECT_THAT(MistakesOf("features { key: 'label' type: INT64 }", {Clip()}), IsEmpty()) << "contexts read as Examples";
}

TEST(KeyCheck, ReportsVariableLengthInPlaceOfSequenceAndTheReverse) {
  EXPECT_THAT(
      MistakesOf("dataset { format: SEQUENCE_EXAMPLE }"
                 "features { key: 'frames' type: BYTES variable_length: true }"
                 "features { key: 'label' type: INT64 sequence: true }"
                 "features { key: 'frame' type: BYTES sequence: true }",
                 {Clip()}),
      ElementsAre("features[0].key: \"frames\" is a feature list of the records and not in their context: write "
                  "sequence: true in the place of variable_length",
                  AllOf(HasSubstr("\"label\" is in the records' context"), HasSubstr("leave out sequence")),
                  AllOf(HasSubstr("a feature list \"frame\" (did you mean 'frames'?)"))));
}

TEST(KeyCheck, ChecksTheKeysOfBoxesToo) {
  EXPECT_THAT(MistakesOf("features { key: 'image/encoded' type: BYTES }"
                         "annotations { boxes { xmin_key: 'a' ymin_key: 'image/encoded' xmax_key: 'image/encoded' "
                         "ymax_key: 'image/encoded' } }",
                         {Picture()}),
              ElementsAre(StartsWith("annotations.boxes.xmin_key: none of")));
}

TEST(KeyCheck, IgnoresInvalidRecordsAndRawRecords) {
  KeyCheck check(JobOf("features { key: 'k' type: BYTES }"));
  check.Add("\xff\xff\xff\xff no example");
  EXPECT_EQ(check.records(), 0u);
  EXPECT_THAT(MistakesOf("dataset { format: RAW } features { column: 'all' type: BYTES }", {"any bytes"}), IsEmpty());
}

}  // namespace
}  // namespace penstock::augment
