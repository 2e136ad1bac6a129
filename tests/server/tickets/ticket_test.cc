// A ticket is accepted as it was signed, and with any change it is not.
#include "server/tickets/ticket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"

namespace penstock::server {
namespace {

using ::testing::HasSubstr;

v1::TicketClaims Claims() {
  v1::TicketClaims claims;
  claims.set_name("alice");
  claims.set_job("imagenet-1k");
  claims.set_issued(1'000'000);
  claims.set_expires(2'000'000);
  return claims;
}

const std::string kKey(kSigningKeyBytes, 'k'), kOtherKey(kSigningKeyBytes, 'o');

std::string WhyNot(const std::string& ticket, const std::vector<std::string>& keys) {
  return std::string(VerifyTicket(ticket, keys).status().message());
}

// The first test vector of RFC 8032, section 7.1.
TEST(TicketTest, ThePublicKeyIsThatOfTheStandard) {
  EXPECT_EQ(absl::BytesToHexString(PublicKeyOf(
                absl::HexStringToBytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))),
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
}

TEST(TicketTest, HasTheClaimsThatWereSigned) {
  const std::string ticket = SignTicket(Claims(), kKey);
  const auto claims = VerifyTicket(ticket, std::vector{PublicKeyOf(kOtherKey), PublicKeyOf(kKey)});
  ASSERT_TRUE(claims.ok()) << claims.status();
  EXPECT_EQ(claims->SerializeAsString(), Claims().SerializeAsString());
}

TEST(TicketTest, AChangedBitMakesItInvalid) {
  const std::string ticket = SignTicket(Claims(), kKey);
  for (size_t i = 0; i < ticket.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = ticket;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      const auto claims = VerifyTicket(changed, std::vector{PublicKeyOf(kKey)});
      EXPECT_EQ(claims.status().code(), absl::StatusCode::kUnauthenticated) << i << " " << bit;
    }
  }
}

TEST(TicketTest, APrefixOrAnythingElseIsInvalid) {
  const std::string ticket = SignTicket(Claims(), kKey);
  for (size_t size = 0; size < ticket.size(); ++size) {
    EXPECT_FALSE(VerifyTicket(ticket.substr(0, size), std::vector{PublicKeyOf(kKey)}).ok()) << size;
  }
  EXPECT_THAT(WhyNot(std::string(1 << 20, 'x'), {PublicKeyOf(kKey)}), HasSubstr("is damaged"));
}

TEST(TicketTest, NeedsAKnownKey) {
  const std::string ticket = SignTicket(Claims(), kKey);
  EXPECT_THAT(WhyNot(ticket, {}), HasSubstr("a key that this worker does not know"));
  EXPECT_THAT(WhyNot(ticket, {PublicKeyOf(kOtherKey)}), HasSubstr("a key that this worker does not know"));
  EXPECT_THAT(WhyNot(ticket, {"short", std::string(kPublicKeyBytes, '\0')}), HasSubstr("does not know"));
}

// Claims of another key's ticket, with the id of the known key.
TEST(TicketTest, ASignatureOfAnotherKeyIsAForgery) {
  v1::Ticket forged, honest;
  ASSERT_TRUE(forged.ParseFromString(SignTicket(Claims(), kOtherKey)));
  ASSERT_TRUE(honest.ParseFromString(SignTicket(Claims(), kKey)));
  forged.set_key(honest.key());
  EXPECT_THAT(WhyNot(forged.SerializeAsString(), {PublicKeyOf(kKey)}), HasSubstr("is forged"));
}

}  // namespace
}  // namespace penstock::server
