#include "pipeline/augment/check_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/pipeline/augment/row_maker.h"

namespace penstock::augment {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::string> CheckOps(const std::string& ops) { return CheckPipeline(ImageJob(ops)); }

constexpr char kResize[] = "ops { resize { height: 8 width: 8 } }";

TEST(CheckPipeline, ANormalJobHasNoMistakes) {
  EXPECT_THAT(CheckOps(std::string("ops { decode_image { } }") + kResize), IsEmpty());
  EXPECT_THAT(CheckPipeline(ImageJob("")), IsEmpty());
}

TEST(CheckPipeline, NamesEveryMistakeAtOnce) {
  const v1::JobSpec job = ParseJob(R"(
    features { key: "a" column: "image" type: BYTES }
    features { key: "b" column: "image" type: INT64 }
    features { key: "c" }
    features { key: "d" type: INT64 decode_raw: UINT8 }
    features { key: "e" type: FLOAT default { ints: 3 } }
    features { key: "f" type: INT64 sequence: true }
    features { key: "g" type: INT64 shape: 0 }
    features { key: "h" type: FLOAT shape: 3 default { floats: [1, 2] } }
    ops { decode_image { } }
    ops { random_resized_crop { height: 0 width: 9 scale_min: 2 } }
    ops { column: "nowhere" cast { to: FLOAT32 } }
    ops { }
    ops { name: "7" column: "b" cast { to: STRING } }
  )");
  EXPECT_THAT(
      CheckPipeline(job),
      ElementsAre(
          AllOf(StartsWith("features[1].column: "), HasSubstr("'image'")), StartsWith("features[2].type: "),
          StartsWith("features[3].decode_raw: "), StartsWith("features[4].default: "),
          StartsWith("features[5].sequence: "), StartsWith("features[6].shape: "), StartsWith("features[7].default: "),
          StartsWith("ops[4].name: "), "ops[1].random_resized_crop.height: must be from 1 to 65500, not 0",
          StartsWith("ops[1].random_resized_crop.scale_min: "), StartsWith("ops[1].random_resized_crop.scale_max: "),
          AllOf(StartsWith("ops[2].column: "), HasSubstr("'nowhere'"), HasSubstr("image")), StartsWith("ops[3]: "),
          AllOf(StartsWith("ops[4].column: "), HasSubstr("'b'"))));
}

TEST(CheckPipeline, ImagesOfManySizesNeedAResize) {
  EXPECT_THAT(CheckOps("ops { decode_image { } }"),
              ElementsAre(AllOf(HasSubstr("column 'image'"), HasSubstr("add a resize"))));
  EXPECT_THAT(CheckOps("ops { decode_image { } } ops { resize { shorter_side: 9 } }"), testing::SizeIs(1));
}

TEST(CheckPipeline, OpsNeedTheirKindOfInput) {
  EXPECT_THAT(CheckOps(kResize), ElementsAre(AllOf(StartsWith("ops[0].resize: "), HasSubstr("decode_image"))));
  EXPECT_THAT(CheckOps("ops { column: 'label' decode_image { } }"), ElementsAre(StartsWith("ops[0].decode_image: ")));
  EXPECT_THAT(CheckOps("ops { cast { to: FLOAT32 } }"), ElementsAre(HasSubstr("column 'image' is string here")));
  const std::string decoded = std::string("ops { decode_image { } }") + kResize;
  EXPECT_THAT(CheckOps(decoded + "ops { decode_image { } }"), ElementsAre(StartsWith("ops[2].decode_image: ")));
  EXPECT_THAT(CheckOps(decoded + "ops { cast { to: FLOAT32 } }" + kResize), ElementsAre(StartsWith("ops[3].resize: ")));
}

TEST(CheckPipeline, MistakesInSettingsOfOpsAreNamed) {
  const auto one = [](const std::string& op) {
    return CheckOps("ops { decode_image { } } ops { resize { height: 8 width: 8 } } ops { " + op + " }");
  };
  EXPECT_THAT(one("resize { }"), ElementsAre(StartsWith("ops[2].resize: give height and width")));
  EXPECT_THAT(one("resize { height: 3 }"), ElementsAre(StartsWith("ops[2].resize.width: ")));
  EXPECT_THAT(one("resize { shorter_side: 3 longer_side: 4 }"), ElementsAre(StartsWith("ops[2].resize: ")));
  EXPECT_THAT(one("resize { shorter_side: 99999 }"), Contains(StartsWith("ops[2].resize.shorter_side: ")));
  EXPECT_THAT(one("resize { height: 3 width: 3 resize: OPENCV_AREA filter: BOX }"),
              ElementsAre(StartsWith("ops[2].resize.filter: ")));
  EXPECT_THAT(one("resize { height: 3 width: 3 resize: TF_BILINEAR no_antialias: true }"), ElementsAre());
  EXPECT_THAT(one("resize { height: 3 width: 3 resize: TF_BILINEAR filter: BICUBIC }"),
              ElementsAre(StartsWith("ops[2].resize.filter: ")));
  EXPECT_THAT(one("random_resized_crop { height: 3 width: 3 no_antialias: true }"),
              ElementsAre(StartsWith("ops[2].random_resized_crop.no_antialias: ")));
  EXPECT_THAT(one("center_crop { height: 3 }"), ElementsAre(StartsWith("ops[2].center_crop.width: ")));
  EXPECT_THAT(one("random_horizontal_flip { probability: 1.5 }"),
              ElementsAre(StartsWith("ops[2].random_horizontal_flip.probability: ")));
  EXPECT_THAT(one("random_resized_crop { height: 3 width: 3 ratio_min: 2 }"),
              ElementsAre(StartsWith("ops[2].random_resized_crop.ratio_max: ")));
  EXPECT_THAT(one("normalize { preset: 'imagnet' }"),
              ElementsAre(AllOf(StartsWith("ops[2].normalize.preset: "), HasSubstr("imagenet"))));
  EXPECT_THAT(one("normalize { preset: 'clip' mean: 1 }"), ElementsAre(StartsWith("ops[2].normalize.preset: ")));
  EXPECT_THAT(one("normalize { mean: [1, 2] }"), ElementsAre(StartsWith("ops[2].normalize.mean: ")));
  EXPECT_THAT(one("normalize { std: 0 }"), Contains(StartsWith("ops[2].normalize.std: ")));
  EXPECT_THAT(one("normalize { to: INT8 }"), ElementsAre(StartsWith("ops[2].normalize.to: ")));
  EXPECT_THAT(one("cast { }"), ElementsAre(StartsWith("ops[2].cast.to: ")));
}

TEST(CheckPipeline, TwoOpsMayNotHaveTheSameName) {
  EXPECT_THAT(
      CheckOps(std::string("ops { name: 'a' decode_image { } } ops { name: 'a' resize { height: 8 width: 8 } }")),
      ElementsAre(StartsWith("ops[1].name: ")));
}

TEST(CheckPipeline, AJobOnRawRecordsHasOneFeature) {
  EXPECT_THAT(CheckPipeline(ParseJob("dataset { format: RAW } features { column: 'x' type: BYTES }")), IsEmpty());
  EXPECT_THAT(CheckPipeline(ParseJob("dataset { format: RAW } features { column: 'x' type: INT64 }"
                                     "features { column: 'y' type: BYTES }")),
              testing::SizeIs(2));
  EXPECT_THAT(CheckPipeline(ParseJob("")), ElementsAre(StartsWith("features: ")));
}

}  // namespace
}  // namespace penstock::augment
