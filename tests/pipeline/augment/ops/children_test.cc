// Ops inside ops: random_apply and one_of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "pipeline/augment/check_pipeline.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/op_examples.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::augment {
namespace {

const OpExampleRegistration kChildrenExamples{
    {"random_apply", "ops { random_resized_crop { height: 50 width: 50 } } ops { random_horizontal_flip { } }"},
    {"one_of", "ops { random_horizontal_flip { } } ops { resize { height: 31 width: 37 } } weights: 1 weights: 2"},
};

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A job on 2 x 3 raw pixels, whose mirror image differs from the image.
v1::JobSpec ChildrenJob(const std::string& ops) {
  return ParseJob(
      "features { key: 'pixels' column: 'image' type: BYTES decode_raw: UINT8 shape: 2 shape: 3 shape: 1 }\n" + ops);
}
const std::string kChildPixels = {1, 2, 3, 4, 5, 6};
constexpr char kFlip[] = "ops { random_horizontal_flip { probability: 1 } }";

std::vector<uint8_t> Row(const Pipeline& pipeline, uint64_t record) {
  OwnedRow row(pipeline.schema());
  RowScratch scratch;
  const SampleKey key{.seed = 5, .epoch = 1, .repeat = 0, .record_id = record};
  const std::string bytes = records::ExampleBuilder().Bytes("pixels", kChildPixels).Serialize();
  EXPECT_TRUE(pipeline.MakeRow(bytes, key, &row.slot, &scratch).ok());
  return row.As<uint8_t>(0);
}

// The share of 1000 rows that are mirrored.
double MirroredShare(const std::string& ops) {
  const auto pipeline = BuildPipeline(ChildrenJob(ops));
  int mirrored = 0;
  for (uint64_t record = 0; record < 1000; ++record) {
    const std::vector<uint8_t> row = Row(*pipeline, record);
    if (row[0] == 3) {
      ++mirrored;
      EXPECT_THAT(row, ElementsAre(3, 2, 1, 6, 5, 4));
    } else {
      EXPECT_THAT(row, ElementsAre(1, 2, 3, 4, 5, 6));
    }
  }
  return mirrored / 1000.0;
}

// Four standard deviations of a share of 1000.
double Slack(double p) { return 4 * std::sqrt(p * (1 - p) / 1000); }

TEST(RandomApply, AppliesAllOrNoneWithItsProbability) {
  EXPECT_NEAR(MirroredShare(std::string("ops { random_apply { ") + kFlip + " } }"), 0.5, Slack(0.5));
  EXPECT_NEAR(MirroredShare(std::string("ops { random_apply { probability: 0.2 ") + kFlip + " } }"), 0.2, Slack(0.2));
  // Two mirrors cancel each other: random_apply runs both or neither.
  EXPECT_EQ(MirroredShare(std::string("ops { random_apply { ") + kFlip + kFlip + " } }"), 0);
  EXPECT_EQ(MirroredShare(std::string("ops { random_apply { probability: 0 ") + kFlip + " } }"), 0);
  EXPECT_EQ(MirroredShare(std::string("ops { random_apply { probability: 1 ") + kFlip + " } }"), 1);
}

TEST(OneOf, ChoosesByWeight) {
  const std::string nothing = "ops { center_crop { height: 2 width: 3 } }";
  EXPECT_NEAR(MirroredShare("ops { one_of { " + (kFlip + nothing) + " } }"), 0.5, Slack(0.5));
  EXPECT_NEAR(MirroredShare("ops { one_of { " + (kFlip + nothing) + " weights: 1 weights: 3 } }"), 0.25, Slack(0.25));
  EXPECT_EQ(MirroredShare("ops { one_of { " + (kFlip + nothing) + " weights: 0 weights: 3 } }"), 0);
  EXPECT_EQ(MirroredShare("ops { one_of { " + (kFlip + nothing) + " weights: 0.1 weights: 0 } }"), 1);
}

TEST(Children, DrawIndependentlyOfTheirParentAndOfEachOther) {
  // If the child used its parent's draw, a child of probability p in a parent of probability p would always run.
  const std::string half = "ops { random_horizontal_flip { probability: 0.5 } }";
  EXPECT_NEAR(MirroredShare("ops { random_apply { " + half + " } }"), 0.25, Slack(0.25));
  EXPECT_NEAR(MirroredShare("ops { random_apply { probability: 1 " + half + half + " } }"), 0.5, Slack(0.5));
}

TEST(Children, DrawsDependOnThePathOfNames) {
  const auto rows = [](const std::string& ops) {
    const auto pipeline = BuildPipeline(ChildrenJob(ops));
    std::vector<uint8_t> first;
    for (uint64_t record = 0; record < 64; ++record) first.push_back(Row(*pipeline, record)[0]);
    return first;
  };
  const std::string flip = "random_horizontal_flip { }", nothing = "ops { center_crop { height: 2 width: 3 } }";
  const std::string alone = "ops { name: 'outer' random_apply { probability: 1 ops { name: 'inner' " + flip + " } } }";
  // An op with a name keeps its draws anywhere in its list. Without names, its number decides.
  EXPECT_EQ(rows(alone), rows(nothing + "ops { name: 'outer' random_apply { probability: 1 " + nothing +
                              " ops { name: 'inner' " + flip + " } } }"));
  EXPECT_NE(rows(alone), rows("ops { random_apply { probability: 1 ops { " + flip + " } } }"));
  EXPECT_NE(rows("ops { random_apply { probability: 1 ops { " + flip + " } } }"),
            rows("ops { random_apply { probability: 1 " + nothing + " ops { " + flip + " } } }"));
}

TEST(Children, MayWorkOnTensors) {
  const std::string job = "features { key: 'x' type: FLOAT shape: 2 }\n";
  EXPECT_THAT(CheckPipeline(ParseJob(job + "ops { column: 'x' random_apply { ops { normalize { mean: 1 } } } }")),
              IsEmpty());
  EXPECT_THAT(CheckPipeline(ParseJob(job + "ops { column: 'x' random_apply { ops { cast { to: INT32 } } } }")),
              ElementsAre(HasSubstr("ops[0].random_apply.ops[0].cast: leaves int32 [2], but the value after the outer "
                                    "op must be float32 [2]")));
}

TEST(Children, MistakesNameThePathOfTheOp) {
  const auto mistakes = [](const std::string& ops) {
    return CheckPipeline(ImageJob("ops { decode_image { } }\n" + ops + "ops { resize { height: 4 width: 4 } }"));
  };
  EXPECT_THAT(mistakes("ops { random_apply { ops { one_of { ops { random_horizontal_flip { } }\n"
                       "ops { random_horizontal_flip { probability: 2 } } } } } }"),
              ElementsAre("ops[1].random_apply.ops[0].one_of.ops[1].random_horizontal_flip.probability: must be from 0 "
                          "to 1"));
  EXPECT_THAT(mistakes("ops { random_apply { ops { column: 'label' random_horizontal_flip { } } } }"),
              ElementsAre(AllOf(HasSubstr("ops[1].random_apply.ops[0].column: must be empty"), HasSubstr("'image'"))));
  EXPECT_THAT(mistakes("ops { one_of { ops { name: 'a' random_horizontal_flip { } }\n"
                       "ops { name: 'a' random_horizontal_flip { } } ops { name: '7' random_horizontal_flip { } }\n"
                       "ops { name: 'x/y' random_horizontal_flip { } } } }"),
              ElementsAre(HasSubstr("ops[1].one_of.ops[1].name: 'a' is an earlier op's name too"),
                          HasSubstr("ops[1].one_of.ops[2].name: '7' is a number"),
                          HasSubstr("ops[1].one_of.ops[3].name: 'x/y' has a '/'")));
  EXPECT_THAT(mistakes("ops { one_of { ops { } } }"), ElementsAre(HasSubstr("ops[1].one_of.ops[0]: names no op")));
  EXPECT_THAT(mistakes("ops { random_apply { } }"),
              ElementsAre(HasSubstr("ops[1].random_apply.ops: needs at least one op inside")));
  EXPECT_THAT(mistakes("ops { random_apply { ops { normalize { preset: 'imagenet' } } } }"),
              ElementsAre(HasSubstr("ops[1].random_apply.ops[0].normalize: leaves numbers instead of an image")));
  EXPECT_THAT(mistakes("ops { one_of { ops { random_horizontal_flip { } } weights: 1 weights: 2 } }"),
              ElementsAre(HasSubstr("ops[1].one_of.weights: has 2 values for 1 ops")));
  EXPECT_THAT(mistakes("ops { one_of { ops { random_horizontal_flip { } } weights: 0 } }"),
              ElementsAre(HasSubstr("weights: are all 0")));
  EXPECT_THAT(mistakes("ops { one_of { ops { random_horizontal_flip { } } weights: -1 } }"),
              ElementsAre(HasSubstr("weights: must be finite and not below 0")));
}

TEST(Children, MustKeepAKnownSize) {
  const auto mistakes = [](const std::string& ops) {
    return CheckPipeline(ImageJob("ops { decode_image { } }\n" + ops));
  };
  const std::string resize = "ops { resize { height: 8 width: 8 } }\n";
  EXPECT_THAT(mistakes(resize + "ops { random_apply { ops { center_crop { height: 4 width: 8 } } } }"),
              ElementsAre(HasSubstr("ops[2].random_apply.ops[0].center_crop: leaves uint8 [4, 8, 3], but the value "
                                    "after the outer op must be uint8 [8, 8, 3]")));
  // The check judges a sequence at its end. A side that differs from record to record may become any size.
  EXPECT_THAT(mistakes(resize + "ops { random_apply { ops { center_crop { height: 4 width: 8 } }\n" + resize + "} }"),
              IsEmpty());
  EXPECT_THAT(mistakes("ops { random_apply { ops { center_crop { height: 4 width: 8 } } } }\n" + resize), IsEmpty());
  EXPECT_THAT(mistakes("ops { random_apply { ops { center_crop { height: 4 width: 8 } } } }\n"),
              ElementsAre(HasSubstr("a size that differs from record to record")));
}

TEST(OneOf, AcceptsOpsThatLeaveTheSameSize) {
  const std::string crops =
      "ops { name: 'crop' one_of { ops { random_resized_crop { height: 24 width: 32 } }\n"
      "ops { center_crop { height: 24 width: 32 } }\nops { resize { height: 24 width: 32 } } } }\n";
  const std::string larger = "ops { resize { height: 40 width: 40 } }\n";
  for (const std::string& before : {std::string(), larger}) {
    const auto pipeline = BuildPipeline(ImageJob("ops { decode_image { } }\n" + before + crops));
    EXPECT_EQ(pipeline->schema().columns[0].shape, (std::vector<int64_t>{24, 32, 3}));
    // Each choice makes the rows of its op alone.
    const std::string record = ImageRecord(image::MakeJpeg({.width = 60, .height = 50}));
    const auto center = ImageAfter(before + "ops { center_crop { height: 24 width: 32 } }", record);
    const auto resized = ImageAfter(before + "ops { resize { height: 24 width: 32 } }", record);
    int centered = 0, whole = 0;
    RowScratch scratch;
    for (uint64_t epoch = 0; epoch < 30; ++epoch) {
      OwnedRow row(pipeline->schema());
      ASSERT_TRUE(pipeline->MakeRow(record, {.seed = 5, .epoch = epoch}, &row.slot, &scratch).ok());
      EXPECT_LE(scratch.held_bytes(), pipeline->ScratchBytes(record));
      centered += row.As<uint8_t>(0) == center;
      whole += row.As<uint8_t>(0) == resized;
    }
    EXPECT_GT(centered, 0);
    EXPECT_GT(whole, 0);
    EXPECT_LT(centered + whole, 30);
  }
  // A resize may follow ops of several sizes if the image had any size before.
  const auto mistakes = [](const std::string& ops) {
    return CheckPipeline(ImageJob("ops { decode_image { } }\n" + ops));
  };
  const std::string unlike =
      "ops { one_of { ops { center_crop { height: 24 width: 32 } }\nops { center_crop { height: 24 width: 30 } } } }\n";
  EXPECT_THAT(mistakes(unlike + larger), IsEmpty());
  EXPECT_THAT(mistakes(unlike), ElementsAre(HasSubstr("uint8 [24, ?, 3] at the end")));
  EXPECT_THAT(mistakes(larger + unlike),
              ElementsAre(HasSubstr("ops[2].one_of.ops[1].center_crop: leaves uint8 [24, 30, 3], but an op before it "
                                    "leaves uint8 [24, 32, 3]; all ops inside must leave the same size")));
}

TEST(Children, NestAtMostEightDeep) {
  const auto nested = [](int depth) {
    std::string ops = "ops { random_horizontal_flip { } }";
    for (int i = 0; i < depth; ++i) ops = "ops { random_apply { probability: 1 " + ops + " } }";
    return ChildrenJob(ops);
  };
  EXPECT_THAT(CheckPipeline(nested(8)), IsEmpty());
  EXPECT_THAT(CheckPipeline(nested(9)), ElementsAre(HasSubstr("ops may be inside others at most 8 deep")));
}

TEST(Children, DamageThatAChildFindsIsAnErrorOfDecodeImage) {
  // The pixels of the broken JPEG are first needed inside the child. The error still names decode_image.
  const auto pipeline =
      BuildPipeline(ImageJob("ops { decode_image { } }\n"
                             "ops { random_apply { probability: 1 ops { random_horizontal_flip { probability: 1 } }\n"
                             "      ops { resize { height: 4 width: 4 } } } }\n"
                             "ops { resize { height: 4 width: 4 } }"));
  std::string jpeg = image::MakeJpeg({.width = 32, .height = 32});
  jpeg.resize(jpeg.size() / 2);
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const absl::Status status = pipeline->MakeRow(ImageRecord(jpeg), SampleKey(), &row.slot, &scratch);
  EXPECT_THAT(std::string(status.message()), HasSubstr("ops[0].decode_image"));
}

TEST(Children, ScratchCoversEveryOutcome) {
  // The reserved bytes suffice for every child, and are a little more than the largest child needs.
  const std::string jpeg = image::MakeJpeg({.width = 300, .height = 200});
  const std::string record = ImageRecord(jpeg);
  const auto scratch_of = [&](const std::string& ops) {
    return BuildPipeline(ImageJob("ops { decode_image { } }\n" + ops + "ops { resize { height: 9 width: 9 } }"))
        ->ScratchBytes(record);
  };
  const std::string cheap = "ops { random_horizontal_flip { } }";
  const std::string dear = "ops { resize { height: 900 width: 900 } }";
  const size_t both = scratch_of("ops { one_of { " + cheap + dear + " } }");
  EXPECT_GE(both, scratch_of("ops { one_of { " + dear + " } }"));
  EXPECT_GE(scratch_of("ops { random_apply { " + dear + " } }"), scratch_of(dear));
  EXPECT_GE(both, size_t{900 * 900 * 3});
  EXPECT_LT(both, scratch_of(dear) + scratch_of(cheap) + (size_t{1} << 20));
}

TEST(Children, OnlyRandomOpsAreExcludedFromTheDecodedPrefix) {
  const auto prefix = [](const std::string& op) {
    const auto pipeline = BuildPipeline(ImageJob(op + "ops { resize { height: 4 width: 4 } }"));
    return pipeline->HasDecodedPrefix();
  };
  EXPECT_TRUE(prefix("ops { decode_image { } }"));
  // A decoded image from a cache gives the same rows.
  const auto pipeline =
      BuildPipeline(ImageJob("ops { decode_image { } }\n"
                             "ops { random_apply { probability: 1 ops { resize { height: 20 width: 20 } } } }\n"
                             "ops { random_apply { ops { random_horizontal_flip { } } } }\n"
                             "ops { resize { height: 8 width: 8 } }"));
  const std::string record = ImageRecord(image::MakeJpeg({.width = 40, .height = 30}));
  RowScratch scratch;
  const auto decoded = pipeline->MakeDecoded(record, &scratch);
  ASSERT_TRUE(decoded.ok());
  for (uint64_t id = 0; id < 16; ++id) {
    const SampleKey key{.seed = 1, .epoch = 2, .repeat = 0, .record_id = id};
    OwnedRow cold(pipeline->schema()), warm(pipeline->schema());
    ASSERT_TRUE(pipeline->MakeRow(record, key, &cold.slot, &scratch).ok());
    ASSERT_TRUE(pipeline->MakeRowFromDecoded(record, *decoded, key, &warm.slot, &scratch).ok());
    EXPECT_EQ(cold.memory, warm.memory);
  }
}

}  // namespace
}  // namespace penstock::augment
