// one_hot and scale, also on raw tensors, and how a job's mix depends on the columns that ops make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "pipeline/augment/check_pipeline.h"
#include "pipeline/augment/value/element.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/op_examples.h"
#include "tests/pipeline/augment/row_maker.h"

namespace penstock::augment {
namespace {

const OpExampleRegistration kTensorExamples{
    {"cast", "to: FLOAT16", OpExample::kLeavesNumbers},
    {"scale", "factor: 0.01 offset: -1.5 to: FLOAT16", OpExample::kLeavesNumbers},
    {"one_hot", "classes: 10 smoothing: 0.1", OpExample::kWorksOnLabels},
};

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// A label and a raw uint8 tensor [2, 3].
v1::JobSpec TensorJob(const std::string& rest) {
  return ParseJob(
      "features { key: 'raw' column: 'image' type: BYTES decode_raw: UINT8 shape: [2, 3] }"
      "features { key: 'class' column: 'label' type: INT64 }" +
      rest);
}

std::string TensorRecord(const std::string& raw, int64_t label) {
  return records::ExampleBuilder().Bytes("raw", raw).Int64("class", label).Serialize();
}

absl::Status Make(const Pipeline& pipeline, const std::string& record, OwnedRow* row) {
  RowScratch scratch;
  return pipeline.MakeRow(record, {}, &row->slot, &scratch);
}

constexpr char kPixels[] = "\x00\x01\x02\x80\xfe\xff";
const std::string kRaw(kPixels, 6);

TEST(OneHot, IsOneAtTheLabelAndZeroElsewhere) {
  const auto pipeline = BuildPipeline(TensorJob("ops { column: 'label' one_hot { classes: 4 } }"));
  EXPECT_EQ(pipeline->schema().columns[1].dtype, batch::DType::kFloat32);
  EXPECT_THAT(pipeline->schema().columns[1].shape, ElementsAre(4));
  for (int64_t label = 0; label < 4; ++label) {
    OwnedRow row(pipeline->schema());
    ASSERT_TRUE(Make(*pipeline, TensorRecord(kRaw, label), &row).ok());
    std::vector<float> wanted(4, 0.0f);
    wanted[static_cast<size_t>(label)] = 1.0f;
    EXPECT_EQ(row.As<float>(1), wanted);
  }
}

TEST(OneHot, SmoothingMovesItsShareToAllClasses) {
  const auto pipeline =
      BuildPipeline(TensorJob("ops { column: 'label' one_hot { classes: 5 smoothing: 0.1 to: FLOAT64 } }"));
  OwnedRow row(pipeline->schema());
  ASSERT_TRUE(Make(*pipeline, TensorRecord(kRaw, 2), &row).ok());
  const float off = 0.1f / 5.0f, on = 1.0f - 0.1f + off;
  EXPECT_THAT(row.As<double>(1), ElementsAre(off, off, on, off, off));
}

TEST(OneHot, AcceptsIntegersOfEveryType) {
  for (const char* from : {"INT8", "UINT8", "INT16", "UINT16", "INT32", "INT64"}) {
    const auto pipeline = BuildPipeline(TensorJob("ops { column: 'label' cast { to: " + std::string(from) +
                                                  " } } ops { column: 'label' one_hot { classes: 3 to: UINT8 } }"));
    OwnedRow row(pipeline->schema());
    ASSERT_TRUE(Make(*pipeline, TensorRecord(kRaw, 1), &row).ok());
    EXPECT_THAT(row.As<uint8_t>(1), ElementsAre(0, 1, 0)) << from;
  }
}

TEST(OneHot, ALabelOutsideTheClassesIsAnErrorOfTheRecord) {
  const auto pipeline = BuildPipeline(TensorJob("ops { column: 'label' one_hot { classes: 4 } }"));
  OwnedRow row(pipeline->schema());
  for (const int64_t label : {int64_t{-1}, int64_t{4}, INT64_MAX, INT64_MIN}) {
    const absl::Status status = Make(*pipeline, TensorRecord(kRaw, label), &row);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("one_hot (column 'label')"), HasSubstr("not in [0, 4)")));
  }
}

TEST(OneHot, MistakesAreNamed) {
  const auto check = [](const std::string& op) { return CheckPipeline(TensorJob("ops { " + op + " }")); };
  EXPECT_THAT(check("one_hot { classes: 3 }"), ElementsAre(HasSubstr("works on an integer scalar")));
  EXPECT_THAT(check("column: 'label' one_hot { }"), ElementsAre(StartsWith("ops[0].one_hot.classes: ")));
  EXPECT_THAT(check("column: 'label' one_hot { classes: 4000000000 }"),
              ElementsAre(StartsWith("ops[0].one_hot.classes: ")));
  EXPECT_THAT(check("column: 'label' one_hot { classes: 3 smoothing: 1 }"),
              ElementsAre(StartsWith("ops[0].one_hot.smoothing: ")));
  EXPECT_THAT(check("column: 'label' one_hot { classes: 3 smoothing: nan }"),
              ElementsAre(StartsWith("ops[0].one_hot.smoothing: ")));
  EXPECT_THAT(check("column: 'label' one_hot { classes: 3 to: STRING }"),
              ElementsAre(StartsWith("ops[0].one_hot.to: ")));
  EXPECT_THAT(check("column: 'label' one_hot { classes: 3 smoothing: 0.1 to: INT32 }"),
              ElementsAre(AllOf(StartsWith("ops[0].one_hot.to: "), HasSubstr("float type"))));
}

TEST(Scale, MatchesTheFormulaInFloat32OnRawTensors) {
  const float factor = 0.3f, offset = -7.25f;
  const auto floats = BuildPipeline(TensorJob("ops { scale { factor: 0.3 offset: -7.25 } }"));
  const auto halves = BuildPipeline(TensorJob("ops { scale { factor: 0.3 offset: -7.25 to: FLOAT16 } }"));
  const auto bfloats = BuildPipeline(TensorJob("ops { scale { factor: 0.3 offset: -7.25 to: BFLOAT16 } }"));
  EXPECT_EQ(floats->schema().columns[0].dtype, batch::DType::kFloat32);
  EXPECT_THAT(floats->schema().columns[0].shape, ElementsAre(2, 3));
  OwnedRow row(floats->schema()), half_row(halves->schema()), bfloat_row(bfloats->schema());
  const std::string record = TensorRecord(kRaw, 0);
  ASSERT_TRUE(Make(*floats, record, &row).ok());
  ASSERT_TRUE(Make(*halves, record, &half_row).ok());
  ASSERT_TRUE(Make(*bfloats, record, &bfloat_row).ok());
  for (size_t i = 0; i < kRaw.size(); ++i) {
    const volatile float product = static_cast<float>(static_cast<uint8_t>(kRaw[i])) * factor;
    const float wanted = product + offset;
    EXPECT_EQ(row.As<float>(0)[i], wanted);
    EXPECT_EQ(half_row.As<uint16_t>(0)[i], FloatToHalf(wanted));
    EXPECT_EQ(bfloat_row.As<uint16_t>(0)[i], FloatToBfloat16(wanted));
  }
}

TEST(Scale, ChangesOnlyTheTypeByDefault) {
  const auto pipeline = BuildPipeline(TensorJob("ops { column: 'label' scale { } }"));
  OwnedRow row(pipeline->schema());
  ASSERT_TRUE(Make(*pipeline, TensorRecord(kRaw, -3), &row).ok());
  EXPECT_THAT(row.As<float>(1), ElementsAre(-3.0f));
  const auto zero = BuildPipeline(TensorJob("ops { column: 'label' scale { factor: 0 offset: 2 } }"));
  ASSERT_TRUE(Make(*zero, TensorRecord(kRaw, -3), &row).ok());
  EXPECT_THAT(row.As<float>(1), ElementsAre(2.0f));
}

// A raw image of 2 x 3 gray pixels.
v1::JobSpec RawImageJob(const std::string& ops) {
  return ParseJob(
      "features { key: 'raw' column: 'image' type: BYTES decode_raw: UINT8 shape: [2, 3, 1] }"
      "features { key: 'class' column: 'label' type: INT64 }" +
      ops);
}

TEST(Cast, BytesOfAnImagesShapeAreAnImageForLaterOps) {
  const auto pipeline = BuildPipeline(RawImageJob(
      "ops { scale { factor: -1 offset: 255 } } ops { cast { to: UINT8 } }"
      "ops { random_vertical_flip { probability: 1 } } ops { resize { height: 4 width: 6 filter: NEAREST } }"));
  EXPECT_EQ(pipeline->schema().columns[0].dtype, batch::DType::kUint8);
  OwnedRow row(pipeline->schema());
  ASSERT_TRUE(Make(*pipeline, TensorRecord(kRaw, 0), &row).ok());
  EXPECT_THAT(row.As<uint8_t>(0), ElementsAre(127, 127, 1, 1, 0, 0, 127, 127, 1, 1, 0, 0,  //
                                              255, 255, 254, 254, 253, 253, 255, 255, 254, 254, 253, 253));
}

// A token of another vocabulary must not become the last one of this type.
TEST(Cast, AnIntegerThatTheTypeLacksIsAnError) {
  struct Case {
    std::string type;
    int64_t least, greatest;
  };
  for (const Case& each : {Case{"UINT8", 0, 255}, Case{"INT8", -128, 127}, Case{"UINT16", 0, 65535},
                           Case{"INT32", INT32_MIN, INT32_MAX}, Case{"UINT64", 0, INT64_MAX}}) {
    SCOPED_TRACE(each.type);
    const auto pipeline = BuildPipeline(TensorJob("ops { column: 'label' cast { to: " + each.type + " } }"));
    OwnedRow row(pipeline->schema());
    for (const int64_t value : {each.least, each.greatest}) {
      EXPECT_TRUE(Make(*pipeline, TensorRecord(kRaw, value), &row).ok()) << value;
    }
    const std::string below = Make(*pipeline, TensorRecord(kRaw, each.least - 1), &row).ToString();
    if (each.least != INT64_MIN) {
      EXPECT_THAT(below, HasSubstr("the value " + std::to_string(each.least - 1) + " is not one of"));
    }
    if (each.greatest == INT64_MAX) continue;
    EXPECT_THAT(Make(*pipeline, TensorRecord(kRaw, each.greatest + 1), &row).ToString(),
                HasSubstr("which is from " + std::to_string(each.least) + " to " + std::to_string(each.greatest) +
                          "; cast to a larger type"));
  }
  // A float is clamped, as before, and so is an integer that becomes a float and then an integer.
  const auto clamped =
      BuildPipeline(TensorJob("ops { column: 'label' scale { } } ops { column: 'label' cast { to: UINT8 } }"));
  OwnedRow row(clamped->schema());
  ASSERT_TRUE(Make(*clamped, TensorRecord(kRaw, 300), &row).ok());
  EXPECT_THAT(row.As<uint8_t>(1), ElementsAre(255));
}

TEST(Cast, NumbersWhoseSizeDiffersBetweenRecordsAreRejected) {
  const auto check = [](const std::string& ops) { return CheckPipeline(ImageJob("ops { decode_image { } }" + ops)); };
  const auto wanted = HasSubstr("an image, or numbers of a fixed shape");
  EXPECT_THAT(check("ops { cast { to: FLOAT32 } } ops { cast { to: UINT8 } } ops { resize { height: 4 width: 4 } }"),
              ElementsAre(wanted));
  EXPECT_THAT(check("ops { cast { to: FLOAT32 } } ops { scale { } }"), ElementsAre(wanted));
  EXPECT_THAT(check("ops { cast { to: UINT8 } } ops { resize { height: 4 width: 4 } }"), IsEmpty());
}

TEST(Scale, MistakesAreNamed) {
  const auto check = [](const std::string& op) { return CheckPipeline(TensorJob("ops { " + op + " }")); };
  EXPECT_THAT(check("scale { factor: inf }"), ElementsAre(StartsWith("ops[0].scale.factor: ")));
  EXPECT_THAT(check("scale { offset: nan }"), ElementsAre(StartsWith("ops[0].scale.offset: ")));
  EXPECT_THAT(check("scale { to: INT8 }"), ElementsAre(StartsWith("ops[0].scale.to: ")));
}

TEST(Normalize, KnowsItsPresetsByName) {
  const auto mean_of = [](const std::string& preset) {
    const auto pipeline = BuildPipeline(TensorJob("ops { normalize { preset: '" + preset + "' } }"));
    OwnedRow row(pipeline->schema());
    EXPECT_TRUE(Make(*pipeline, TensorRecord(std::string(6, '\xff'), 0), &row).ok());
    return row.As<float>(0);
  };
  EXPECT_FLOAT_EQ(mean_of("imagenet")[2], (1 - 0.406f) / 0.225f);
  EXPECT_FLOAT_EQ(mean_of("clip")[0], (1 - 0.48145466f) / 0.26862954f);
  EXPECT_FLOAT_EQ(mean_of("inception")[4], 1.0f);
}

TEST(MixOfAJob, IsCheckedAgainstTheColumnsAfterTheOps) {
  EXPECT_THAT(CheckPipeline(TensorJob("mix { mixup_alpha: 1 classes: 3 }")), IsEmpty());
  EXPECT_THAT(CheckPipeline(TensorJob("mix { mixup_alpha: 1 }")), ElementsAre(StartsWith("mix.classes: ")));
  const std::string one_hot = "ops { column: 'label' one_hot { classes: 4 } }";
  EXPECT_THAT(CheckPipeline(TensorJob(one_hot + "mix { mixup_alpha: 1 }")), IsEmpty());
  EXPECT_THAT(CheckPipeline(TensorJob(one_hot + "mix { mixup_alpha: 1 classes: 3 }")),
              ElementsAre(AllOf(StartsWith("mix.classes: "), HasSubstr("float32 [4]"))));
  EXPECT_THAT(CheckPipeline(TensorJob("ops { cast { to: INT32 } } mix { mixup_alpha: 1 classes: 3 }")),
              ElementsAre(AllOf(StartsWith("mix.image: "), HasSubstr("int32 [2, 3]"))));
  // An earlier mistake hides this one, because types are unknown after it.
  EXPECT_THAT(CheckPipeline(TensorJob("ops { scale { to: INT8 } } mix { mixup_alpha: 1 }")),
              ElementsAre(StartsWith("ops[0].scale.to: ")));
}

TEST(MixOfAJob, ChangesThePipelinesFingerprint) {
  const auto fingerprint = [](const std::string& rest) { return BuildPipeline(TensorJob(rest))->fingerprint(); };
  const uint64_t plain = fingerprint(""), mixup = fingerprint("mix { mixup_alpha: 1 classes: 3 }");
  EXPECT_NE(plain, mixup);
  EXPECT_EQ(mixup, fingerprint("mix { mixup_alpha: 1 classes: 3 }"));
  EXPECT_NE(mixup, fingerprint("mix { mixup_alpha: 1 classes: 3 group: 4 }"));
}

}  // namespace
}  // namespace penstock::augment
