#include "config/manual/value_hint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::config {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ValueHint, FollowsFromTheName) {
  EXPECT_EQ(HintOf("FILE").kind, ValueKind::kFile);
  EXPECT_EQ(HintOf("X.png").kind, ValueKind::kFile);
  EXPECT_EQ(HintOf("[NAME=]DIR").kind, ValueKind::kFolder);
  EXPECT_EQ(HintOf("HOST:PORT"), ValueHint());
  EXPECT_THAT(HintOf("raw|jpeg").words, ElementsAre("raw", "jpeg"));
  EXPECT_THAT(HintOf("auto|N").words, ElementsAre("auto"));
}

TEST(ValueHint, TakesTheFirstKindOfSeveral) {
  EXPECT_EQ(HintOf("GLOB|JOB.textproto").kind, ValueKind::kFile);
  EXPECT_EQ(HintOf("GLOB|FOLDER").kind, ValueKind::kFile);
}

TEST(ArgumentHints, EndAtTheFirstFlag) {
  const ArgumentHints hints = HintsOfArguments("SOURCE... --out DIR [flags]");
  EXPECT_THAT(hints.names, ElementsAre("SOURCE"));
  EXPECT_TRUE(hints.repeats);
  EXPECT_THAT(HintsOfArguments("[flags]").names, IsEmpty());
  EXPECT_THAT(HintsOfArguments("list|clear FOLDER [flags]").names, ElementsAre("list|clear", "FOLDER"));
}

TEST(ArgumentHints, LeaveOutBracketsAndAlternativeFlags) {
  EXPECT_THAT(HintsOfArguments("[HOST:PORT] [flags]").names, ElementsAre("HOST:PORT"));
  EXPECT_THAT(HintsOfArguments("JOB...|--ended [flags]").names, ElementsAre("JOB"));
}

}  // namespace
}  // namespace penstock::config
