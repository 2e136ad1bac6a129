// Mistakes in names, weights and the blend of data sets.
#include "config/blend_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::config {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string BlendMistakesOf(const std::string& job_text) {
  v1::JobSpec job;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(job_text, &job)) << job_text;
  std::vector<Mistake> mistakes;
  CheckBlend(job, &mistakes);
  std::string text;
  for (const Mistake& mistake : mistakes) absl::StrAppend(&text, mistake.field, ": ", mistake.message, "\n");
  return text;
}

constexpr char kTwo[] = "dataset { name: 'web' weight: 7 } dataset { name: 'code' weight: 0.5 }";

TEST(BlendCheck, TakesOneDataSetOrABlend) {
  EXPECT_EQ(BlendMistakesOf("dataset { }"), "");
  EXPECT_EQ(BlendMistakesOf("dataset { name: 'web' }"), "");
  EXPECT_EQ(BlendMistakesOf("dataset { name: 'web' select { take: 3 } }"), "");
  EXPECT_EQ(BlendMistakesOf("dataset { name: 'web' weight: 1 } blend { }"), "");
  EXPECT_EQ(BlendMistakesOf(absl::StrCat(kTwo, " blend { epoch_rows: 1000 }")), "");
  EXPECT_EQ(BlendMistakesOf(absl::StrCat(kTwo,
                                         "dataset { name: 'later' weight: 0 } blend { batches: SINGLE change { "
                                         "at_rows: 9 weights { key: 'later' value: 1 } } }")),
            "");
  EXPECT_EQ(BlendMistakesOf(absl::StrCat(kTwo, " blend { epoch: SHORTEST } order { repeats: 2 }")), "");
}

TEST(BlendCheck, NamesTheFieldOfAWrongStart) {
  const auto with = [](const std::string& start, const std::string& more = "") {
    return BlendMistakesOf(absl::StrCat(kTwo, " blend { ", more, " start { ", start, " } }"));
  };
  EXPECT_EQ(with("epoch: 2 position: 96 epoch_rows: 96 sets { key: 'web' rows: 288 } sets { key: 'old' }"), "");
  EXPECT_EQ(with("epoch_rows: 96", "epoch_rows: 96"), "");
  EXPECT_THAT(with(""), HasSubstr("blend.start.epoch_rows: 0; it must be from 1 to 2^62; `penstock continue` writes"));
  EXPECT_THAT(with("epoch_rows: 9", "epoch_rows: 8"), HasSubstr("blend.start.epoch_rows: 9; it must be blend.epoch_r"));
  EXPECT_THAT(with("epoch_rows: 9 position: 10"), HasSubstr("blend.start.position: 10; an epoch has 9 rows"));
  EXPECT_THAT(with("epoch_rows: 9 epoch: 999999999999999999"), HasSubstr("blend.start.epoch: rows are below 2^62"));
  for (const char* batches : {"EXACT", "SINGLE"}) {
    const auto at = [&](int position) {
      return BlendMistakesOf(absl::StrCat(kTwo, " batch { size: 16 } blend { epoch_rows: 48 batches: ", batches,
                                          " start { epoch_rows: 48 position: ", position, " } }"));
    };
    EXPECT_EQ(at(0), "");
    EXPECT_EQ(at(32), "");
    EXPECT_EQ(at(48), "");
    EXPECT_THAT(at(24), HasSubstr("continues a run at position 24; give a size that divides 24")) << batches;
  }
  EXPECT_THAT(BlendMistakesOf("dataset { name: 'web' repeats: 1 } blend { start { epoch_rows: 9 } }"),
              HasSubstr("dataset.repeats: they are the length of an epoch, and the run that the job continues has its "
                        "own; give weights, and blend.epoch_rows: 9"));
  EXPECT_THAT(with("epoch_rows: 9 position: 8 sets { key: 'a b' }"), HasSubstr("blend.start.sets: 'a b': only"));
  EXPECT_THAT(with("epoch_rows: 9 position: 8 sets { key: 'a' } sets { key: 'a' }"), HasSubstr("two entries of 'a'"));
  EXPECT_THAT(with("epoch_rows: 9 position: 8 sets { key: 'a' rows: 9 }"),
              HasSubstr("blend.start.sets: a: 9 rows, and the run had 8 before that place"));
}

TEST(BlendCheck, NamesTheDataSetAndTheWayOut) {
  EXPECT_THAT(BlendMistakesOf(kTwo), HasSubstr("dataset[1]: several data sets need a blend: add blend { }"));
  EXPECT_THAT(BlendMistakesOf("dataset { weight: 2 }"), HasSubstr("dataset[0].weight: it is the share of a data set"));
  EXPECT_THAT(BlendMistakesOf("dataset { weight: 1 } blend { }"),
              HasSubstr("dataset[0].name: each data set of a blend needs"));
  EXPECT_THAT(BlendMistakesOf("dataset { name: 'a b' weight: 1 } blend { }"),
              HasSubstr("dataset[0].name: 'a b': only"));
  EXPECT_THAT(BlendMistakesOf("dataset { name: 'x' weight: 1 } dataset { name: 'x' weight: 1 } blend { }"),
              HasSubstr("dataset[1].name: 'x' is also the name of dataset[0]"));
  EXPECT_THAT(BlendMistakesOf("dataset { name: 'x' } blend { }"),
              HasSubstr("dataset[0].weight: each data set of a blend"));
  for (const char* weight : {"-1", "nan", "inf"}) {
    EXPECT_THAT(BlendMistakesOf(absl::StrCat("dataset { name: 'x' weight: ", weight, " } blend { }")),
                HasSubstr("it must be a number that is not negative"))
        << weight;
  }
  const auto with = [](const std::string& more) {
    return BlendMistakesOf(absl::StrCat(kTwo, "dataset { name: 'x' weight: 1 ", more, " } blend { }"));
  };
  EXPECT_EQ(with("compression: GZIP source: TAR ops { decode_image { } }"), "");
  EXPECT_THAT(BlendMistakesOf("dataset { features { key: 'a' } }"),
              HasSubstr("dataset[0].features: they are for the data sets of a blend"));
  EXPECT_EQ(with("select { take: 1 }"), "");
  EXPECT_THAT(BlendMistakesOf(absl::StrCat(kTwo, " blend { epoch_rows: 5 } order { repeats: 2 }")),
              HasSubstr("order.repeats: blend.epoch_rows is the length of an epoch"));
  EXPECT_THAT(BlendMistakesOf(absl::StrCat(kTwo, " blend { epoch_rows: 9223372036854775808 }")),
              HasSubstr("blend.epoch_rows: at most 2^62"));
  constexpr char kRepeats[] = "dataset { name: 'web' repeats: 2.5 } dataset { name: 'code' repeats: 1 }";
  EXPECT_EQ(BlendMistakesOf(absl::StrCat(kRepeats, " blend { batches: EXACT } batch { size: 8 }")), "");
  EXPECT_THAT(BlendMistakesOf(absl::StrCat(kRepeats, " blend { epoch_rows: 5 }")),
              HasSubstr("blend.epoch_rows: dataset.repeats are the length of an epoch"));
  EXPECT_THAT(BlendMistakesOf(absl::StrCat(kRepeats, " blend { epoch: SHORTEST } order { repeats: 2 }")),
              AllOf(HasSubstr("blend.epoch: dataset.repeats"), HasSubstr("order.repeats: dataset.repeats")));
  EXPECT_THAT(with("repeats: 2"), HasSubstr("dataset[2].repeats: it stands in the place of `weight`"));
  EXPECT_THAT(BlendMistakesOf("dataset { name: 'x' weight: 1 } dataset { name: 'y' repeats: 1 } blend { }"),
              HasSubstr("dataset[1].repeats: dataset[0] has a weight, so each data set needs one"));
  EXPECT_THAT(BlendMistakesOf("dataset { name: 'x' repeats: 1 } dataset { name: 'y' } blend { }"),
              HasSubstr("dataset[1].repeats: dataset[0] has repeats, so each data set needs them"));
  EXPECT_THAT(BlendMistakesOf("dataset { name: 'x' repeats: -1 } blend { }"),
              HasSubstr("dataset[0].repeats: -1; it must be a positive number"));
  EXPECT_THAT(BlendMistakesOf("dataset { repeats: 2 }"), HasSubstr("dataset[0].repeats: it is the share of"));
  EXPECT_THAT(BlendMistakesOf(absl::StrCat(kTwo, " blend { epoch_rows: 20 batches: EXACT } batch { size: 8 }")),
              HasSubstr("blend.epoch_rows: 20; with batches: EXACT it must be a multiple of batch.size, 8"));
  const auto changing = [](const std::string& changes) {
    return BlendMistakesOf(absl::StrCat(kTwo, " blend { ", changes, " }"));
  };
  EXPECT_EQ(changing("change { at_rows: 9 over_rows: 5 weights { key: 'web' value: 2 } }"
                     "change { at_rows: 14 weights { key: 'code' value: 2 } }"),
            "");
  EXPECT_THAT(changing("change { at_rows: 9 over_rows: 5 weights { key: 'web' value: 2 } }"
                       "change { at_rows: 13 weights { key: 'code' value: 2 } }"),
              HasSubstr("blend.change[1].at_rows: 13; it must be at least 14, where the change before it ends"));
  EXPECT_THAT(changing("change { at_rows: 9 }"), HasSubstr("blend.change[0].weights: none: name a data set"));
  EXPECT_THAT(changing("change { weights { key: 'cod' value: -1 } }"),
              AllOf(HasSubstr("blend.change[0].weights: there is no data set 'cod' (did you mean 'code'?)"),
                    HasSubstr("blend.change[0].weights: cod: -1; it must be a number that is not negative")));
  EXPECT_THAT(changing("change { weights { key: 'web' value: 1 } weights { key: 'web' value: 2 } }"),
              HasSubstr("blend.change[0].weights: two weights of 'web'; leave one out"));
  EXPECT_THAT(changing("change { at_rows: 9223372036854775808 weights { key: 'web' value: 2 } }"),
              HasSubstr("blend.change[0]: `at_rows` and `over_rows` are below 2^62"));
  EXPECT_THAT(BlendMistakesOf(absl::StrCat(kRepeats, " blend { change { weights { key: 'web' value: 2 } } }")),
              HasSubstr("blend.change: data sets with repeats have no weights to change"));
  constexpr char kNone[] = "all weights are 0, so no data set gives rows";
  EXPECT_THAT(BlendMistakesOf("dataset { name: 'x' weight: 0 } dataset { name: 'y' weight: 0 } blend { }"),
              HasSubstr(absl::StrCat("dataset.weight: ", kNone)));
  EXPECT_THAT(changing("change { weights { key: 'web' value: 0 } weights { key: 'code' value: 0 } }"),
              HasSubstr(absl::StrCat("blend.change[0].weights: ", kNone)));
  EXPECT_THAT(BlendMistakesOf(absl::StrCat(kRepeats, " blend { batches: SINGLE }")),
              HasSubstr("blend.batches: SINGLE: a pass of a data set may end inside a batch, so give weights"));
  std::string many;
  for (int i = 0; i < 1025; ++i)
    absl::StrAppend(&many, "dataset { name: '", std::string(100, 'n'), i, "' weight: 1 } ");
  EXPECT_THAT(BlendMistakesOf(many + "blend { }"), HasSubstr("dataset: at most 1024"));
  EXPECT_THAT(BlendMistakesOf(many + "blend { }"), HasSubstr("the names of all data sets have"));
}

}  // namespace
}  // namespace penstock::config
