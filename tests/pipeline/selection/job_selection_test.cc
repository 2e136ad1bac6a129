// The selection of a job: the records of a brute-force loop, errors that name the step, and bad records by policy.
#include "pipeline/selection/job_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/ordered_key.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/index_job.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/selection/selection_testing.h"
#include "tests/pipeline/sources/tar/tar_maker.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"

namespace penstock::selection {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(JobSelection, KeepsTheRecordsThatMatchAllSteps) {
  const std::string path = Shard("a", Entries(20));
  Filter("n >= 4 and score < 4");
  Filter("lang == 'de'");
  const auto numbers = Select(path);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_THAT(*numbers, ElementsAre(6, 9, 12, 15));
}

TEST_F(JobSelection, ReadsTarSamplesAndTheirJson) {
  std::string archive;
  for (int i = 0; i < 8; ++i) {
    sources::AppendTarMember(absl::StrCat("s", i, ".jpg"), std::string(1000, 'j'), &archive);
    sources::AppendTarMember(absl::StrCat("s", i, ".cls"), absl::StrCat(i), &archive);
    sources::AppendTarMember(absl::StrCat("s", i, ".txt"), i % 2 == 0 ? "a dog" : "a cat", &archive);
  }
  const std::string path = folder_.File("s.tar");
  ASSERT_TRUE(WriteFileAtomically(path, archive + std::string(1024, '\0')).ok());
  Filter("startswith(txt, 'a cat') and bytes(jpg) == 1000");
  Filter("col('cls') != 3");
  const auto numbers = Select(path);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_THAT(*numbers, ElementsAre(1, 5, 7));
}

TEST_F(JobSelection, ABalanceMakesGroupsOfTheValues) {
  const std::string path = Shard("a", Entries(12));
  Filter("n != 5");
  v1::Balance* const balance = job_.mutable_dataset(0)->add_select()->mutable_balance();
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"lang", {"de", "en"}},
      {"n // 4", {"0", "1", "2"}},
      {"n > 3", {"false", "true"}},
      {"-n // 8", {"-1", "-2", "0"}},
      {"score", {"0", "0.25", "0.5", "0.75", "1", "1.5", "1.75", "2", "2.25", "2.5", "2.75"}},
  };
  for (const auto& [by, names] : cases) {
    balance->set_by(by);
    const auto options = WithSelection(sources::IndexOptionsOf(job_), *Make({path}));
    ASSERT_TRUE(options.ok()) << options.status();
    const auto built = sources::BuildIndexOf(storage::LocalFiles(), path, *options);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_EQ(std::vector<std::string>(built->index->group_names().begin(), built->index->group_names().end()), names);
    EXPECT_EQ(built->index->record_count(), 11u);
  }
  balance->set_by("lang");
  const auto numbers = Select(path);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_THAT(*numbers, ElementsAre(0, 3, 6, 9, 1, 2, 4, 7, 8, 10, 11));
  const uint64_t id = IdOf(*Make({path}));
  balance->set_power(1);
  EXPECT_EQ(IdOf(*Make({path})), id) << "the shares are no part of an index";
  balance->set_by("n");
  EXPECT_NE(IdOf(*Make({path})), id);
  balance->set_by("langg");
  EXPECT_THAT(std::string(Make({path}).status().message()),
              HasSubstr("dataset[0].select[1].balance.by: there is no feature 'langg' (did you mean 'lang'?)"));
}

TEST_F(JobSelection, SortedGroupsHaveTheOrderOfTheirValues) {
  const std::string path = Shard("a", Entries(12));
  v1::Select* const step = job_.mutable_dataset(0)->add_select();
  step->mutable_sort()->set_by("n - 10");
  const auto names = [&] {
    const auto options = WithSelection(sources::IndexOptionsOf(job_), *Make({path}));
    EXPECT_TRUE(options.ok()) << options.status();
    const auto built = sources::BuildIndexOf(storage::LocalFiles(), path, *options);
    EXPECT_TRUE(built.ok()) << built.status();
    std::vector<std::string> texts;
    for (const std::string& name : built->index->group_names()) texts.push_back(OrderedKeyText(name));
    return texts;
  };
  EXPECT_THAT(names(), ElementsAre("-10", "-9", "-8", "-7", "-6", "-5", "-4", "-3", "-2", "-1", "0", "1"));
  step->mutable_bucket()->set_by("-score");
  EXPECT_THAT(names(), ElementsAre("-2.75", "-2.5", "-2.25", "-2", "-1.75", "-1.5", "-1.25", "-1", "-0.75", "-0.5",
                                   "-0.25", "0"));
  step->mutable_sort()->set_by("lang");
  EXPECT_THAT(names(), ElementsAre("de", "en"));
  const auto numbers = Select(path);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_THAT(*numbers, ElementsAre(0, 3, 6, 9, 1, 2, 4, 5, 7, 8, 10, 11));
}

TEST_F(JobSelection, AWeightIsANumberThatIsAtLeast0) {
  const std::string path = Shard("a", Entries(4));
  v1::Weights* const weights = job_.mutable_dataset(0)->add_select()->mutable_weights();
  weights->set_by("lang");
  EXPECT_EQ(Make({path}).status().message(),
            "dataset[0].select[0].weights.by: `lang` is no number; give one, such as `quality`");
  weights->set_by("n > 1");
  EXPECT_THAT(std::string(Make({path}).status().message()), HasSubstr("`n > 1` is no number"));
  for (const auto& [by, value] : {std::pair("n - 2", "-2"), std::pair("score - 0.25", "-0.25")}) {
    weights->set_by(by);
    job_.mutable_errors()->set_policy(v1::FAIL);
    EXPECT_THAT(
        std::string(Select(path).status().message()),
        HasSubstr(absl::StrCat("record 0: `", by, "` is ", value, "; a weight is a number that is at least 0")));
    job_.mutable_errors()->set_policy(v1::MASK);
    EXPECT_TRUE(Select(path).ok());
  }
}

TEST_F(JobSelection, ZeroIsOneGroupWhateverItsSign) {
  const std::string path = Shard("a", Entries(3));
  job_.mutable_dataset(0)->add_select()->mutable_balance()->set_by("(n - 1) * -0.0 / 2");
  const auto built =
      sources::BuildIndexOf(storage::LocalFiles(), path, *WithSelection(sources::IndexOptionsOf(job_), *Make({path})));
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(std::vector<std::string>(built->index->group_names().begin(), built->index->group_names().end()),
            std::vector<std::string>{"0"});
}

TEST_F(JobSelection, ARecordWithoutAGroupIsBad) {
  records::ExampleBuilder without, long_name;
  without.Int64("n", 1);
  long_name.Int64("n", 2).Bytes("lang", std::string(257, 'x'));
  v1::Balance* const balance = job_.mutable_dataset(0)->add_select()->mutable_balance();
  balance->set_by("lang");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {without.Serialize(), "`lang` has no value to balance by"},
      {long_name.Serialize(), "`lang` has 257 bytes; the name of a group has at most 256"}};
  for (const auto& [record, error] : cases) {
    const std::string path = Shard("bad", {Entry(0), record, Entry(1)});
    job_.mutable_errors()->set_policy(v1::FAIL);
    EXPECT_THAT(std::string(Select(path).status().message()), AllOf(HasSubstr("bad, record 1: "), HasSubstr(error)));
    job_.mutable_errors()->set_policy(v1::MASK);
    std::string left_out;
    const auto numbers = Select(path, &left_out);
    ASSERT_TRUE(numbers.ok()) << numbers.status();
    EXPECT_THAT(*numbers, ElementsAre(0, 2));
    EXPECT_THAT(left_out, HasSubstr(error));
  }
}

TEST_F(JobSelection, OfAJobWithoutStepsHasNone) {
  const auto none = Make({Shard("a", Entries(1))});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->steps_size(), 0);
  EXPECT_EQ(WithSelection({}, v1::Selection())->selection, nullptr);
}

TEST_F(JobSelection, ErrorsNameTheStepAndTheNearestFeature) {
  const std::string path = Shard("a", Entries(3));
  Filter("n > 1");
  Filter("langg == 'de'");
  EXPECT_THAT(std::string(Make({path}).status().message()),
              AllOf(HasSubstr("dataset[0].select[1].filter: there is no feature 'langg' (did you mean 'lang'?)"),
                    HasSubstr("\n  langg == 'de'\n  ^")));
  job_.mutable_dataset(0)->mutable_select(1)->clear_step();
  EXPECT_THAT(std::string(Make({path}).status().message()),
              HasSubstr("dataset[0].select[1]: a step that this release does not know"));
}

TEST_F(JobSelection, EachDataSetHasItsOwnStepsAndFeatures) {
  v1::Dataset* const other = job_.add_dataset();
  other->add_select()->set_filter("m > 1");
  Filter("n > 1");
  const std::string path = Shard("m", {records::ExampleBuilder().Int64("m", 2).Serialize()});
  const auto selection = MakeSelection(storage::LocalFiles(), job_, 1, {path});
  ASSERT_TRUE(selection.ok()) << selection.status();
  EXPECT_EQ(selection->features(0).key(), "m");
  other->mutable_select(0)->set_filter("n > 1");
  EXPECT_THAT(std::string(MakeSelection(storage::LocalFiles(), job_, 1, {path}).status().message()),
              HasSubstr("dataset[1].select[0].filter: there is no feature 'n'"));
}

TEST_F(JobSelection, AFeatureOfTwoTypesIsAnErrorWithBothFiles) {
  const std::string a = Shard("a", Entries(3)), b = Shard("b", {records::ExampleBuilder().Bytes("n", "x").Serialize()});
  Filter("n > 1");
  EXPECT_THAT(std::string(Make({a, b}).status().message()), AllOf(HasSubstr(a), HasSubstr(b)));
}

TEST_F(JobSelection, RawRecordsHaveNoFeatures) {
  Filter("n > 1");
  job_.mutable_dataset(0)->set_format(v1::RAW);
  const std::string path = Shard("a", Entries(200));
  EXPECT_THAT(std::string(Make({path}).status().message()), HasSubstr("the records have no features"));
  job_.mutable_dataset(0)->mutable_select(0)->mutable_split()->set_to(0.5);
  const auto numbers = Select(path);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_NEAR(static_cast<double>(numbers->size()), 100, 45);
}

// A content stays in its part, whatever file holds it.
TEST_F(JobSelection, AddingAndRecuttingShardsMovesNoRecord) {
  job_.mutable_dataset(0)->add_select()->mutable_split()->set_from(0.25);
  job_.mutable_dataset(0)->add_select()->mutable_sample()->set_fraction(0.8);
  const std::vector<std::string> entries = Entries(60);
  const auto whole = Select(Shard("whole", entries));
  ASSERT_TRUE(whole.ok()) << whole.status();
  std::vector<uint32_t> recut;
  for (uint32_t cut = 0; cut < 60; cut += 12) {
    const auto part = Select(Shard(absl::StrCat("part-", cut), {entries.begin() + cut, entries.begin() + cut + 12}));
    ASSERT_TRUE(part.ok()) << part.status();
    for (const uint32_t number : *part) recut.push_back(cut + number);
  }
  EXPECT_EQ(recut, *whole);
  EXPECT_GT(whole->size(), 20u);
  EXPECT_LT(whole->size(), 55u);
}

TEST_F(JobSelection, StepsThatCountComeLastAndDoNotConcernIndexes) {
  const std::string path = Shard("a", Entries(20));
  job_.mutable_dataset(0)->add_select()->set_skip(5);
  const auto counting = Make({path});
  ASSERT_TRUE(counting.ok()) << counting.status();
  EXPECT_EQ(counting->steps_size(), 1);
  EXPECT_EQ(WithSelection({}, *counting)->selection, nullptr);
  Filter("n > 3");
  EXPECT_THAT(std::string(Make({path}).status().message()),
              HasSubstr("dataset[0].select[1]: it must stand before select[0], which counts records"));
  job_.mutable_dataset(0)->mutable_select()->SwapElements(0, 1);
  const v1::Selection both = *Make({path});
  v1::Selection alone = both;
  alone.mutable_steps()->RemoveLast();
  EXPECT_EQ(IdOf(both), IdOf(alone));
}

TEST_F(JobSelection, ABadRecordFailsTheJobOrIsLeftOutAsTheErrorPolicySays) {
  std::vector<std::string> records = Entries(8);
  records[2] = "no example \xff\xff";
  records[3] = records::ExampleBuilder().Int64("n", INT64_MAX).Serialize();
  records[5] = records::ExampleBuilder().Bytes("n", "five").Serialize();
  const std::string path = Shard("a", records);
  support::BreakRecord(path, 6);
  Filter("n * 2 >= 2");
  const absl::Status failed = Select(path).status();
  EXPECT_TRUE(absl::IsInvalidArgument(failed)) << failed;
  EXPECT_THAT(std::string(failed.message()),
              AllOf(HasSubstr(absl::StrCat(path, ", record 2: ")), HasSubstr("errors { policy: MASK }")));
  for (const v1::ErrorPolicy policy : {v1::MASK, v1::SUBSTITUTE}) {
    job_.mutable_errors()->set_policy(policy);
    std::string left_out;
    const auto numbers = Select(path, &left_out);
    ASSERT_TRUE(numbers.ok()) << numbers.status();
    EXPECT_THAT(*numbers, ElementsAre(1, 4, 7));
    EXPECT_THAT(left_out, AllOf(HasSubstr("4 records are bad"), HasSubstr(", record 2: ")));
  }
}

TEST_F(JobSelection, ALaterStepSeesOnlyWhatEarlierStepsKeep) {
  std::vector<std::string> records = Entries(6);
  records[3] = records::ExampleBuilder().Int64("n", INT64_MAX).Bytes("lang", "fr").Serialize();
  const std::string path = Shard("a", records);
  Filter("lang in ('en', 'de')");
  Filter("n * 2 >= 4");
  const auto numbers = Select(path);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_THAT(*numbers, ElementsAre(2, 4, 5));
  job_.mutable_dataset(0)->mutable_select()->SwapElements(0, 1);
  EXPECT_FALSE(Select(path).ok()) << "the first step overflows now";
}

TEST_F(JobSelection, EachFieldOfTheDescriptionChangesTheId) {
  Filter("n > 1");
  const v1::Selection made = *Make({Shard("a", Entries(3))});
  EXPECT_EQ(IdOf(made), IdOf(made));
  std::vector<v1::Selection> others(9, made);
  others[0].mutable_steps(0)->set_filter("n > 2");
  *others[1].add_steps() = made.steps(0);
  others[2].set_keep_out_bad(!made.keep_out_bad());
  others[3].mutable_features(0)->set_type(v1::Feature::FLOAT);
  others[4].set_format(v1::SEQUENCE_EXAMPLE);
  others[5].add_steps()->mutable_split()->set_of("n");
  others[6] = others[5];
  others[6].mutable_steps(1)->mutable_split()->set_from(1e-9);
  others[7] = others[5];
  others[7].mutable_steps(1)->mutable_split()->set_seed(1);
  others[8].add_steps()->mutable_sample()->set_fraction(0.5);
  std::set<uint64_t> ids;
  for (const v1::Selection& other : others) ids.insert(IdOf(other));
  EXPECT_EQ(ids.size(), others.size());
  for (const v1::Selection& other : others) EXPECT_NE(IdOf(other), IdOf(made)) << other.ShortDebugString();
}

TEST_F(JobSelection, ARecordThatAnEarlierStepDropsIsNotBadBecauseOfALaterOne) {
  std::vector<std::string> records = Entries(6);
  records[3] = records::ExampleBuilder().Bytes("n", "three").Bytes("lang", "fr").Serialize();
  const std::string path = Shard("a", records);
  Filter("lang in ('en', 'de')");
  Filter("n > 1");
  const auto numbers = Select(path);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_THAT(*numbers, ElementsAre(2, 4, 5));
  job_.mutable_dataset(0)->mutable_select(0)->set_filter("lang != 'en'");
  EXPECT_THAT(Select(path).status().ToString(), HasSubstr("record 3: the feature 'n' is BYTES here"));
}

// The ids of releases must not change: sidecars and coordinators keep them.
TEST_F(JobSelection, TheIdIsTheSameInEveryRelease) {
  Filter("n > 1");
  EXPECT_EQ(IdOf(*Make({Shard("a", Entries(3))})), 5602810231446276211u);
}

}  // namespace
}  // namespace penstock::selection
