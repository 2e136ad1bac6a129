#include "server/http/http_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/runtime/random_source.h"

namespace penstock::server {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(HttpSessions, TheOldestEndsWhenThereAreTooManyAndTlsMakesTheCookieSecure) {
  SeededRandom random(17);
  HttpSessions sessions("penstock-1", true, &random);
  const auto cookie_of = [](const std::string& field) { return field.substr(0, field.find(';')); };
  const std::string first = sessions.Open("first");
  EXPECT_THAT(first, StartsWith("__Host-penstock-1="));
  EXPECT_THAT(first, EndsWith("; Path=/; HttpOnly; SameSite=Strict; Secure"));
  EXPECT_EQ(sessions.TokenOf(cookie_of(first)), "first");
  std::string last;
  for (size_t i = 0; i < HttpSessions::kMost; ++i) last = sessions.Open("another");
  EXPECT_EQ(sessions.TokenOf(cookie_of(first)), "");
  EXPECT_EQ(sessions.TokenOf(cookie_of(last)), "another");
}

}  // namespace
}  // namespace penstock::server
