#include "net/front_door/connection_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace penstock::net {
namespace {

using ::testing::HasSubstr;

class ConnectionTableTest : public ::testing::Test {
 protected:
  ConnectionLimits Limits() const {
    ConnectionLimits limits;
    limits.per_host = 4;
    limits.per_second = 2;
    limits.total = 10;
    return limits;
  }
  // Opens a connection unless the table rejects it. Returns the reason.
  std::string Open(const std::string& host, int fd = -1) {
    std::string why =
        table_.Admit(host, now_, [this](const ConnectionTable::Connection& c) { return !closed_.contains(c.socket); });
    if (why.empty()) table_.Add({fd < 0 ? next_fd_++ : fd, next_socket_++}, host);
    return why;
  }

  Nanos now_ = kSecond;
  int next_fd_ = 10;
  uint64_t next_socket_ = 100;
  std::set<uint64_t> closed_;
  ConnectionTable table_{Limits()};
};

TEST_F(ConnectionTableTest, AHostHasALimitOfOpenConnections) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Open("a"), "");
  EXPECT_THAT(Open("a"), HasSubstr("a has 4 open connections, the most that limits.connections_per_host allows"));
  EXPECT_EQ(Open("b"), "") << "other hosts are served";
}

TEST_F(ConnectionTableTest, AClosedConnectionMakesRoomAtOnce) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Open("a"), "");
  closed_.insert(101);
  EXPECT_EQ(Open("a"), "");
  EXPECT_NE(Open("a"), "");
}

TEST_F(ConnectionTableTest, ADescriptorThatIsUsedAgainReplacesItsConnection) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Open("a"), "");
  EXPECT_EQ(Open("b", 10), "");
  EXPECT_EQ(Open("a"), "");
  EXPECT_EQ(Open("a"), "") << "three are open, and the fourth became b's";
  EXPECT_NE(Open("a"), "");
  EXPECT_EQ(table_.Of("b").size(), 1u);
}

TEST_F(ConnectionTableTest, AHostHasALimitOfNewConnections) {
  int opened = 0;
  std::string last;
  for (int i = 0; i < 100; ++i) {
    const std::string why = Open("a");
    opened += why.empty() ? 1 : 0;
    for (uint64_t socket = 100; socket < next_socket_; ++socket) closed_.insert(socket);
    last = why;
  }
  EXPECT_EQ(opened, 20) << "ten seconds' worth at once";
  EXPECT_THAT(last, HasSubstr("a opens more than 2 connections a second"));
  now_ += kSecond;
  EXPECT_EQ(Open("a"), "");
  EXPECT_EQ(Open("a"), "");
  EXPECT_NE(Open("a"), "");
}

TEST_F(ConnectionTableTest, TheProcessHasALimitAndNamesTheHostWithTheMostConnections) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Open("a"), "");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Open("b"), "");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Open("c"), "");
  EXPECT_THAT(Open("d"), HasSubstr("there are 10 open connections, three quarters of the open files that this process "
                                   "uses (ulimit -n, at most 65536)"));
  EXPECT_THAT(Open("d"), HasSubstr("a has the most, 4"));
  EXPECT_EQ(table_.size(), 10u);
}

TEST_F(ConnectionTableTest, ClosedConnectionsAreForgottenOnceASecond) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Open("a"), "");
  for (uint64_t socket = 100; socket < 103; ++socket) closed_.insert(socket);
  now_ += 2 * kSecond;
  EXPECT_EQ(Open("b"), "");
  EXPECT_EQ(table_.size(), 1u);
}

TEST_F(ConnectionTableTest, ABlockedHostMayConnectAgainLater) {
  table_.Block("a", now_ + kSecond);
  EXPECT_THAT(Open("a"), HasSubstr("a is rejected for some seconds"));
  EXPECT_EQ(Open("b"), "");
  now_ += kSecond;
  EXPECT_EQ(Open("a"), "");
}

TEST_F(ConnectionTableTest, FindsTheConnectionThatSendsTheMostBetweenTwoCalls) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Open("a"), "");
  std::map<uint64_t, uint64_t> received = {{100, 1000}, {101, 50}, {102, 0}};
  const auto of = [&](const ConnectionTable::Connection& connection) { return received[connection.socket]; };
  EXPECT_FALSE(table_.LargestSender(of)) << "the bytes of the hours before do not count";
  received = {{100, 1010}, {101, 550}, {102, 20}};
  const auto sender = table_.LargestSender(of);
  ASSERT_TRUE(sender);
  EXPECT_EQ(sender->connection.socket, 101u);
  EXPECT_EQ(sender->host, "a");
  EXPECT_EQ(sender->bytes, 500u);
  EXPECT_FALSE(table_.LargestSender(of)) << "no connection has sent more";
  received[102] = 700;
  table_.ForgetReceived();
  EXPECT_FALSE(table_.LargestSender(of));
}

}  // namespace
}  // namespace penstock::net
