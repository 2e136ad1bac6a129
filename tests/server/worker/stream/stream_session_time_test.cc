// The worker's sessions in one thread on virtual time: deadlines, floods, and clients that accept nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/runtime/sim_scheduler.h"
#include "tests/server/worker/stream/fake_loader.h"
#include "tests/server/worker/stream/stream_session_testing.h"
#include "tests/support/log_lines.h"

namespace penstock::worker {
namespace {

using ::testing::HasSubstr;

class SessionOnVirtualTime : public StreamSessionTest {
 protected:
  SessionOnVirtualTime() {
    shared_.executor = &sim_;
    shared_.loader = &fake_;
  }
  ~SessionOnVirtualTime() override {
    for (const auto& stream : streams_) stream->Leave();
    fake_.MakeAll();
    sim_.RunFor(kSecond);
    EXPECT_EQ(acceptor_.sessions(), 0u);
    shared_.executor = executor_.get();
  }
  Client Opened() {
    const Client client = NewClient();
    sim_.RunFor(kMillisecond);
    for (const v1::ClientMessage& message : {OpenMessage(), ViewMessage()}) {
      client.stream->Send(message);
      sim_.RunFor(kMillisecond);
    }
    EXPECT_TRUE(client.stream->writing());  // writes `accepted`
    return client;
  }
  static v1::ClientMessage FetchMessage(int rows) {
    v1::ClientMessage message;
    message.mutable_fetch();
    for (int i = 0; i < rows; ++i) message.mutable_fetch()->add_positions(static_cast<uint64_t>(i) % 80);
    return message;
  }

  SimScheduler sim_{11};
  FakeLoader fake_;
};

TEST_F(SessionOnVirtualTime, AStreamThatNeverOpensEndsAtItsDeadline) {
  const Client client = NewClient();
  sim_.RunFor(9 * kSecond);
  EXPECT_FALSE(client.stream->finished());
  sim_.RunFor(2 * kSecond);
  ASSERT_TRUE(client.stream->finished());
  EXPECT_EQ(client.stream->status_of().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(client.stream->status_of().message()), HasSubstr("`open`"));
}

TEST_F(SessionOnVirtualTime, AGrantDescribesLaterRowsToTheLoader) {
  const Client client = Opened();
  EXPECT_FALSE(fake_.expected().Covers(1, 8, 8));
  client.stream->Send(GrantMessage(0, 0, 16));
  sim_.RunFor(kMillisecond);
  EXPECT_TRUE(fake_.expected().Covers(0, 40, 40));
  EXPECT_TRUE(fake_.expected().Covers(1, 8, 8));
}

TEST_F(SessionOnVirtualTime, AFloodOfFetchesReachesTheLoaderOnlyAsFastAsTheClientReads) {
  const Client client = Opened();
  for (int i = 0; i < 32; ++i) {
    client.stream->Send(FetchMessage(15872));
    sim_.RunFor(kMillisecond);
  }
  fake_.MakeAll();  // makes all requested rows
  sim_.RunFor(kSecond);
  EXPECT_FALSE(client.stream->finished());
  EXPECT_LE(fake_.requested(), shared_.fetched_rows);
  EXPECT_GT(fake_.held(), 32u * 15872u);  // the list counts in the budget
  EXPECT_LT(fake_.held(), 3u * 32u * 15872u);
  // A client that reads receives all rows.
  for (int i = 0; i < 100'000 && fake_.made() < 32u * 15872u; ++i) {
    client.stream->Take();
    sim_.RunFor(kMillisecond);
    fake_.MakeAll();
    sim_.RunFor(kMillisecond);
  }
  EXPECT_EQ(fake_.made(), 32u * 15872u);
  EXPECT_EQ(fake_.held(), 0u);
}

TEST_F(SessionOnVirtualTime, AnEmptyFetchKeepsTheMemoryOfOthers) {
  const Client client = Opened();
  client.stream->Send(FetchMessage(15872));
  sim_.RunFor(kMillisecond);
  const uint64_t held = fake_.held();
  EXPECT_GT(held, 0u);
  for (int i = 0; i < 3; ++i) client.stream->Send(FetchMessage(0));
  for (int i = 0; i < 100 && fake_.made() < 4000; ++i) {
    client.stream->Take();
    fake_.MakeAll();
    sim_.RunFor(kMillisecond);
  }
  ASSERT_LT(fake_.made(), 15000u);
  EXPECT_EQ(fake_.held(), held);  // rows of the first fetch still wait
}

TEST_F(SessionOnVirtualTime, AFetchThatTheBudgetHasNoRoomForEndsTheSessionWithTheNumber) {
  const Client client = Opened();
  fake_.SetRoom(1000);
  client.stream->Send(FetchMessage(15872));
  sim_.RunFor(kMillisecond);
  ASSERT_TRUE(client.stream->finished());
  EXPECT_EQ(client.stream->status_of().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(client.stream->status_of().message()), HasSubstr("15872"));
  EXPECT_EQ(shared_.failed_streams.load(), 1u);
}

TEST_F(SessionOnVirtualTime, RowsAreMadeAheadOfTheStreamByTheirBytesAndAllOfThemComeAsTheClientReads) {
  shared_.ahead.bytes = 256;
  shared_.ahead.busy_rows = 2;
  const Client client = Opened();
  for (uint64_t epoch = 0; epoch < 4; ++epoch) client.stream->Send(GrantMessage(epoch, 0, 80));
  for (int i = 0; i < 10; ++i) {
    fake_.MakeAll();
    sim_.RunFor(20 * kMillisecond);
  }
  EXPECT_GT(fake_.requested(), 0u);
  EXPECT_LE(fake_.requested(), 256u / 8u);  // each row is a number of 8 bytes, or more
  for (int i = 0; i < 1000 && fake_.made() < 320; ++i) {
    client.stream->Take();
    sim_.RunFor(20 * kMillisecond);
    fake_.MakeAll();
  }
  EXPECT_EQ(fake_.made(), 320u);
}

TEST_F(SessionOnVirtualTime, WhatTheLoaderHasNoRoomForIsAskedForWhenRowsHaveGone) {
  fake_.SetQueue(5);
  const Client client = Opened();
  client.stream->Send(GrantMessage(0, 0, 80));
  client.stream->Send(FetchMessage(100));
  for (int i = 0; i < 1000 && fake_.made() < 180; ++i) {
    sim_.RunFor(20 * kMillisecond);
    client.stream->Take();
    fake_.MakeAll();
  }
  EXPECT_EQ(fake_.made(), 180u);
}

TEST_F(SessionOnVirtualTime, WhoReadsNothingWhileOthersNeedTheMemoryIsClosedWithTheReason) {
  const Client client = Opened();
  client.stream->Send(GrantMessage(0, 0, 80));
  sim_.RunFor(kMillisecond);
  fake_.MakeAll();
  sim_.RunFor(kSecond);
  client.session->Revoke(100, true);
  sim_.RunFor(8 * kSecond);
  EXPECT_FALSE(client.stream->finished());
  sim_.RunFor(2 * kSecond);
  ASSERT_TRUE(client.stream->finished());
  EXPECT_EQ(client.stream->status_of().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(client.stream->status_of().message()), HasSubstr("read nothing for 10 s"));
  EXPECT_EQ(shared_.rejections->Get()[static_cast<size_t>(server::RejectionReason::kLimit)], 1u);
}

TEST_F(SessionOnVirtualTime, LogLinesNameTheSessionByItsLabelAndItsPeer) {
  const std::string id = "1a2b3c4d5e6f70811a2b3c4d5e6f7081";
  const Client client = NewClient();
  sim_.RunFor(kMillisecond);
  v1::ClientMessage open = OpenMessage();
  open.mutable_open()->set_session_id(id);
  for (const v1::ClientMessage& message : {open, ViewMessage(), GrantMessage(0, 0, 80)}) {
    client.stream->Send(message);
    sim_.RunFor(kMillisecond);
  }
  fake_.MakeAll();
  sim_.RunFor(kSecond);
  support::CapturedLog log("warn");
  client.session->Revoke(100, true);
  sim_.RunFor(10 * kSecond);
  const std::string text = log.TakeText();
  EXPECT_THAT(text, ::testing::Not(HasSubstr(id)));
  const std::vector<nlohmann::json> lines = support::ParseLogLines(text);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(support::FieldOf(lines[0], "message"), HasSubstr("is closed: this client has read nothing"));
  EXPECT_EQ(support::FieldOf(lines[0], "job"), job_.name());
  EXPECT_EQ(support::FieldOf(lines[0], "session"), "1a2b3c4d");
  EXPECT_EQ(support::FieldOf(lines[0], "peer"), "10.0.0.7:5123");
}

TEST_F(SessionOnVirtualTime, WhoReadsNothingIsLeftAloneWhileNobodyNeedsTheMemoryAndSoIsWhoReadsLate) {
  const Client client = Opened();
  client.stream->Send(GrantMessage(0, 0, 80));
  sim_.RunFor(kMillisecond);
  fake_.MakeAll();
  sim_.RunFor(3600 * kSecond);  // a trainer in a debugger
  client.session->Revoke(100, false);
  sim_.RunFor(3600 * kSecond);
  EXPECT_FALSE(client.stream->finished());
  for (int i = 0; i < 20; ++i) {
    client.session->Revoke(100, true);
    client.stream->Take();
    sim_.RunFor(9 * kSecond);
    fake_.MakeAll();
    EXPECT_FALSE(client.stream->finished());
  }
}

TEST_F(SessionOnVirtualTime, OneWithoutRoomIsToldToWaitWhileClientsReadNothingAndTheseAreClosed) {
  fake_.SetMostSessions(2);
  std::vector<Client> silent;
  for (int i = 0; i < 2; ++i) {
    silent.push_back(Opened());
    silent.back().stream->Send(GrantMessage(0, 0, 80));
    sim_.RunFor(kMillisecond);
    fake_.MakeAll();
  }
  const auto open = [&] {
    const Client client = NewClient();
    sim_.RunFor(kMillisecond);
    client.stream->Send(OpenMessage());
    sim_.RunFor(2 * kSecond);
    return client;
  };
  const Client waits = open();
  ASSERT_TRUE(waits.stream->finished());
  EXPECT_EQ(waits.stream->status_of().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(
      std::string(waits.stream->status_of().message()),
      HasSubstr("a step takes 9 bytes, 4 are free; it waits: clients that have read nothing for 10 s are closed"));
  sim_.RunFor(8 * kSecond);
  for (const Client& client : silent) EXPECT_TRUE(client.stream->finished());
  fake_.MakeAll();
  sim_.RunFor(kMillisecond);
  EXPECT_FALSE(open().stream->finished());
}

TEST_F(SessionOnVirtualTime, OneWithoutRoomBesideClientsThatReadIsRefusedWithTheNumbers) {
  fake_.SetMostSessions(1);
  const Client reads = Opened();
  reads.stream->Take();
  sim_.RunFor(kMillisecond);
  const Client refused = NewClient();
  sim_.RunFor(kMillisecond);
  refused.stream->Send(OpenMessage());
  sim_.RunFor(2 * kSecond);
  ASSERT_TRUE(refused.stream->finished());
  EXPECT_EQ(refused.stream->status_of().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(reads.stream->finished());
}

// Rows of the trainer's step are useless to a client that accepts nothing.
TEST_F(SessionOnVirtualTime, RowsOfTheHeadStepAreGivenBackOnceTheClientTakesNothing) {
  const Client client = Opened();
  v1::ClientMessage waiting;
  waiting.mutable_waiting()->set_begin(72);
  client.stream->Send(waiting);
  client.stream->Send(GrantMessage(0, 0, 80));
  sim_.RunFor(kMillisecond);
  fake_.MakeAll();
  sim_.RunFor(kMillisecond);
  EXPECT_EQ(client.session->Revoke(1 << 20, true), 0u);
  sim_.RunFor(2 * kSecond);
  EXPECT_GT(fake_.now_revocable(), 0);
  EXPECT_GT(client.session->Revoke(1 << 20, true), 0u);
  const uint64_t requested = fake_.requested();
  sim_.RunFor(2 * kSecond);
  EXPECT_EQ(fake_.requested(), requested);  // the session does not have them made again while they could not be sent
  std::set<uint64_t> seen;
  for (int i = 0; i < 200; ++i) {
    client.stream->Take();
    sim_.RunFor(20 * kMillisecond);
    fake_.MakeAll();
  }
  for (const v1::ServerHeader& header : client.stream->headers()) {
    for (const uint64_t row : header.rows().positions()) EXPECT_TRUE(seen.insert(row).second) << row;
  }
  EXPECT_EQ(seen.size(), 80u);
}

// Hanging storage blocks only the threads that wait for it.
TEST_F(SessionOnVirtualTime, SessionsWhoseRowsHangHoldNoOtherUp) {
  for (int i = 0; i < 8; ++i) {
    const Client hangs = Opened();
    hangs.stream->Send(GrantMessage(0, 0, 80));
    sim_.RunFor(kMillisecond);
    hangs.stream->Leave();
  }
  sim_.RunFor(kSecond);
  EXPECT_EQ(acceptor_.sessions(), 8u);  // until the loader has released them
  const Client other = Opened();
  EXPECT_FALSE(other.stream->finished());
  fake_.MakeAll();
  sim_.RunFor(kSecond);
  EXPECT_EQ(acceptor_.sessions(), 1u);
}

TEST_F(SessionOnVirtualTime, OneSeedIsOneRun) {
  const auto run = [&](uint64_t seed) {
    SimScheduler sim(seed);
    shared_.executor = &sim;
    SessionAcceptor acceptor(&shared_);
    std::vector<std::shared_ptr<FakeStream>> streams;
    for (int i = 0; i < 3; ++i) {
      auto stream = std::make_shared<FakeStream>();
      stream->SetEvents(acceptor.Accept(stream));
      for (const auto& message : {OpenMessage(), ViewMessage(), GrantMessage(0, 0, 80), FetchMessage(9)}) {
        stream->Send(message);
      }
      streams.push_back(std::move(stream));
    }
    for (int i = 0; i < 50; ++i) {
      sim.RunFor(7 * kMillisecond);
      fake_.MakeAll();
      for (const auto& stream : streams) stream->Take();
    }
    for (const auto& stream : streams) stream->Leave();
    sim.RunFor(kSecond);
    EXPECT_EQ(acceptor.sessions(), 0u);
    shared_.executor = &sim_;
    return sim.order_hash();
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

}  // namespace
}  // namespace penstock::worker
