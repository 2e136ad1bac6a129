#include "server/peers/call_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/runtime/sim_scheduler.h"

namespace penstock::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using transport::Peer;

class CallLimitsTest : public ::testing::Test {
 protected:
  Peer Alice() const {
    Peer peer = Peer::Network("10.0.0.7:5123");
    peer.name = "alice";
    return peer;
  }

  SimScheduler sim_{1};
  CallLimits limits_{2, sim_.clock()};
};

TEST_F(CallLimitsTest, AHostCallsInABurstAndThenAtItsRate) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(limits_.AdmitHost(Peer::Network("10.0.0.7:1"), "command").ok());
  const absl::Status late = limits_.AdmitHost(Peer::Network("10.0.0.7:2"), "command");
  EXPECT_EQ(late.code(), absl::StatusCode::kUnavailable) << "so that clients try again";
  EXPECT_THAT(late.message(), HasSubstr("10.0.0.7 makes more than 2 calls a second"));
  EXPECT_THAT(late.message(), HasSubstr("limits.calls_per_second"));
  EXPECT_TRUE(limits_.AdmitHost(Peer::Network("10.0.0.8:1"), "command").ok());
  sim_.RunFor(kSecond);
  EXPECT_TRUE(limits_.AdmitHost(Peer::Network("10.0.0.7:3"), "command").ok());
}

TEST_F(CallLimitsTest, ANameHasTheLimitOnAllItsHosts) {
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(limits_.AdmitName(Alice(), "command").ok());
  Peer elsewhere = Peer::Network("10.0.0.9:1");
  elsewhere.name = "alice";
  EXPECT_THAT(limits_.AdmitName(elsewhere, "command").message(), HasSubstr("'alice' makes more than 2"));
  EXPECT_TRUE(limits_.AdmitName(Peer::Network("10.0.0.7:1"), "command").ok()) << "without a name";
}

TEST_F(CallLimitsTest, AFloodOfCommandsTakesNoCallsOfTheWorkerOnItsHost) {
  for (int i = 0; i < 100; ++i) limits_.AdmitHost(Peer::Network("10.0.0.7:1"), "command").IgnoreError();
  EXPECT_TRUE(limits_.AdmitHost(Peer::Network("10.0.0.7:2"), "worker").ok());
}

TEST_F(CallLimitsTest, CallsWithinTheProcessHaveNoLimit) {
  for (int i = 0; i < 1000; ++i) {
    Peer self = Peer::InProcess();
    self.name = "alice";
    ASSERT_TRUE(limits_.AdmitHost(self, "command").ok());
    ASSERT_TRUE(limits_.AdmitName(self, "command").ok());
  }
}

TEST_F(CallLimitsTest, AHostThatIsRejectedMoreOftenThanItMayCallIsDisconnected) {
  std::vector<std::string> disconnected;
  limits_.DisconnectBy([&](const std::string& host) { disconnected.push_back(host); });
  for (int i = 0; i < 22; ++i) limits_.AdmitHost(Peer::Network("10.0.0.7:1"), "command").IgnoreError();
  EXPECT_TRUE(disconnected.empty());
  limits_.AdmitHost(Peer::Network("10.0.0.7:1"), "command").IgnoreError();
  EXPECT_THAT(disconnected, ElementsAre("10.0.0.7"));
}

}  // namespace
}  // namespace penstock::server
