#include "transport/peer.h"

#include <gtest/gtest.h>

namespace penstock::transport {
namespace {

TEST(PeerTest, HasATextOfEachKind) {
  EXPECT_EQ(Peer().ToString(), "unknown");
  EXPECT_EQ(Peer::Network("10.0.0.7:5123").ToString(), "10.0.0.7:5123");
  EXPECT_EQ(Peer::Host(1000, 77).ToString(), "user 1000, process 77");
  EXPECT_EQ(Peer::InProcess().ToString(), "this process");
  EXPECT_EQ(Peer::Simulated("trainer").ToString(), "simulated host trainer");
}

TEST(PeerTest, ParsesTheAddressesOfGrpc) {
  EXPECT_EQ(Peer::Grpc("ipv4:10.0.0.7:5123"), Peer::Network("10.0.0.7:5123"));
  EXPECT_EQ(Peer::Grpc("ipv6:%5B::1%5D:5123"), Peer::Network("[::1]:5123"));
  EXPECT_EQ(Peer::Grpc("ipv6:[::1]:5123"), Peer::Network("[::1]:5123"));
  EXPECT_EQ(Peer::Grpc("ipv6:%5Bfe80::1%25eth0%5D:5123"), Peer::Network("[fe80::1%eth0]:5123"));
}

}  // namespace
}  // namespace penstock::transport
