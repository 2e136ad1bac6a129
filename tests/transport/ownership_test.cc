#include "transport/ownership.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::transport {
namespace {

constexpr Act kAll[] = {Act::kReport, Act::kJudge,        Act::kClose,   Act::kTakeOver, Act::kAddPart,
                        Act::kFetch,  Act::kFetchSupport, Act::kAddLane, Act::kServe};
constexpr char kId[] = "0123456789abcdef0123456789abcdef";
constexpr char kOther[] = "fedcba9876543210fedcba9876543210";

std::string Text(const Claim& claim, const Ownership* owned) { return std::string(MayActFor(claim, owned).message()); }

Peer Named(const std::string& name, const std::string& address) {
  Peer peer = Peer::Network(address);
  peer.name = name;
  return peer;
}

struct Case {
  Peer owner, caller;
  bool may;
};

TEST(OwnershipTest, OnlyNamesAndPeersKnownToTheKernelAreCompared) {
  const Case cases[] = {
      {Peer::Network("10.0.0.7:5123"), Peer::Network("10.0.0.7:5123"), true},
      {Peer::Network("10.0.0.7:5123"), Peer::Network("10.0.0.7:6001"), true},  // reconnected
      {Peer::Network("10.0.0.7:5123"), Peer::Network("192.0.2.1:443"), true},  // through NAT
      {Peer::Network("10.0.0.7:5123"), Peer::Host(1000, 77), true},            // another carrier
      {Peer::Simulated("trainer"), Peer::Simulated("other"), true},
      {Peer(), Peer::Network("10.0.0.7:5123"), true},
      {Peer::InProcess(), Peer::InProcess(), true},
      {Peer::Host(1000, 77), Peer::Host(1000, 78), true},  // restarted
      {Peer::Host(1000, 77), Peer::Host(1001, 78), false},
      {Named("alice", "10.0.0.7:5123"), Named("alice", "192.0.2.1:443"), true},
      {Named("alice", "10.0.0.7:5123"), Named("bob", "10.0.0.7:5123"), false},
      {Named("alice", "10.0.0.7:5123"), Peer::Network("10.0.0.7:5123"), false},
      {Peer::Network("10.0.0.7:5123"), Named("alice", "10.0.0.7:5123"), false},
  };
  for (const Case& c : cases) {
    const Ownership owned{kId, c.owner};
    for (const Act act : kAll) {
      const absl::Status status = MayActFor({act, kId, c.caller}, &owned);
      const bool may = c.may || act == Act::kAddPart;
      EXPECT_EQ(status.ok(), may) << c.owner.ToString() << ", " << c.caller.ToString() << ": " << status;
      if (!may) {
        EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
      }
    }
  }
}

TEST(OwnershipTest, ActsOnAMissingTargetAreNotFound) {
  for (const Act act : kAll) {
    EXPECT_EQ(MayActFor({act, kId, Peer()}, nullptr).code(), absl::StatusCode::kNotFound);
  }
}

TEST(OwnershipTest, ActsOnAnotherIdAreInvalidArguments) {
  const Peer peer = Peer::Network("10.0.0.7:5123");
  const Ownership owned{kId, peer};
  for (const Act act : kAll) {
    EXPECT_EQ(MayActFor({act, kOther, peer}, &owned).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(PeerTest, MayReadTheJobsThatItsGlobsMatch) {
  Peer peer = Peer::Network("10.0.0.7:5123");
  EXPECT_TRUE(peer.MayAccess("any").ok());
  peer.jobs = {"imagenet-*", "coco"};
  EXPECT_TRUE(peer.MayAccess("imagenet-1k").ok());
  EXPECT_TRUE(peer.MayAccess("coco").ok());
  EXPECT_FALSE(peer.MayAccess("coco-eval").ok());
  EXPECT_FALSE(peer.MayAccess("").ok());
}

TEST(OwnershipTest, ErrorsNameTheThingTheReasonAndTheRemedy) {
  const Peer owner = Peer::Host(1000, 77), caller = Peer::Host(1001, 78);
  const Ownership owned{kId, owner};
  EXPECT_EQ(Text({Act::kClose, kId, caller}, &owned),
            "session 01234567 belongs to user 1000, process 77, and this request comes from user 1001, process 78: act "
            "as the user that opened it");
  const Peer alice = Named("alice", "10.0.0.7:5123"), bob = Named("bob", "10.0.0.8:443");
  const Ownership of_alice{kId, alice};
  EXPECT_EQ(Text({Act::kReport, kId, bob}, &of_alice),
            "session 01234567 belongs to alice at 10.0.0.7:5123, and this request comes from bob at 10.0.0.8:443: act "
            "as the name that opened it");
  EXPECT_EQ(Text({Act::kReport, kOther, caller}, &owned),
            "a request for session 01234567 names session fedcba98: it must name the same one");
  EXPECT_EQ(Text({Act::kReport, kId, caller}, nullptr),
            "there is no session 01234567: it was closed, it expired, or the coordinator has restarted. Open a session "
            "again");
  EXPECT_EQ(Text({Act::kFetch, kId, caller}, nullptr),
            "there is no trace 01234567: it was fetched, no client fetched it for a minute, or the coordinator has "
            "restarted. Start `penstock trace` again");
  EXPECT_EQ(Text({Act::kAddLane, kId, caller}, nullptr),
            "there is no stream 01234567: it has ended, or the worker has restarted. Open the stream again");
}

}  // namespace
}  // namespace penstock::transport
