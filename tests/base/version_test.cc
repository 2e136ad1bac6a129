#include "base/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

using ::testing::HasSubstr;

uint32_t CommonWith(Protocols theirs) { return CommonProtocol("worker w1", {"9.9.9", theirs}, "here").value_or(0); }

std::string ErrorWith(const Release& theirs) {
  return std::string(CommonProtocol("worker w1", theirs, "the coordinator").status().message());
}

TEST(CommonProtocolTest, IsTheHighestThatBothHave) {
  const uint32_t oldest = kProtocols.oldest, newest = kProtocols.newest;
  EXPECT_EQ(CommonWith(kProtocols), newest);
  EXPECT_EQ(CommonWith({oldest, newest + 5}), newest);
  EXPECT_EQ(CommonWith({newest, newest + 1}), newest);
  EXPECT_EQ(CommonWith({1, oldest}), oldest);
}

TEST(CommonProtocolTest, IsMissingIfTheRangesHaveNoCommonNumber) {
  EXPECT_EQ(CommonWith({kProtocols.newest + 1, kProtocols.newest + 4}), 0u);
  EXPECT_EQ(CommonWith({}), 0u);
  EXPECT_EQ(CommonWith({kProtocols.newest, 0}), 0u);  // no range
}

TEST(CommonProtocolTest, NamesBothReleasesBothRangesAndTheOlderSide) {
  const std::string here = std::string(Version()) + " with protocol " + kProtocols.ToString();
  const std::string newer = ErrorWith({"9.1.0", {kProtocols.newest + 7, kProtocols.newest + 8}});
  EXPECT_THAT(newer, HasSubstr("worker w1 is penstock 9.1.0 with protocol " +
                               Protocols{kProtocols.newest + 7, kProtocols.newest + 8}.ToString()));
  EXPECT_THAT(newer, HasSubstr("the coordinator is penstock " + here + ": upgrade the coordinator"));
  const std::string older = ErrorWith({});
  EXPECT_THAT(older, HasSubstr("worker w1 is penstock 0.2 or older, which sends no protocol numbers"));
  EXPECT_THAT(older, HasSubstr("upgrade worker w1"));
}

}  // namespace
}  // namespace penstock
