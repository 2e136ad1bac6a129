#include "pipeline/pack/pack_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/job_file.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/pack/packed_features.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/pack/pack_testing.h"

namespace penstock::pack {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void Add(const std::string& features, PackSchema* schema) {
  const auto example = ExampleOf(features, schema);
  ASSERT_TRUE(example.ok()) << example.status();
}

// Returns the job's text after a check that it is valid.
std::string JobOf(const PackSchema& schema) {
  const std::string text = schema.JobText("name", "/data/x-*.tfrecord");
  v1::JobSpec job;
  const auto mistakes = config::CheckJobText(text, augment::CheckPipeline, &job);
  EXPECT_TRUE(mistakes.empty()) << config::MistakesToStatus("job", mistakes) << "\n" << text;
  return text;
}

TEST(PackSchema, ArraysKeepTheirTypeAndShape) {
  PackSchema schema;
  for (int i = 0; i < 3; ++i) Add(ArrayText("x", 9, {2, 3}, std::string(24, 'x')), &schema);
  EXPECT_THAT(JobOf(schema), HasSubstr("key: \"x\" type: BYTES decode_raw: FLOAT32 shape: [2, 3] }"));
  Add(ArrayText("x", 9, {0, 3}, ""), &schema);
  EXPECT_THAT(JobOf(schema),
              HasSubstr("key: \"x\" type: BYTES decode_raw: FLOAT32 shape: [3] variable_length: true }"));
}

TEST(PackSchema, AnArrayWithoutAxesIsAScalar) {
  PackSchema schema;
  for (int i = 0; i < 3; ++i) Add(ArrayText("x", 10, {}, std::string(8, 'x')), &schema);
  EXPECT_THAT(JobOf(schema), HasSubstr("key: \"x\" type: BYTES decode_raw: FLOAT64 }"));
  Add(NumbersText<int64_t>("y", {1}, true), &schema);
  EXPECT_THAT(JobOf(schema), HasSubstr("key: \"x\" type: BYTES decode_raw: FLOAT64 variable_length: true }"));
}

TEST(PackSchema, TheJobConvertsColumnsToTheirTypes) {
  PackSchema schema;
  for (int i = 0; i < 3; ++i) {
    Add(NumbersText<int64_t>("x", {i}, true) + (i == 0 ? NumbersText<int64_t>("y", {i}, true) : ""), &schema);
  }
  const std::string text =
      schema.JobText("name", "/x", "convert", {{"x", batch::DType::kInt32}, {"y", batch::DType::kInt32}});
  EXPECT_THAT(text, HasSubstr("Written by `penstock convert`"));
  EXPECT_THAT(text, HasSubstr("ops { column: \"x\" cast { to: INT32 } }"));
  EXPECT_THAT(text, Not(HasSubstr("column: \"y\""))) << "a ragged column keeps its type";
  v1::JobSpec job;
  EXPECT_TRUE(config::CheckJobText(text, augment::CheckPipeline, &job).empty()) << text;
}

TEST(PackSchema, ASingleValueIsAScalarAndAListIsAVector) {
  PackSchema schema;
  Add(NumbersText<int64_t>("one", {1}, true) + NumbersText<int64_t>("list", {1}) + NumbersText<float>("two", {1, 2}) +
          NumbersText<float>("any", {}),
      &schema);
  Add(NumbersText<int64_t>("one", {1}, true) + NumbersText<int64_t>("list", {1}) + NumbersText<float>("two", {1, 2}) +
          NumbersText<float>("any", {1}),
      &schema);
  const std::string job = JobOf(schema);
  EXPECT_THAT(job, HasSubstr("key: \"one\" type: INT64 }"));
  EXPECT_THAT(job, HasSubstr("key: \"list\" type: INT64 shape: 1 }"));
  EXPECT_THAT(job, HasSubstr("key: \"two\" type: FLOAT shape: 2 }"));
  EXPECT_THAT(job, HasSubstr("key: \"any\" type: FLOAT variable_length: true }"));
  EXPECT_THAT(job, HasSubstr("batch { size: 2 last: DROP }")) << "the batch has all records";
}

TEST(PackSchema, AFeatureThatSomeRecordsLackIsRagged) {
  PackSchema schema;
  Add(NumbersText<int64_t>("a", {1}, true) + NumbersText<int64_t>("b", {1}, true), &schema);
  Add(NumbersText<int64_t>("a", {1}, true), &schema);
  EXPECT_THAT(JobOf(schema), HasSubstr("key: \"b\" type: INT64 variable_length: true }"));
}

TEST(PackSchema, ImagesGetATrainingRecipe) {
  PackSchema schema;
  const std::string jpeg = "\xFF\xD8\xFF and so on";
  Add(BytesText("photo", {jpeg}, true) + NumbersText<int64_t>("image/class/label", {1}, true) +
          ArrayText("box", 9, {4}, std::string(16, 'x')),
      &schema);
  const std::string job = JobOf(schema);
  EXPECT_THAT(job, HasSubstr("key: \"photo\" column: \"image\""));
  EXPECT_THAT(job, HasSubstr("key: \"image/class/label\" column: \"label\""));
  EXPECT_THAT(job, HasSubstr("key: \"box\" type: BYTES decode_raw: FLOAT32 shape: [4]"));
  EXPECT_THAT(job, HasSubstr("decode_image"));
  Add(BytesText("photo", {"text"}, true) + NumbersText<int64_t>("image/class/label", {1}, true) +
          ArrayText("box", 9, {4}, std::string(16, 'x')),
      &schema);
  EXPECT_THAT(JobOf(schema), Not(HasSubstr("decode_image")));
}

TEST(PackSchema, AKeyHasOneKind) {
  PackSchema schema;
  Add(NumbersText<int64_t>("a", {1}) + ArrayText("x", 9, {2, 3}, std::string(24, 'x')), &schema);
  EXPECT_THAT(std::string(ExampleOf(NumbersText<float>("a", {1}), &schema).status().message()),
              HasSubstr("'a' is FLOAT in this record and was INT64 before"));
  EXPECT_THAT(std::string(ExampleOf(ArrayText("x", 9, {2, 4}, std::string(32, 'x')), &schema).status().message()),
              HasSubstr("'x' is an array of float32 (n, 4) in this record and was an array of float32 (n, 3) before"));
  EXPECT_FALSE(ExampleOf(BytesText("x", {"raw"}), &schema).ok());
}

TEST(PackSchema, SerializedExamplesAddTheirFeatures) {
  PackSchema schema;
  const std::string example = records::ExampleBuilder().Int64("label", 3).Bytes("text", "t").Serialize();
  ASSERT_TRUE(schema.AddExample(example).ok());
  EXPECT_THAT(JobOf(schema), HasSubstr("key: \"text\" type: BYTES }"));
  EXPECT_THAT(std::string(schema.AddExample("no example").message()), HasSubstr("record 1 is no serialized"));
}

TEST(PackSchema, MergedPartsGiveTheSchemaOfTheWhole) {
  const std::string first =
      NumbersText<int64_t>("a b\n\"c", {1}, true) + ArrayText("x", 9, {2, 3}, std::string(24, 'x'));
  const std::string second = ArrayText("x", 9, {1, 3}, std::string(12, 'x'));
  PackSchema all, one, two;
  Add(first, &all);
  Add(second, &all);
  Add(first, &one);
  Add(second, &two);
  const auto again = ParsePackSchema(two.Serialize());
  ASSERT_TRUE(again.ok()) << again.status();
  ASSERT_TRUE(one.Merge(*again).ok());
  EXPECT_EQ(one.Serialize(), all.Serialize());
  EXPECT_EQ(ParsePackSchema(all.Serialize())->Serialize(), all.Serialize());
  PackSchema other;
  Add(NumbersText<int64_t>("x", {1}), &other);
  EXPECT_THAT(std::string(one.Merge(other).message()), HasSubstr("'x' is INT64"));
}

TEST(PackSchema, ADamagedTextIsRejected) {
  for (const std::string text : {"", "record 3", "records x", "records 1\n9 1 1 1 1 1 1 [] a", "records 1\n1 1 1",
                                 "records 1\n1 99 1 1 1 1 1 [] a", "records 1\n1 1 1 1 1 1 1 [x] a"}) {
    EXPECT_TRUE(absl::IsDataLoss(ParsePackSchema(text).status())) << text;
  }
}

}  // namespace
}  // namespace penstock::pack
