// The selection of a job: the records of a brute-force loop, errors that name the step, and bad records by policy.
#include "pipeline/selection/job_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/ordered_key.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/selection/feature_types.h"
#include "pipeline/selection/record_filter.h"
#include "pipeline/sources/index_job.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/sources/tar/tar_maker.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"

namespace penstock::selection {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JobSelection : public ::testing::Test {
 protected:
  JobSelection() { job_.add_dataset(); }

  std::string Shard(const std::string& name, const std::vector<std::string>& records) {
    support::WriteShard(folder_.File(name), records);
    return folder_.File(name);
  }
  static std::string Entry(int64_t n) {
    records::ExampleBuilder example;
    example.Int64("n", n).Float("score", static_cast<float>(n) / 4).Bytes("lang", n % 3 == 0 ? "de" : "en");
    return example.Serialize();
  }
  static std::vector<std::string> Entries(int count) {
    std::vector<std::string> entries;
    for (int i = 0; i < count; ++i) entries.push_back(Entry(i));
    return entries;
  }
  void Filter(const std::string& text) { job_.mutable_dataset(0)->add_select()->set_filter(text); }

  absl::StatusOr<v1::Selection> Make(const std::vector<std::string>& paths) const {
    return MakeSelection(storage::LocalFiles(), job_, 0, paths);
  }
  // Returns the numbers of the selected records of a file.
  absl::StatusOr<std::vector<uint32_t>> Select(const std::string& path, std::string* left_out = nullptr) const {
    const absl::StatusOr<v1::Selection> selection = Make({path});
    if (!selection.ok()) return selection.status();
    // Other processes get the description on the wire.
    v1::Selection sent;
    EXPECT_TRUE(sent.ParseFromString(selection->SerializeAsString()));
    const auto options = WithSelection(sources::IndexOptionsOf(job_), sent);
    if (!options.ok()) return options.status();
    const auto built = sources::BuildIndexOf(storage::LocalFiles(), path, *options);
    if (!built.ok()) return built.status();
    if (left_out != nullptr) *left_out = built->left_out;
    std::vector<uint32_t> numbers;
    for (uint64_t k = 0; k < built->index->record_count(); ++k) {
      numbers.push_back(static_cast<uint32_t>(built->index->NumberInShard(k)));
    }
    return numbers;
  }
  uint64_t IdOf(const v1::Selection& selection) const {
    const auto created = CreateSelection(selection);
    EXPECT_TRUE(created.ok()) << created.status();
    return (*created)->id();
  }

  support::TempFolder folder_;
  v1::JobSpec job_;
};

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

class PackedSelection : public JobSelection {
 protected:
  static std::string Text(int tokens, int masks) {
    records::ExampleBuilder example;
    example.Int64List("tokens", std::vector<int64_t>(static_cast<size_t>(tokens), tokens));
    example.Int64List("mask", std::vector<int64_t>(static_cast<size_t>(masks), 1));
    const std::string raw(static_cast<size_t>(2 * tokens), 'r');
    return example.BytesList("raw", std::vector<std::string_view>{raw}).Serialize();
  }
  static std::vector<std::string> Texts(const std::vector<int>& lengths) {
    std::vector<std::string> texts;
    for (const int length : lengths) texts.push_back(Text(length, length));
    return texts;
  }
  v1::Pack* Pack(uint64_t length, const std::vector<std::string>& features = {"tokens"}) {
    v1::Pack* const pack = job_.mutable_dataset(0)->add_select()->mutable_pack();
    pack->set_length(length);
    for (const std::string& feature : features) pack->add_features(feature);
    return pack;
  }
  absl::StatusOr<sources::LoadedIndex> Index(const std::string& path) {
    const absl::StatusOr<v1::Selection> selection = Make({path});
    if (!selection.ok()) return selection.status();
    const auto options = WithSelection(sources::IndexOptionsOf(job_), *selection);
    if (!options.ok()) return options.status();
    return sources::BuildIndexOf(storage::LocalFiles(), path, *options);
  }
};

TEST_F(PackedSelection, PacksTheRecordsThatTheStepsBeforeKeep) {
  const std::string path = Shard("a", Texts({5, 2, 9, 1, 7, 3}));
  Filter("len(tokens) != 1");
  Pack(10, {"tokens", "mask"});
  const auto built = Index(path);
  ASSERT_TRUE(built.ok()) << built.status();
  const sources::ShardIndex& index = *built->index;
  ASSERT_TRUE(index.is_packed());
  EXPECT_EQ(index.shard_records(), 6u);
  // Lengths 9; 7 and 3; 5 and 2. The rows have the order of their first records.
  EXPECT_THAT(index.packs().rows.ends, ElementsAre(2u, 3u, 5u));
  std::vector<uint64_t> numbers;
  for (const plan::PackPart& part : index.packs().rows.parts) {
    numbers.push_back(index.packs().records->NumberInShard(part.record));
  }
  EXPECT_THAT(numbers, ElementsAre(0u, 1u, 2u, 4u, 5u));
}

TEST_F(PackedSelection, CountsNumbersInRawBytes) {
  const std::string path = Shard("a", Texts({5, 5, 4}));
  v1::Feature* const raw = job_.add_features();
  raw->set_key("raw");
  raw->set_type(v1::Feature::BYTES);
  raw->set_decode_raw(v1::UINT16);
  raw->set_variable_length(true);
  Pack(10, {"raw"});
  const auto built = Index(path);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_THAT(built->index->packs().rows.ends, ElementsAre(2u, 3u));
}

TEST_F(PackedSelection, LongRecordsAreHandledAsTheJobSays) {
  const std::string path = Shard("a", Texts({25, 4}));
  v1::Pack* const pack = Pack(10);
  const auto failed = Index(path);
  EXPECT_THAT(std::string(failed.status().message()),
              AllOf(HasSubstr("record 0: 'tokens' has 25 values, and a packed row has 10: set pack.longer to"),
                    HasSubstr("errors { policy: MASK }")));
  job_.mutable_errors()->set_policy(v1::MASK);
  const auto left_out = Index(path);
  ASSERT_TRUE(left_out.ok()) << left_out.status();
  EXPECT_EQ(left_out->index->record_count(), 1u);
  EXPECT_EQ(left_out->index->left_out(), 1u);
  for (const auto& [longer, rows] : std::vector<std::pair<v1::Pack::Longer, uint64_t>>{
           {v1::Pack::DROP, 1}, {v1::Pack::TRUNCATE, 2}, {v1::Pack::SPLIT, 3}}) {
    pack->set_longer(longer);
    const auto built = Index(path);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_EQ(built->index->record_count(), rows);
    EXPECT_EQ(built->index->left_out(), 0u);
  }
  pack->set_longer(v1::Pack::FAIL);
  pack->set_concatenate(true);
  EXPECT_EQ((*Index(path)).index->record_count(), 3u);
}

TEST_F(PackedSelection, FeaturesOfDifferentLengthsMakeARecordBad) {
  const std::string path = Shard("a", {Text(3, 3), Text(4, 5)});
  Pack(10, {"tokens", "mask"});
  EXPECT_THAT(std::string(Index(path).status().message()),
              HasSubstr("record 1: 'mask' has 5 values, but 'tokens' has 4; packed features have equally many"));
  job_.mutable_dataset(0)->clear_select();
  Pack(10, {"tokens", "musk"});
  EXPECT_THAT(std::string(Index(path).status().message()),
              AllOf(HasSubstr("select[0].pack.features"), HasSubstr("mask")));
}

TEST_F(PackedSelection, ALargeRecordIsNotCut) {
  const std::string raw(size_t{17} << 20, 'r');
  const std::string path =
      Shard("a", {records::ExampleBuilder().BytesList("raw", std::vector<std::string_view>{raw}).Serialize()});
  v1::Feature* const feature = job_.add_features();
  feature->set_key("raw");
  feature->set_type(v1::Feature::BYTES);
  feature->set_decode_raw(v1::UINT8);
  v1::Pack* const pack = Pack(1000, {"raw"});
  pack->set_longer(v1::Pack::SPLIT);
  EXPECT_THAT(std::string(Index(path).status().message()),
              HasSubstr("and each of its packed rows reads them all; cut records of more than 16777216 bytes first"));
  pack->set_longer(v1::Pack::TRUNCATE);
  EXPECT_EQ((*Index(path)).index->record_count(), 1u);
}

TEST_F(PackedSelection, ADescriptionThatIsWrongIsRejected) {
  const std::string path = Shard("a", Texts({5, 2}));
  Pack(10);
  v1::Selection selection = *Make({path});
  v1::Pack* const pack = selection.mutable_steps(0)->mutable_pack();
  const v1::Pack good = *pack;
  ASSERT_TRUE(CreateSelection(selection).ok());
  pack->set_length(0);
  EXPECT_TRUE(absl::IsInvalidArgument(CreateSelection(selection).status()));
  *pack = good;
  pack->set_overlap(10);
  EXPECT_TRUE(absl::IsInvalidArgument(CreateSelection(selection).status()));
  *pack = good;
  pack->set_window(uint64_t{1} << 40);
  EXPECT_TRUE(absl::IsInvalidArgument(CreateSelection(selection).status()));
  *pack = good;
  pack->clear_features();
  EXPECT_TRUE(absl::IsInvalidArgument(CreateSelection(selection).status()));
}

TEST_F(PackedSelection, FractionsOfLaterRecordsAreRead) {
  const std::string path = folder_.File("a.jsonl");
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += i < 35 ? "{\"loss\": [1, 0]}\n" : "{\"loss\": [0.5]}\n";
  ASSERT_TRUE(WriteFileAtomically(path, lines).ok());
  v1::Feature* const feature = job_.add_features();
  feature->set_key("loss");
  feature->set_type(v1::Feature::FLOAT);
  Pack(1000, {"loss"});
  const auto built = Index(path);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_EQ(built->index->packs().rows.parts.size(), 40u);
}

TEST_F(PackedSelection, ReadsOnlyTheMembersThatArePacked) {
  std::string archive;
  sources::AppendTarMember("s0.jpg", std::string(1000, 'j'), &archive);
  sources::AppendTarMember("s0.json", "{\"tokens\": [1, 2]}", &archive);
  const std::string path = folder_.File("s.tar");
  ASSERT_TRUE(WriteFileAtomically(path, archive + std::string(1024, '\0')).ok());
  v1::Feature* const feature = job_.add_features();
  feature->set_key("json/tokens");
  feature->set_type(v1::Feature::INT64);
  Pack(10, {"json/tokens"});
  const auto types = FeatureTypes::Find(storage::LocalFiles(), job_, {path});
  ASSERT_TRUE(types.ok()) << types.status();
  auto steps = ParseSteps(job_.dataset(0).select(), "select", *types);
  ASSERT_TRUE(steps.ok()) << steps.status();
  const auto filter = RecordFilter::Create(*std::move(steps), *types);
  ASSERT_TRUE(filter.ok()) << filter.status();
  EXPECT_NE(filter->FeaturesToRead(sources::ContainerKind::kTar), nullptr);
}

TEST_F(PackedSelection, EachFieldThatMovesARecordChangesTheId) {
  const std::string path = Shard("a", Texts({5, 2}));
  std::set<uint64_t> ids;
  v1::Pack* const pack = Pack(10);
  ids.insert(IdOf(*Make({path})));
  pack->set_length(11);
  ids.insert(IdOf(*Make({path})));
  pack->set_longer(v1::Pack::SPLIT);
  ids.insert(IdOf(*Make({path})));
  pack->set_window(7);
  ids.insert(IdOf(*Make({path})));
  pack->clear_longer();
  pack->set_concatenate(true);
  ids.insert(IdOf(*Make({path})));
  pack->set_overlap(1);
  ids.insert(IdOf(*Make({path})));
  pack->add_features("mask");
  ids.insert(IdOf(*Make({path})));
  EXPECT_EQ(ids.size(), 7u);
  pack->add_outputs(v1::Pack::LENGTHS);  // does not concern the index
  EXPECT_TRUE(ids.contains(IdOf(*Make({path}))));
}

}  // namespace
}  // namespace penstock::selection
