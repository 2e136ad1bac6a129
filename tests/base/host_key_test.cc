#include "base/host_key.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(HostKey, AnIpv4AddressIsAHost) { EXPECT_EQ(HostKey("10.0.0.7"), "10.0.0.7"); }

TEST(HostKey, Ipv6AddressesWithTheSame64BitsAreOneHost) {
  EXPECT_EQ(HostKey("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(HostKey("2001:db8:1:2::1"), "2001:db8:1:2::/64");
  EXPECT_EQ(HostKey("2001:db8:1:3::1"), "2001:db8:1:3::/64");
  EXPECT_EQ(HostKey("fe80::1%eth0"), "fe80::/64");
}

TEST(HostKey, BothFormsOfAnIpv4AddressAreOneHost) { EXPECT_EQ(HostKey("::ffff:10.0.0.7"), "10.0.0.7"); }

TEST(HostKey, LoopbackStays) {
  EXPECT_EQ(HostKey("::1"), "::1");
  EXPECT_EQ(HostKey("127.0.0.1"), "127.0.0.1");
}

TEST(HostKey, OtherTextStays) {
  EXPECT_EQ(HostKey(""), "");
  EXPECT_EQ(HostKey("trainer-7"), "trainer-7");
}

}  // namespace
}  // namespace penstock
