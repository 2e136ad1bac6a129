// Mistakes in names, weights and the blend of data sets.
#include "config/blend_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::config {
namespace {

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
  EXPECT_EQ(BlendMistakesOf(absl::StrCat(kTwo, " blend { epoch: SHORTEST } order { repeats: 2 }")), "");
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
                HasSubstr("it must be a positive number"))
        << weight;
  }
  const auto with = [](const std::string& more) {
    return BlendMistakesOf(absl::StrCat(kTwo, "dataset { name: 'x' weight: 1 ", more, " } blend { }"));
  };
  EXPECT_THAT(with("compression: GZIP"), HasSubstr("dataset[2].compression: it differs from dataset[0]"));
  EXPECT_THAT(with("source: TAR"), HasSubstr("dataset[2].source: it differs from dataset[0]"));
  EXPECT_THAT(with("format: RAW"), HasSubstr("dataset[2].format: it differs from dataset[0]"));
  EXPECT_THAT(with("select { take: 1 }"), HasSubstr("dataset[2].select: only a job of one data set selects records"));
  EXPECT_THAT(BlendMistakesOf(absl::StrCat(kTwo, " blend { epoch_rows: 5 } order { repeats: 2 }")),
              HasSubstr("order.repeats: blend.epoch_rows is the length of an epoch"));
  EXPECT_THAT(BlendMistakesOf(absl::StrCat(kTwo, " blend { epoch_rows: 9223372036854775808 }")),
              HasSubstr("blend.epoch_rows: at most 2^62"));
  std::string many;
  for (int i = 0; i < 1025; ++i)
    absl::StrAppend(&many, "dataset { name: '", std::string(100, 'n'), i, "' weight: 1 } ");
  EXPECT_THAT(BlendMistakesOf(many + "blend { }"), HasSubstr("dataset: at most 1024"));
  EXPECT_THAT(BlendMistakesOf(many + "blend { }"), HasSubstr("the names of all data sets have"));
}

}  // namespace
}  // namespace penstock::config
