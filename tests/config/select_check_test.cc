// Mistakes in dataset.select that need no look at the data.
#include "config/select_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::config {
namespace {

using ::testing::HasSubstr;

std::string MistakesIn(const v1::JobSpec& job, int number) {
  std::vector<Mistake> mistakes;
  CheckSelect(job, number, &mistakes);
  std::string text;
  for (const Mistake& mistake : mistakes) absl::StrAppend(&text, mistake.field, ": ", mistake.message, "\n");
  return text;
}

std::string MistakesOf(const std::string& dataset_text, int number = 0) {
  v1::JobSpec job;
  for (int set = 0; set <= number; ++set) job.add_dataset();
  v1::Dataset* const dataset = job.mutable_dataset(number);
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(dataset_text, dataset)) << dataset_text;
  return MistakesIn(job, number);
}

std::string MistakeOf(const std::string& step) { return MistakesOf(absl::StrCat("select { ", step, " }")); }

TEST(SelectCheck, TakesEachStep) {
  EXPECT_EQ(MistakesOf("select { filter: 'anything > 1' } select { split { of: 'x' to: 0.9 } }"
                       "select { split { from: 0.5 } } select { sample { fraction: 1 } } select { skip: 3 }"
                       "select { range { from: 1 to: 9 } } select { range { } } select { every { n: 2 offset: 1 } }"
                       "select { take: 1 }"),
            "");
  EXPECT_EQ(MistakesOf("select { filter: 'a > 1' } select { sample { fraction: 1 } } select { balance { by: 'a' } }"),
            "");
  EXPECT_EQ(MistakeOf("balance { by: 'len(a) > 0' power: 0.5 }"), "");
  EXPECT_EQ(MistakeOf("weights { by: 'quality / 2' }"), "");
  EXPECT_EQ(MistakeOf("sort { by: 'name' bins: 16384 epochs: 3 }"), "");
  EXPECT_EQ(MistakeOf("bucket { by: 'len(a)' bins: 1 }"), "");
}

TEST(SelectCheck, EachStepThatMakesGroupsIsTheLastOneOfTheOnlyDataSet) {
  for (const char* step : {"balance", "weights", "sort", "bucket"}) {
    const std::string grouping = absl::StrCat("select { ", step, " { by: 'a' } } ");
    EXPECT_THAT(MistakesOf(grouping + "select { filter: 'a > 1' }"),
                HasSubstr(absl::StrCat("select[1]: it must stand before select[0], a `", step, "`: the last step")));
    EXPECT_THAT(
        MistakesOf("select { take: 5 } " + grouping),
        HasSubstr(absl::StrCat("select[1].", step, ": it does not work with steps that count records: use `filter`")));
    EXPECT_THAT(MistakesOf("name: 'web' " + grouping),
                HasSubstr(absl::StrCat("select[0].", step, ": it works in a job of one data set without a name")));
    EXPECT_THAT(MistakeOf(absl::StrCat(step, " { }")),
                HasSubstr(absl::StrCat("select[0].", step, ".by: an empty expression; give one, such as \"")));
    EXPECT_THAT(MistakeOf(absl::StrCat(step, " { by: 'a +' }")), HasSubstr(absl::StrCat("select[0].", step, ".by: ")));
  }
  EXPECT_THAT(MistakesOf("select { sort { by: 'a' } } select { take: 5 }"),
              HasSubstr("select[1]: a step that counts records does not work with a `sort`: use `filter` or `sample`"));
  EXPECT_THAT(MistakeOf("sort { by: 'a' epochs: 4294967296 }"), HasSubstr("sort.epochs: 4294967296: at most 2^32 - 1"));
  for (const char* step : {"sort", "bucket"}) {
    EXPECT_THAT(MistakeOf(absl::StrCat(step, " { by: 'a' bins: 16385 }")),
                HasSubstr(absl::StrCat(step, ".bins: 16385: at most 16384")));
  }
}

TEST(SelectCheck, ABucketHasABudgetOrASizeForEachRange) {
  const auto mistake = [](const std::string& fields) {
    return MistakeOf(absl::StrCat("bucket { by: 'a' ", fields, " }"));
  };
  EXPECT_EQ(mistake("budget: 4096 multiple: 8 bins: 32 cost: QUADRATIC"), "");
  EXPECT_EQ(mistake("bounds: 0.5 bounds: 64 sizes: 32 sizes: 8 sizes: 16 multiple: 8"), "");
  for (const char* const budget : {"-1", "nan", "inf"}) {
    EXPECT_THAT(mistake(absl::StrCat("budget: ", budget)), HasSubstr("budget: "));
  }
  for (const char* const alone : {"multiple: 2", "cost: QUADRATIC", "bounds: 3"}) {
    EXPECT_THAT(mistake(alone), HasSubstr("are for batches of different sizes: give a budget, or sizes")) << alone;
  }
  EXPECT_THAT(mistake("budget: 8 bounds: 3"), HasSubstr("bounds go with sizes, not with a budget"));
  EXPECT_THAT(mistake("budget: 8 bounds: 3 sizes: 4 sizes: 2"),
              HasSubstr("take the place of `bins`, `budget` and `cost`"));
  EXPECT_THAT(mistake("sizes: 4 sizes: 2"), HasSubstr("2 sizes for 0 bounds; give one more"));
  EXPECT_THAT(mistake("bounds: 4 bounds: 4 sizes: 4 sizes: 2 sizes: 1"),
              HasSubstr("bounds[1]: 4: bounds are ascending"));
  EXPECT_THAT(mistake("bounds: nan sizes: 4 sizes: 2"), HasSubstr("bounds[0]: nan: bounds are ascending"));
  EXPECT_THAT(mistake("bounds: 4 sizes: 4 sizes: 3 multiple: 2"), HasSubstr("sizes[1]: 3: a multiple of 2"));
  EXPECT_THAT(mistake("bounds: 4 sizes: 0 sizes: 2"), HasSubstr("sizes[0]: 0: a multiple of 1"));
}

TEST(SelectCheck, ABucketHasWholePasses) {
  v1::JobSpec job;
  job.add_dataset()->add_select()->mutable_bucket()->set_by("a");
  job.mutable_order()->set_repeats(1);
  EXPECT_EQ(MistakesIn(job, 0), "");
  job.mutable_order()->set_repeats(2);
  EXPECT_THAT(MistakesIn(job, 0), HasSubstr("select[0].bucket: with order.repeats, batches would have rows of two "
                                            "passes; leave it out, and read more epochs"));
}

TEST(SelectCheck, ABalanceHasAPowerFrom0To1) {
  EXPECT_THAT(MistakesOf("select { balance { by: 'a' } } select { sort { by: 'b' } }"),
              HasSubstr("select[1]: it must stand before select[0]"));
  for (const char* power : {"-0.1", "1.1", "nan", "inf"}) {
    EXPECT_THAT(MistakeOf(absl::StrCat("balance { by: 'a' power: ", power, " }")),
                HasSubstr("it must be from 0 (equal shares) to 1 (those of the data)"))
        << power;
  }
  EXPECT_THAT(MistakesOf("format: RAW select { balance { by: 'a' } }"),
              HasSubstr("records of format RAW have no features to select by"));
}

TEST(SelectCheck, NamesTheFieldAndTheWayOut) {
  EXPECT_THAT(MistakeOf(""), HasSubstr("dataset[0].select[0]: no step: give one"));
  EXPECT_THAT(MistakesOf("select { take: 0 }", 2), HasSubstr("dataset[2].select[0].take: 0 records"));
  EXPECT_THAT(MistakeOf("filter: ''"), HasSubstr("select[0].filter: an empty expression"));
  EXPECT_THAT(MistakeOf("filter: 'width >> 3'"), HasSubstr("select[0].filter: "));
  EXPECT_THAT(MistakeOf("filter: 'width >> 3'"), HasSubstr("\n  width >> 3\n         ^"));
  EXPECT_THAT(MistakeOf("split { of: 'a +' }"), HasSubstr("select[0].split.of: "));
  for (const char* from : {"-0.1", "1", "nan", "inf"}) {
    EXPECT_THAT(MistakeOf(absl::StrCat("split { from: ", from, " }")), HasSubstr("select[0].split.from: ")) << from;
  }
  for (const char* to : {"0", "0.5", "1.1", "nan"}) {
    EXPECT_THAT(MistakeOf(absl::StrCat("split { from: 0.5 to: ", to, " }")),
                HasSubstr("it must be greater than `from`, which is 0.5, and at most 1"))
        << to;
  }
  for (const char* fraction : {"0", "-1", "1.1", "nan"}) {
    EXPECT_THAT(MistakeOf(absl::StrCat("sample { fraction: ", fraction, " }")),
                HasSubstr("select[0].sample.fraction: "))
        << fraction;
  }
  EXPECT_THAT(MistakeOf("take: 0"), HasSubstr("select[0].take: 0 records"));
  EXPECT_THAT(MistakeOf("range { from: 3 to: 3 }"), HasSubstr("greater than `from`, which is 3"));
  EXPECT_THAT(MistakeOf("every { }"), HasSubstr("select[0].every.n: 0: it must be at least 1"));
  EXPECT_THAT(MistakeOf("every { n: 2 offset: 2 }"), HasSubstr("it must be less than `n`, which is 2"));
}

TEST(SelectCheck, StepsThatCountComeLast) {
  EXPECT_THAT(MistakesOf("select { take: 9 } select { skip: 1 } select { filter: 'a > 1' }"),
              HasSubstr("dataset[0].select[2]: it must stand before select[1], which counts records"));
}

TEST(SelectCheck, RawRecordsHaveOnlyTheirContent) {
  EXPECT_EQ(
      MistakesOf("format: RAW select { split { to: 0.5 } } select { sample { fraction: 0.5 } } select { take: 1 }"),
      "");
  EXPECT_THAT(MistakesOf("format: RAW select { split { of: 'a' to: 0.5 } }"),
              HasSubstr("select[0].split.of: records of format RAW have no features to select by"));
  EXPECT_THAT(MistakesOf("format: RAW select { filter: 'a > 1' }"),
              HasSubstr("select[0].filter: records of format RAW"));
}

TEST(SelectCheck, LimitsTheNumberOfSteps) {
  std::string steps;
  for (int i = 0; i < 64; ++i) absl::StrAppend(&steps, "select { skip: 1 }");
  EXPECT_EQ(MistakesOf(steps), "");
  EXPECT_THAT(MistakesOf(steps + "select { skip: 1 }"), HasSubstr("dataset[0].select: more than 64 steps"));
}

TEST(SelectCheck, APackIsFollowedOnlyByStepsThatCount) {
  const std::string pack = "select { pack { length: 8 features: 'a' } } ";
  EXPECT_EQ(MistakesOf("name: 'web' select { filter: 'a > 1' } " + pack + "select { skip: 2 } select { take: 5 }"), "");
  EXPECT_EQ(MistakeOf("pack { length: 8 features: 'a' concatenate: true overlap: 7 window: 16777216 }"), "");
  EXPECT_THAT(MistakesOf(pack + "select { filter: 'a > 1' }"),
              HasSubstr("select[1]: it must stand before select[0], a `pack`: only steps that count may follow it"));
  EXPECT_THAT(MistakesOf(pack + "select { bucket { by: 'a' } }"),
              HasSubstr("it must stand before select[0], a `pack`"));
  EXPECT_THAT(MistakesOf(pack + pack), HasSubstr("select[1]: select[0], a `pack`, makes rows of the records already"));
  EXPECT_THAT(MistakesOf("select { take: 5 } " + pack),
              HasSubstr("select[1]: it must stand before select[0], which counts records"));
  EXPECT_THAT(MistakesOf("select { sort { by: 'a' } } " + pack),
              HasSubstr("select[1]: it must stand before select[0]"));
  EXPECT_THAT(MistakesOf("format: RAW " + pack), HasSubstr("select[0].pack: records of format RAW have no features"));
}

TEST(SelectCheck, FieldsOfAPack) {
  const auto mistake = [](const std::string& fields) { return MistakeOf("pack { " + fields + " }"); };
  EXPECT_THAT(mistake("features: 'a'"), HasSubstr("select[0].pack.length: 0: give the number of values of a row"));
  EXPECT_THAT(mistake("features: 'a' length: 268435457"), HasSubstr("pack.length: 268435457: give"));
  EXPECT_THAT(mistake("length: 8"), HasSubstr("select[0].pack.features: none; name the features to pack"));
  EXPECT_THAT(mistake("length: 8 features: 'a' window: 16777217"), HasSubstr("pack.window: 16777217: at most 2^24"));
  EXPECT_THAT(mistake("length: 8 features: 'a' concatenate: true longer: SPLIT"),
              HasSubstr("pack.longer: it does not work with `concatenate`"));
  EXPECT_THAT(mistake("length: 8 features: 'a' overlap: 1"), HasSubstr("pack.overlap: it needs concatenate: true"));
  EXPECT_EQ(mistake("length: 8 features: 'a' longer: TRUNCATE keep: LAST align: 4"), "");
  EXPECT_THAT(mistake("length: 8 features: 'a' longer: SPLIT keep: LAST"),
              HasSubstr("pack.keep: it needs longer: TRUNCATE"));
  EXPECT_THAT(mistake("length: 8 features: 'a' longer: TRUNCATE keep: RANDOM"),
              HasSubstr("pack.keep: a pack has the same values in each epoch; give FIRST or LAST"));
  EXPECT_THAT(mistake("length: 8 features: 'a' align: 3"),
              HasSubstr("pack.align: 3: `length` must be a multiple of it, and 8 is none"));
  EXPECT_THAT(mistake("length: 8 features: 'a' concatenate: true align: 4"),
              HasSubstr("pack.align: it does not work with `concatenate`"));
  EXPECT_THAT(mistake("length: 8 features: 'a' concatenate: true overlap: 8"),
              HasSubstr("pack.overlap: 8: it must be less than `length`, which is 8"));
}

TEST(SelectCheck, OnlyStepsThatCountFollowAWindow) {
  const std::string window = "select { window { size: 8 by: 'a' } } ";
  EXPECT_EQ(MistakesOf("select { filter: 'a > 1' } " + window + "select { skip: 2 } select { every { n: 5 } }"), "");
  EXPECT_EQ(MistakeOf("window { size: 8 stride: 1 step: 3 records: 'numbers' }"), "");
  EXPECT_THAT(MistakesOf(window + "select { filter: 'a > 1' }"),
              HasSubstr("select[1]: it must stand before select[0], a `window`: only steps that count may follow it"));
  EXPECT_THAT(MistakesOf(window + "select { pack { length: 8 features: 'a' } }"),
              HasSubstr("select[1]: select[0], a `window`, makes rows of the records already; a job has one `pack` or "
                        "`window`"));
  EXPECT_THAT(MistakesOf("select { balance { by: 'a' } } " + window),
              HasSubstr("select[1]: it must stand before select[0], a `balance`"));
  EXPECT_THAT(MistakesOf("format: RAW " + window),
              HasSubstr("select[0].window: it does not work with records of format"));
}

TEST(SelectCheck, FieldsOfAWindow) {
  const auto mistake = [](const std::string& fields) { return MistakeOf("window { " + fields + " }"); };
  EXPECT_THAT(mistake("stride: 1"), HasSubstr("select[0].window.size: 0: give the number of records of a window"));
  EXPECT_THAT(mistake("size: 1048577"), HasSubstr("window.size: 1048577: give"));
  EXPECT_THAT(mistake("size: 8 stride: 0"), HasSubstr("window.stride: 0: it must be from 1"));
  EXPECT_THAT(mistake("size: 8 step: 0"), HasSubstr("window.step: 0: it must be from 1"));
  EXPECT_THAT(mistake("size: 8 step: 4294967296"), HasSubstr("window.step: 4294967296: it must be"));
  EXPECT_THAT(mistake("size: 8 by: 'a +'"), HasSubstr("select[0].window.by: "));
}

}  // namespace
}  // namespace penstock::config
