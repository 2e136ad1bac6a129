// The pipelines of a job's data sets: shared if they are equal, with one list of stages, and the same columns.
#include "pipeline/augment/set_pipelines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/plan/job_dataset.h"
#include "tests/pipeline/augment/row_maker.h"

namespace penstock::augment {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kJob[] = R"(
  dataset { name: 'a' }
  dataset { name: 'b' features { key: 'n' column: 'x' type: INT64 } }
  dataset { name: 'c' ops { column: 'x' cast { to: FLOAT32 } } }
  dataset { name: 'd' }
  features { key: 'm' column: 'x' type: INT64 }
  ops { column: 'x' scale { factor: 0.5 to: FLOAT32 } }
)";

absl::StatusOr<SetPipelines> Create(const std::string& text) {
  return SetPipelines::Create(plan::JobsOfSets(ParseJob(text)));
}

TEST(SetPipelines, EqualDataSetsShareAPipeline) {
  const auto pipelines = Create(kJob);
  ASSERT_TRUE(pipelines.ok()) << pipelines.status();
  EXPECT_FALSE(pipelines->are_one());
  EXPECT_EQ(&pipelines->Of(0), &pipelines->Of(3));
  EXPECT_NE(&pipelines->Of(0), &pipelines->Of(1));
  EXPECT_NE(&pipelines->Of(0), &pipelines->Of(2));
  const auto one = Create("dataset { name: 'a' } dataset { name: 'b' } features { key: 'm' type: INT64 }");
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_TRUE(one->are_one());
  EXPECT_EQ(one->fingerprint(), one->Of(1).fingerprint());
}

TEST(SetPipelines, TheFingerprintCoversEachDataSet) {
  const uint64_t before = Create(kJob)->fingerprint();
  EXPECT_EQ(Create(kJob)->fingerprint(), before);
  std::string other = kJob;
  other.replace(other.find("'n'"), 3, "'o'");
  EXPECT_NE(Create(other)->fingerprint(), before);
  v1::JobSpec swapped = ParseJob(kJob);
  swapped.mutable_dataset()->SwapElements(0, 1);
  EXPECT_NE(SetPipelines::Create(plan::JobsOfSets(swapped))->fingerprint(), before);
}

TEST(SetPipelines, APackIsThatOfItsDataSet) {
  const auto create = [](const std::string& a, const std::string& b) {
    const auto set = [](const std::string& name, const std::string& pack) {
      return absl::StrCat("dataset { name: '", name, "' ", pack.empty() ? "" : "select { pack { " + pack + " } }",
                          " } ");
    };
    return Create(set("a", a) + set("b", b) + "features { key: 't' type: INT64 variable_length: true }");
  };
  const std::string pack = "length: 4 features: 't'";
  EXPECT_TRUE(create(pack, pack)->are_one());
  const auto cut = create(pack, pack + " concatenate: true");
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_FALSE(cut->are_one());
  EXPECT_NE(cut->fingerprint(), create(pack, pack)->fingerprint());
  EXPECT_THAT(std::string(create(pack, "").status().message()), HasSubstr("dataset[1] (b): its column 't' is"));
  EXPECT_THAT(std::string(create("", pack).status().message()), HasSubstr("dataset[1] (b): its column 't' is"));
  EXPECT_THAT(std::string(create(pack, pack + " outputs: LENGTHS").status().message()),
              HasSubstr("dataset[1] (b): it has no column 't_segment_ids'"));
  EXPECT_THAT(CheckPipeline(ParseJob("dataset { name: 'a' select { pack { length: 4 features: 't' } } } "
                                     "dataset { name: 'b' select { pack { length: 4 features: 'u' } } } "
                                     "features { key: 't' type: INT64 variable_length: true }")),
              ::testing::Contains(HasSubstr("pack.features: 'u' is the key of no entry")));
}

TEST(SetPipelines, StagesOfAllPipelinesAreInOneList) {
  const auto pipelines = Create(kJob);
  ASSERT_TRUE(pipelines.ok()) << pipelines.status();
  EXPECT_THAT(pipelines->stages(), ElementsAre("other", "parse", "decode", "resize", "scale", "cast"));
  for (uint32_t set = 0; set < 4; ++set) {
    const std::vector<std::string>& own = pipelines->Of(set).stages();
    for (size_t i = 0; i < own.size(); ++i) EXPECT_EQ(pipelines->stages()[pipelines->StageOf(set, i)], own[i]);
  }
}

TEST(SetPipelines, DataSetsMakeTheSameColumns) {
  const auto error_of = [](const std::string& features) {
    return std::string(Create(absl::StrCat("dataset { name: 'a' } dataset { name: 'b' ", features,
                                           " } features { key: 'x' type: INT64 } features { key: 'y' type: BYTES }"))
                           .status()
                           .message());
  };
  const std::string x = "features { key: 'x' type: INT64 }", y = "features { key: 'y' type: BYTES }";
  EXPECT_EQ(error_of(x + y), "");
  EXPECT_THAT(error_of(x), HasSubstr("dataset[1] (b): it has no column 'y'; all data sets make the columns of"));
  EXPECT_THAT(error_of(x + y + "features { key: 'z' type: INT64 }"), HasSubstr("it has one more column, 'z'"));
  EXPECT_THAT(error_of(y + x), HasSubstr("its column 'y' stands where 'x' is; list the features in one order"));
  EXPECT_THAT(error_of("features { key: 'x' type: INT64 variable_length: true }" + y),
              HasSubstr("its column 'x' is INT64, ragged, and not INT64"));
}

TEST(SetPipelines, MistakesNameTheDataSetOnceEach) {
  v1::JobSpec job = ParseJob(kJob);
  EXPECT_THAT(CheckPipeline(job), IsEmpty());
  job.mutable_dataset(1)->mutable_features(0)->clear_type();
  job.mutable_dataset(2)->mutable_ops(0)->set_column("z");
  job.mutable_ops(0)->set_column("q");
  EXPECT_THAT(CheckPipeline(job), ElementsAre(HasSubstr("ops[0].column: "), HasSubstr("dataset[1].features[0].type: "),
                                              HasSubstr("dataset[2].ops[0].column: ")));
}

}  // namespace
}  // namespace penstock::augment
