#include "pipeline/augment/job_warnings.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>

#include "absl/strings/str_cat.h"

namespace penstock::augment {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kCrop[] = "ops { decode_image { } } ops { random_resized_crop { height: 8 width: 8 } }";

std::vector<std::string> WarningsOf(const std::string& text) {
  v1::JobSpec job;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &job));
  return JobWarnings(job);
}

std::vector<std::string> WithFeature(const std::string& feature, const std::string& rest = kCrop) {
  return WarningsOf(
      absl::StrCat("features { key: 'image/encoded' column: 'image' type: BYTES } features { ", feature, " } ", rest));
}

TEST(JobWarnings, BoxFeaturesInAJobWithACropGiveAWarningWithTheFix) {
  EXPECT_THAT(WithFeature("key: 'image/object/bbox/xmin' type: FLOAT variable_length: true"),
              ElementsAre(AllOf(StartsWith("features[1]: 'image/object/bbox/xmin' is named like boxes"),
                                HasSubstr("ops[1] (random_resized_crop) moves the pixels and not it"),
                                HasSubstr("annotations { boxes {"), HasSubstr("from four keys of the record"))));
  EXPECT_THAT(WithFeature("key: 'raw' column: 'gt_boxes' type: BYTES decode_raw: FLOAT32"),
              ElementsAre(HasSubstr("gt_boxes")));
}

TEST(JobWarnings, AllBoxSidesGiveOneWarning) {
  EXPECT_THAT(
      WarningsOf(absl::StrCat("features { key: 'xmin' type: FLOAT } features { key: 'ymin' type: FLOAT } ", kCrop)),
      ElementsAre(HasSubstr("'xmin', 'ymin' are named like boxes")));
}

TEST(JobWarnings, FeaturesAboutBoxesAreNotBoxes) {
  for (const char* key :
       {"image/object/bbox/label", "bbox_id", "num_boxes", "box/score", "inbox", "image/object/area"}) {
    EXPECT_THAT(WithFeature(absl::StrCat("key: '", key, "' type: INT64 variable_length: true")), IsEmpty()) << key;
  }
  EXPECT_THAT(WithFeature("key: 'bbox' type: BYTES"), IsEmpty()) << "bytes are not numbers";
}

TEST(JobWarnings, OpsThatKeepBoxesValidGiveNoWarning) {
  const std::string box = "key: 'bbox' type: FLOAT variable_length: true";
  EXPECT_THAT(WithFeature(box, "ops { decode_image { } } ops { color_jitter { } }"), IsEmpty());
  EXPECT_THAT(WithFeature(box, "ops { decode_image { } } ops { resize { height: 8 width: 8 } }"), IsEmpty())
      << "fractions of the sides stay valid";
  EXPECT_THAT(
      WithFeature("key: 'bbox' type: INT64 shape: 4", "ops { decode_image { } } ops { resize { height: 8 width: 8 } }"),
      ElementsAre(HasSubstr("(resize)")))
      << "pixel coordinates do not stay valid";
  EXPECT_THAT(WithFeature(box, "ops { decode_image { } } ops { random_apply { ops { random_horizontal_flip { } } } }"),
              ElementsAre(HasSubstr("(random_horizontal_flip)")));
}

TEST(JobWarnings, BoxesOfTheAnnotationsGiveNoWarning) {
  EXPECT_THAT(WithFeature("key: 'image/object/bbox/xmin' type: FLOAT variable_length: true",
                          absl::StrCat(kCrop, " annotations { boxes { } }")),
              IsEmpty());
  EXPECT_THAT(WithFeature("key: 'boxes' column: 'b' type: INT64 variable_length: true",
                          absl::StrCat(kCrop, " annotations { boxes { companions: 'b' } }")),
              IsEmpty());
}

}  // namespace
}  // namespace penstock::augment
