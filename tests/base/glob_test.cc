#include "base/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

TEST(GlobTest, MatchesTheWholeName) {
  EXPECT_TRUE(MatchesGlob("train", "train"));
  EXPECT_FALSE(MatchesGlob("train", "train2"));
  EXPECT_FALSE(MatchesGlob("train", "trai"));
  EXPECT_FALSE(MatchesGlob("", "train"));
  EXPECT_TRUE(MatchesGlob("", ""));
}

TEST(GlobTest, AStarMatchesAnyBytesAndAQuestionMarkMatchesOne) {
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("*", "train"));
  EXPECT_TRUE(MatchesGlob("imagenet-*", "imagenet-"));
  EXPECT_TRUE(MatchesGlob("imagenet-*", "imagenet-1k"));
  EXPECT_FALSE(MatchesGlob("imagenet-*", "imagenet"));
  EXPECT_TRUE(MatchesGlob("*-eval", "a-eval-eval"));
  EXPECT_FALSE(MatchesGlob("*-eval", "a-eval-train"));
  EXPECT_TRUE(MatchesGlob("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(MatchesGlob("a*b*c", "a-c-b"));
  EXPECT_TRUE(MatchesGlob("t?ain", "train"));
  EXPECT_FALSE(MatchesGlob("train?", "train"));
}

TEST(GlobTest, ManyStarsTakeFewSteps) {
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "a*";
  EXPECT_FALSE(MatchesGlob(pattern + "b", std::string(5000, 'a')));
}

}  // namespace
}  // namespace penstock
