#include "server/coordinator/state/index_turns.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace penstock::coordinator {
namespace {

TEST(IndexTurns, OneWorkerBuildsAndTheOthersAskAgain) {
  IndexTurns turns;
  EXPECT_TRUE(turns.Ask(1, "a", 100, 0).build);
  EXPECT_TRUE(turns.Ask(1, "a", 100, 0).build);  // the reply is lost
  const IndexTurns::Answer wait = turns.Ask(1, "b", 100, kSecond);
  EXPECT_FALSE(wait.build);
  EXPECT_EQ(wait.builder, "a");
  EXPECT_GT(wait.ask_again, 0);
  turns.End(1);
  EXPECT_TRUE(turns.Ask(1, "b", 100, 2 * kSecond).build);
}

TEST(IndexTurns, ADeadBuilderIsReplacedLaterForALargerFile) {
  IndexTurns turns;
  ASSERT_TRUE(turns.Ask(1, "a", 100, 0).build);
  ASSERT_TRUE(turns.Ask(2, "a", uint64_t{8} << 30, 0).build);
  EXPECT_TRUE(turns.Ask(1, "b", 100, 11 * kSecond).build);
  EXPECT_FALSE(turns.Ask(2, "b", uint64_t{8} << 30, 11 * kSecond).build);
  EXPECT_TRUE(turns.Ask(2, "b", uint64_t{8} << 30, 2000 * kSecond).build);
}

TEST(IndexTurns, AReplacedBuilderDoesNotEndTheBuildOfItsSuccessor) {
  IndexTurns turns;
  ASSERT_TRUE(turns.Ask(1, "a", 100, 0).build);
  ASSERT_TRUE(turns.Ask(1, "b", 100, 11 * kSecond).build);
  turns.GiveUp(1, "a");
  EXPECT_EQ(turns.Ask(1, "c", 100, 12 * kSecond).builder, "b");
  turns.GiveUp(1, "b");
  EXPECT_TRUE(turns.Ask(1, "c", 100, 12 * kSecond).build);
  turns.GiveUp(2, "c");  // no build of this file
  EXPECT_EQ(turns.builds(), 1u);
}

TEST(IndexTurns, TheNumberOfConcurrentWalksHasALimit) {
  IndexTurns turns(IndexTurns::Limits{.builds = 2});
  ASSERT_TRUE(turns.Ask(1, "a", 1, 0).build);
  ASSERT_TRUE(turns.Ask(2, "b", 1, 0).build);
  EXPECT_FALSE(turns.Ask(3, "c", 1, 0).build);
  EXPECT_TRUE(turns.Ask(1, "a", 1, 0).build);
  turns.End(2);
  EXPECT_TRUE(turns.Ask(3, "c", 1, 0).build);
  EXPECT_EQ(turns.builds(), 2u);
  EXPECT_TRUE(turns.Ask(4, "d", 1, 60 * kSecond).build) << "dead builders do not count";
}

}  // namespace
}  // namespace penstock::coordinator
