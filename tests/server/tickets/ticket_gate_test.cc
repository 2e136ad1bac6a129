// Which streams a worker accepts, with which rules of the coordinator.
#include "server/tickets/ticket_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "server/tickets/ticket.h"

namespace penstock::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using transport::Peer;

constexpr int64_t kIssued = 1'000'000'000, kHour = int64_t{3600} * 1'000'000;
const std::string kSigningKey(kSigningKeyBytes, 'k');

class TicketGateTest : public ::testing::Test {
 protected:
  static v1::TicketRules Rules() {
    v1::TicketRules rules;
    rules.set_version(7);
    rules.add_keys(PublicKeyOf(kSigningKey));
    return rules;
  }
  static std::string Ticket(int64_t issued = kIssued) {
    v1::TicketClaims claims;
    claims.set_name("alice");
    claims.set_job("imagenet-1k");
    claims.set_issued(issued);
    claims.set_expires(issued + kHour);
    return SignTicket(claims, kSigningKey);
  }
  absl::Status Admit(const TicketGate& gate, const std::string& ticket) {
    peer_ = Peer::Network("10.0.0.7:5123");
    return gate.Admit(ticket, &peer_);
  }

  int64_t now_ = kIssued;
  TicketGate gate_{false, [this] { return now_; }};
  Peer peer_;
};

TEST_F(TicketGateTest, WithoutKeysEveryStreamIsAccepted) {
  EXPECT_TRUE(Admit(gate_, "").ok());
  EXPECT_TRUE(Admit(gate_, "anything").ok());
  EXPECT_TRUE(gate_.CheckAdmitted(peer_).ok());
}

TEST_F(TicketGateTest, AWorkerWithTokensAcceptsNoneWithoutKeys) {
  TicketGate gate(true, [this] { return now_; });
  EXPECT_EQ(Admit(gate, Ticket()).code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(Admit(gate, "").message()), HasSubstr("the coordinator runs without --tokens"));
  gate.Update(Rules());
  EXPECT_TRUE(Admit(gate, Ticket()).ok());
}

TEST_F(TicketGateTest, ATicketSaysTheNameAndTheJob) {
  gate_.Update(Rules());
  EXPECT_EQ(gate_.version(), 7u);
  ASSERT_TRUE(Admit(gate_, Ticket()).ok());
  EXPECT_EQ(peer_.name, "alice");
  EXPECT_THAT(peer_.jobs, ElementsAre("imagenet-1k"));
  EXPECT_TRUE(peer_.MayAccess("imagenet-1k").ok());
  EXPECT_EQ(peer_.MayAccess("imagenet-1k2").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(gate_.CheckAdmitted(peer_).ok());
  EXPECT_EQ(Admit(gate_, "").code(), absl::StatusCode::kUnauthenticated);
}

// A worker that has started serves before it has registered. A stream from that time opens no job afterwards.
TEST_F(TicketGateTest, AStreamFromBeforeTheKeysOpensNothingAfterThem) {
  ASSERT_TRUE(Admit(gate_, "").ok());
  gate_.Update(Rules());
  EXPECT_EQ(gate_.CheckAdmitted(peer_).code(), absl::StatusCode::kUnavailable)
      << "a trainer with a ticket tries again, and does not end";
}

TEST_F(TicketGateTest, ATicketExpires) {
  gate_.Update(Rules());
  now_ = kIssued + kHour - 1;
  EXPECT_TRUE(Admit(gate_, Ticket()).ok());
  now_ = kIssued + kHour + 5'000'000;
  const absl::Status late = Admit(gate_, Ticket());
  EXPECT_EQ(late.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(late.message()), HasSubstr("ticket of 'alice' expired 5 s ago"));
}

TEST_F(TicketGateTest, ARevocationVoidsEarlierTicketsOfTheName) {
  gate_.Update(Rules());
  ASSERT_TRUE(Admit(gate_, Ticket()).ok());
  const Peer open = peer_;
  v1::TicketRules rules = Rules();
  rules.add_revocations()->set_name("bob");
  rules.mutable_revocations(0)->set_until(kIssued + 10);
  gate_.Update(rules);
  EXPECT_FALSE(gate_.IsRevoked(open));
  rules.add_revocations()->set_name("alice");
  rules.mutable_revocations(1)->set_until(kIssued);
  gate_.Update(rules);
  EXPECT_TRUE(gate_.IsRevoked(open));
  EXPECT_EQ(gate_.CheckAdmitted(open).code(), absl::StatusCode::kPermissionDenied);
  const absl::Status old = Admit(gate_, Ticket());
  EXPECT_EQ(old.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(old.message()), HasSubstr("has revoked the tickets of 'alice'"));
  EXPECT_TRUE(Admit(gate_, Ticket(kIssued + 1)).ok());
}

TEST_F(TicketGateTest, AnotherUserOfThisHostAlwaysNeedsATicket) {
  const Peer own = Peer::Host(geteuid(), 5), other = Peer::Host(geteuid() + 12345, 5);
  EXPECT_FALSE(gate_.Needs(own));
  EXPECT_TRUE(gate_.Needs(other));
  Peer caller = other;
  EXPECT_EQ(gate_.Admit("", &caller).code(), absl::StatusCode::kUnauthenticated);
  gate_.Update(Rules());
  EXPECT_TRUE(gate_.Needs(own));
  caller = other;
  EXPECT_TRUE(gate_.Admit(Ticket(), &caller).ok());
}

}  // namespace
}  // namespace penstock::server
