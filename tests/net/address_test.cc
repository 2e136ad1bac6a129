#include "net/address.h"

#include <gtest/gtest.h>

namespace penstock::net {
namespace {

TEST(ParseAddress, TakesWhatPeopleWrite) {
  EXPECT_EQ(*ParseAddress("localhost:7070"), (Address{"localhost", 7070}));
  EXPECT_EQ(*ParseAddress("10.1.2.3:0"), (Address{"10.1.2.3", 0}));
  EXPECT_EQ(*ParseAddress("[::1]:65535"), (Address{"::1", 65535}));
  EXPECT_EQ(*ParseAddress("host", 7070), (Address{"host", 7070}));
  EXPECT_EQ(*ParseAddress("[fe80::1%eth0]", 7070), (Address{"fe80::1%eth0", 7070}));
}

TEST(ParseAddress, RefusesTheRestInWords) {
  for (const char* text : {"", ":", ":7070", "host", "host:", "host:x", "host:65536", "host:-1", "host:1 ", "::1:7070",
                           "[::1:7070", "[::1]7070", "ho st:1", "http://host:1", "host:1\n", "host:+1"}) {
    const auto address = ParseAddress(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(address.status().message().find("HOST:PORT"), absl::string_view::npos);
  }
}

TEST(Address, IsWrittenAsItIsRead) {
  for (const char* text : {"localhost:7070", "[::1]:1", "127.0.0.1:0"}) {
    EXPECT_EQ(ParseAddress(text)->ToString(), text);
  }
}

TEST(Address, KnowsLoopback) {
  for (const char* text : {"localhost:1", "127.0.0.1:1", "127.1.2.3:1", "[::1]:1"}) {
    EXPECT_TRUE(ParseAddress(text)->IsLoopback()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "[::]:1", "128.0.0.1:1", "127.example.com:1", "host:1"}) {
    EXPECT_FALSE(ParseAddress(text)->IsLoopback()) << text;
  }
}

}  // namespace
}  // namespace penstock::net
