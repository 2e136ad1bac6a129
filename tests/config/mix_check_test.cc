#include "config/mix_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/job_file.h"

namespace penstock::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// The mistakes of a job whose line 6 is `mix`, each "LINE FIELD: MESSAGE".
std::vector<std::string> Check(const std::string& mix, const std::string& batch = "size: 8",
                               const std::string& op = "") {
  const std::string text =
      "name: \"a-job\"\n"
      "dataset { files: \"train-*\" }\n"
      "features { key: \"image/encoded\" column: \"image\" type: BYTES }\n"
      "features { key: \"label\" type: INT64 }\n"
      "batch { " +
      batch + " }\nmix { " + mix + " }\n" + op + "\n";
  v1::JobSpec job;
  std::vector<std::string> lines;
  for (const Mistake& m : CheckJobText(text, nullptr, &job)) {
    lines.push_back(std::to_string(m.line) + " " + m.field + ": " + m.message);
  }
  return lines;
}

TEST(MixCheck, ValidMixesHaveNoMistakes) {
  EXPECT_THAT(Check("mixup_alpha: 0.2 classes: 10"), IsEmpty());
  EXPECT_THAT(Check("mixup_alpha: 0.2 cutmix_alpha: 1 cutmix_share: 1 probability: 0 group: 4"), IsEmpty());
  EXPECT_THAT(Check("mixup_alpha: 0.2", "size: 8 last: PARTIAL"), IsEmpty());
}

TEST(MixCheck, NumbersOutOfRangeAreReportedWithTheirLine) {
  EXPECT_THAT(Check(""), ElementsAre(AllOf(StartsWith("6 mix: "), HasSubstr("mixup_alpha"))));
  EXPECT_THAT(Check("mixup_alpha: -1"), ElementsAre(StartsWith("6 mix.mixup_alpha: ")));
  EXPECT_THAT(Check("mixup_alpha: nan"), ElementsAre(StartsWith("6 mix.mixup_alpha: ")));
  EXPECT_THAT(Check("cutmix_alpha: inf"), ElementsAre(StartsWith("6 mix.cutmix_alpha: ")));
  EXPECT_THAT(Check("mixup_alpha: 1 probability: 1.5"), ElementsAre(StartsWith("6 mix.probability: ")));
  EXPECT_THAT(Check("mixup_alpha: 1 cutmix_alpha: 1 cutmix_share: -0.5"),
              ElementsAre(StartsWith("6 mix.cutmix_share: ")));
  EXPECT_THAT(Check("mixup_alpha: 1 cutmix_share: 0.5"),
              ElementsAre(AllOf(StartsWith("6 mix.cutmix_share: "), HasSubstr("both"))));
  EXPECT_THAT(Check("mixup_alpha: 1 smoothing: 1"), ElementsAre(StartsWith("6 mix.smoothing: ")));
  EXPECT_THAT(Check("mixup_alpha: 1 classes: 1"), ElementsAre(StartsWith("6 mix.classes: ")));
  EXPECT_THAT(Check("mixup_alpha: 1 group: 1"), ElementsAre(StartsWith("6 mix.group: ")));
}

TEST(MixCheck, AGroupThatTheBatchSplitsIsRejected) {
  EXPECT_THAT(Check("mixup_alpha: 1 group: 3"),
              ElementsAre(AllOf(StartsWith("6 mix.group: "), HasSubstr("groups of 3"), HasSubstr("batch.size of 8"))));
  EXPECT_THAT(Check("mixup_alpha: 1", "size: 9"), ElementsAre(AllOf(StartsWith("6 mix: "), HasSubstr("groups of 2"))));
  EXPECT_THAT(Check("mixup_alpha: 1", "size: 0"), ElementsAre(StartsWith("5 batch.size: ")));
}

TEST(MixCheck, UnknownColumnsAreReportedWithTheNearestName) {
  EXPECT_THAT(Check("mixup_alpha: 1 image: \"imagee\" label: \"labl\""),
              ElementsAre(AllOf(StartsWith("6 mix.image: "), HasSubstr("did you mean 'image'?")),
                          AllOf(StartsWith("6 mix.label: "), HasSubstr("did you mean 'label'?"))));
  EXPECT_THAT(Check("mixup_alpha: 1 label: \"zebra\""),
              ElementsAre(AllOf(HasSubstr("no column 'zebra'"), HasSubstr("image, label"))));
  EXPECT_THAT(Check("mixup_alpha: 1 cutmix_alpa: 1"), ElementsAre(HasSubstr("did you mean 'cutmix_alpha'")));
}

TEST(MixCheck, AnOpMayNotHaveTheNameOfTheMix) {
  EXPECT_THAT(Check("mixup_alpha: 1", "size: 8", "ops { name: \"mix\" random_horizontal_flip { } }"),
              ElementsAre(AllOf(StartsWith("7 ops[0].name: "), HasSubstr("draw the same numbers"))));
}

}  // namespace
}  // namespace penstock::config
