#include "pipeline/loader/maker_states.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace penstock::loader {
namespace {

TEST(MakerStates, TheMakerThatBecameIdleLastIsWokenFirst) {
  MakerStates makers(3);
  EXPECT_EQ(makers.Wake(), 0);
  EXPECT_EQ(makers.Wake(), 1);
  EXPECT_EQ(makers.Wake(), 2);
  EXPECT_EQ(makers.Wake(), std::nullopt);
  EXPECT_EQ(makers.running(), 3);
  EXPECT_TRUE(makers.Idle(2));
  EXPECT_TRUE(makers.Idle(0));
  EXPECT_EQ(makers.running(), 1);
  EXPECT_EQ(makers.Wake(), 0);
  EXPECT_EQ(makers.Wake(), 2);
}

TEST(MakerStates, FewerMakersStopTheIdleOnesAtOnceAndTheOthersAfterTheirRow) {
  MakerStates makers(4);
  makers.Wake();
  makers.Wake();
  const MakerStates::Changed fewer = makers.SetWanted(1);
  EXPECT_EQ(fewer.stopped, (std::vector<int>{2, 3}));
  EXPECT_TRUE(fewer.started.empty());
  EXPECT_FALSE(makers.IsSurplus(0));
  EXPECT_TRUE(makers.IsSurplus(1));
  EXPECT_EQ(makers.Wake(), std::nullopt);
  EXPECT_FALSE(makers.Idle(1)) << "maker 1 is surplus";
  EXPECT_TRUE(makers.Idle(0));
  EXPECT_EQ(makers.running(), 0);
}

TEST(MakerStates, MoreMakersStartEachSurplusMakerOneTime) {
  MakerStates makers(4);
  makers.Wake();
  makers.Wake();
  makers.SetWanted(1);
  // Maker 1 still makes its row, so SetWanted does not start it a second time.
  const MakerStates::Changed more = makers.SetWanted(3);
  EXPECT_EQ(more.started, (std::vector<int>{2}));
  EXPECT_EQ(makers.running(), 3);
  EXPECT_TRUE(makers.Idle(1));
  EXPECT_EQ(makers.SetWanted(4).started, (std::vector<int>{3}));
}

}  // namespace
}  // namespace penstock::loader
