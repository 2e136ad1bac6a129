#include "server/worker/stream/link_news.h"

#include <gtest/gtest.h>

namespace penstock::worker {
namespace {

TEST(LinkNewsTest, AChangeThatLastsIsToldOnceAndATrialIsNot) {
  LinkNews link;
  EXPECT_FALSE(link.Seen("grpc", 0)) << "the first is no change";
  EXPECT_EQ(link.News(10 * kSecond), "");
  EXPECT_TRUE(link.Seen("grpc x2", 10 * kSecond));
  EXPECT_TRUE(link.Seen("grpc", 11 * kSecond));
  EXPECT_EQ(link.News(60 * kSecond), "") << "the carrier has not changed";
  EXPECT_TRUE(link.Seen("grpc x2", 60 * kSecond));
  EXPECT_FALSE(link.Seen("grpc x2", 61 * kSecond));
  EXPECT_EQ(link.News(62 * kSecond), "");
  EXPECT_EQ(link.News(63 * kSecond), "rows go by grpc x2, and before that by grpc");
  EXPECT_EQ(link.News(64 * kSecond), "");
}

}  // namespace
}  // namespace penstock::worker
