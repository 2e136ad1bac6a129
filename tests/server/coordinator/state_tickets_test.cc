// Tickets of the coordinator: issued with sessions, renewed by reports, revoked by name, signed by keys that change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/tickets/ticket.h"
#include "server/tickets/ticket_gate.h"
#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kHour = int64_t{3600} * 1'000'000;

class StateTicketsTest : public ::testing::Test {
 protected:
  StateTicketsTest() {
    StateOptions options;
    options.tickets.issue = true;
    options.tickets.now = [this] { return now_; };
    options.tickets.new_key = [this] { return std::string(server::kSigningKeyBytes, static_cast<char>(++keys_)); };
    options.tickets.is_known = [this](const std::string&) { return known_; };
    h_.emplace(options);
    h_->Apply(Tick());  // the first key
    h_->caller = transport::Peer::Network("10.0.0.7:5123");
    h_->Register("w1");
    h_->Do<v1::SubmitReply>(SubmitOf(SimpleSpec("train")));
    h_->Work({"w1"});
    h_->caller.name = "alice";
  }

  // Returns the name whose ticket a worker with the current rules accepts, or the reason why it rejects the ticket.
  std::string Accepted(const std::string& ticket) {
    server::TicketGate gate(true, [this] { return now_; });
    gate.Update(Rules());
    transport::Peer peer = transport::Peer::Network("10.0.0.8:1");
    const absl::Status status = gate.Admit(ticket, &peer);
    return status.ok() ? peer.name : std::string(status.message());
  }
  v1::TicketRules Rules() { return Registered().tickets(); }
  v1::RegisterWorkerReply Registered() {
    const transport::Peer before = std::exchange(h_->caller, transport::Peer::Network("10.0.0.7:5123"));
    const auto reply = h_->Do<v1::RegisterWorkerReply>(WorkerCalled("w1"));
    h_->caller = before;
    return reply;
  }
  v1::HeartbeatReply Beat(uint64_t version) {
    const transport::Peer before = std::exchange(h_->caller, transport::Peer::Network("10.0.0.7:5123"));
    v1::HeartbeatRequest beat = BeatOf("w1");
    beat.set_tickets_version(version);
    const auto reply = h_->Do<v1::HeartbeatReply>(beat);
    h_->caller = before;
    return reply;
  }
  v1::OpenSessionReply Open() { return h_->Do<v1::OpenSessionReply>(SessionOn("train")); }
  v1::ReportSessionReply ReportOf(const std::string& session) {
    v1::ReportSessionRequest report;
    report.set_session_id(session);
    return h_->Do<v1::ReportSessionReply>(report);
  }
  v1::RevokeReply Revoke(const std::string& name) {
    v1::RevokeRequest request;
    request.set_name(name);
    return h_->Do<v1::RevokeReply>(request);
  }

  int64_t now_ = 1'800'000'000'000'000;
  int keys_ = 0;
  bool known_ = false;
  std::optional<StateHarness> h_;
};

TEST_F(StateTicketsTest, ASessionHasATicketForItsNameAndJob) {
  const v1::OpenSessionReply session = Open();
  EXPECT_EQ(Accepted(session.ticket()), "alice");
  h_->caller.name = "";  // in this process
  EXPECT_THAT(Open().ticket(), IsEmpty());
}

TEST_F(StateTicketsTest, AReportRenewsTheTicketAtHalfOfItsLife) {
  const v1::OpenSessionReply session = Open();
  now_ += 12 * kHour - 1;
  EXPECT_THAT(ReportOf(session.session_id()).ticket(), IsEmpty());
  now_ += 1;
  const std::string renewed = ReportOf(session.session_id()).ticket();
  EXPECT_EQ(Accepted(renewed), "alice");
  EXPECT_THAT(ReportOf(session.session_id()).ticket(), IsEmpty());
  now_ += 13 * kHour;
  EXPECT_THAT(Accepted(session.ticket()), ::testing::HasSubstr("expired 3600 s ago"));
  EXPECT_EQ(Accepted(renewed), "alice");
}

TEST_F(StateTicketsTest, RevokeEndsTheSessionsOfTheNameAndItsTickets) {
  const v1::OpenSessionReply first = Open(), second = Open();
  h_->caller.name = "bob";
  const v1::OpenSessionReply other = Open();
  const uint64_t version = Rules().version();
  const v1::RevokeReply reply = Revoke("alice");
  EXPECT_EQ(reply.sessions(), 2u);
  EXPECT_FALSE(reply.may_return());
  EXPECT_TRUE(Beat(version).has_tickets()) << "workers learn of it with the next heartbeat";
  EXPECT_FALSE(Beat(Rules().version()).has_tickets());
  EXPECT_THAT(Accepted(first.ticket()), ::testing::HasSubstr("has revoked"));
  EXPECT_EQ(Accepted(other.ticket()), "bob");
  EXPECT_FALSE(ReportOf(other.session_id()).unknown_session());
  h_->caller.name = "alice";
  EXPECT_TRUE(ReportOf(first.session_id()).unknown_session());
  now_ += 1;
  EXPECT_EQ(Accepted(Open().ticket()), "alice") << "the name may open new sessions while the token file has it";
  known_ = true;
  EXPECT_TRUE(Revoke("alice").may_return());
}

TEST_F(StateTicketsTest, KeysAndRevocationsSurviveARestart) {
  const v1::OpenSessionReply alice = Open();
  h_->caller.name = "bob";
  const v1::OpenSessionReply bob = Open();
  Revoke("alice");
  h_->Restart();
  h_->Apply(Tick());
  EXPECT_EQ(Accepted(bob.ticket()), "bob");
  EXPECT_THAT(Accepted(alice.ticket()), ::testing::HasSubstr("has revoked"));
  EXPECT_EQ(keys_, 1);
}

// The disk may take seconds to store the revocation.
TEST_F(StateTicketsTest, ATicketThatIsIssuedWhileTheRevocationIsStoredIsVoidAlsoAfterARestart) {
  v1::RevokeRequest request;
  request.set_name("alice");
  Effects revoke = h_->state->Apply({h_->now, request, {}, h_->caller});
  ASSERT_THAT(revoke.changes, SizeIs(1));
  std::vector<v1::StoreEvent> facts = revoke.changes[0].facts;
  now_ += 5'000'000;
  const std::string ticket = Open().ticket();
  EXPECT_EQ(Accepted(ticket), "alice");
  const Effects ended = h_->state->End(h_->now, std::move(revoke.changes[0]), absl::OkStatus());
  EXPECT_THAT(Accepted(ticket), ::testing::HasSubstr("has revoked"));
  facts.insert(facts.end(), ended.hints.begin(), ended.hints.end());
  EXPECT_EQ(support::CommitFacts(&h_->store, facts, h_->store.Load()->revision()).kind, CommitOutcome::kStored);
  h_->Restart();
  EXPECT_THAT(Accepted(ticket), ::testing::HasSubstr("has revoked"));
}

TEST_F(StateTicketsTest, ARevocationEndsWithTheLastTicketThatItVoids) {
  Open();
  Revoke("alice");
  EXPECT_THAT(Rules().revocations(), SizeIs(1));
  now_ += 24 * kHour + 1;
  h_->Apply(Tick());
  EXPECT_THAT(Rules().revocations(), SizeIs(0));
  EXPECT_TRUE(h_->store.Load()->revocations().empty());
}

// A worker that missed the last heartbeats must still accept a ticket: the new key signs after a minute.
TEST_F(StateTicketsTest, ANewKeyIsKnownBeforeItSignsAndTheOldOneUntilItsTicketsExpire) {
  now_ += 7 * 24 * kHour;
  const v1::TicketRules before = Rules();
  h_->Apply(Tick());
  EXPECT_EQ(keys_, 2);
  const std::string early = Open().ticket();
  server::TicketGate old_gate(true, [this] { return now_; });
  old_gate.Update(before);
  transport::Peer peer = transport::Peer::Network("10.0.0.8:1");
  EXPECT_TRUE(old_gate.Admit(early, &peer).ok()) << "signed with the old key";
  now_ += 61'000'000;
  const std::string late = Open().ticket();
  EXPECT_FALSE(old_gate.Admit(late, &peer).ok()) << "signed with the new key";
  EXPECT_EQ(Accepted(early), "alice");
  EXPECT_EQ(Accepted(late), "alice");
  EXPECT_THAT(Rules().keys(), SizeIs(2));
  now_ += 24 * kHour;
  h_->Apply(Tick());
  EXPECT_THAT(Rules().keys(), SizeIs(1));
  EXPECT_THAT(h_->store.Load()->ticket_keys(), SizeIs(1));
}

TEST(StateWithoutTickets, IssuesNoneAndRevokesNothing) {
  StateHarness h;
  h.Apply(Tick());
  h.Register("w1");
  EXPECT_FALSE(h.Do<v1::RegisterWorkerReply>(WorkerCalled("w1")).has_tickets());
  v1::RevokeRequest request;
  request.set_name("alice");
  EXPECT_EQ(h.StatusOf(request).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace penstock::coordinator
