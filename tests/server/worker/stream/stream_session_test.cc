#include "server/worker/stream/stream_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/runtime/sim_scheduler.h"
#include "base/runtime/thread_pool.h"
#include "server/worker/stream/session_acceptor.h"
#include "tests/server/worker/prepared_job.h"
#include "tests/server/worker/stream/fake_loader.h"
#include "tests/server/worker/stream/fake_stream.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StreamSessionTest : public PreparedJobTest {
 protected:
  StreamSessionTest() : jobs_(dataset_.roots, &indexes_) {
    LoaderOptions options;
    options.threads = 2;
    options.memory_budget_bytes = 16 << 20;
    loader_ = *Loader::Create(options);
    executor_ = std::make_unique<ThreadPool>(2, "test");
    shared_.worker_id = "me";
    shared_.loader = loader_.get();
    shared_.jobs = &jobs_;
    shared_.executor = executor_.get();
    shared_.job_wait = 50 * kMillisecond;
    jobs_.Update({{ToWatched(job_)}, {}});
  }
  ~StreamSessionTest() override { EndAll(); }

  struct Client {
    FakeStream* stream;
    StreamSession* session;
  };
  Client NewClient() {
    auto stream = std::make_shared<FakeStream>();
    const std::shared_ptr<StreamEvents> session = acceptor_.Accept(stream);
    stream->SetEvents(session);
    streams_.push_back(stream);
    sessions_.push_back(session);
    return {stream.get(), dynamic_cast<StreamSession*>(session.get())};
  }
  // All clients go, and their sessions with them.
  void EndAll() {
    for (const auto& stream : streams_) stream->Leave();
    Mutex mutex;
    CondVar changed;
    bool idle = false;
    acceptor_.WhenIdle([&] {
      MutexLock lock(&mutex);
      idle = true;
      changed.NotifyAll();
    });
    MutexLock lock(&mutex);
    while (!idle) changed.Wait(&mutex);
  }
  v1::ClientMessage OpenMessage() {
    v1::ClientMessage message;
    v1::Open* open = message.mutable_open();
    open->set_job(job_.name());
    open->set_job_uid(99);
    open->set_order_fingerprint(job_.order_fingerprint());
    open->set_pipeline_fingerprint(job_.pipeline_fingerprint());
    open->set_world_size(1);
    open->set_step_rows(8);
    return message;
  }
  v1::ClientMessage ViewMessage() {
    v1::ClientMessage message;
    v1::View* view = message.mutable_use_view()->mutable_view();
    view->set_term(1);
    view->set_number(1);
    view->set_key_space(80);
    v1::View::Worker* worker = view->add_workers();
    worker->set_id("me");
    worker->set_address("h:1");
    view->add_ranges()->set_end(80);
    return message;
  }
  static v1::ClientMessage GrantMessage(uint64_t epoch, uint64_t begin, uint64_t end) {
    v1::ClientMessage message;
    v1::Grant* grant = message.mutable_grant();
    grant->set_view_term(1);
    grant->set_view_number(1);
    grant->set_epoch(epoch);
    grant->set_begin(begin);
    grant->set_end(end);
    return message;
  }
  // Sends and waits until the session reads on (or has finished).
  static void Send(const Client& client, v1::ClientMessage message) {
    ASSERT_TRUE(client.stream->WaitUntilRead(1));
    const int reads = client.stream->reads();
    client.stream->Send(message);
    ASSERT_TRUE(client.stream->WaitUntilRead(reads + 1));
  }
  // Lets writes pass until `rows` rows have come, and returns their numbers.
  static std::vector<uint64_t> Receive(const Client& client, size_t rows) {
    for (;;) {
      std::vector<uint64_t> all;
      for (const v1::ServerHeader& header : client.stream->headers()) {
        all.insert(all.end(), header.rows().positions().begin(), header.rows().positions().end());
      }
      if (all.size() >= rows) return all;
      if (!client.stream->WaitUntilWriting()) return all;
      client.stream->Take();
    }
  }

  ServedJobs jobs_;
  std::unique_ptr<Loader> loader_;
  SessionShared shared_;
  std::unique_ptr<ThreadPool> executor_;
  SessionAcceptor acceptor_{&shared_};
  std::vector<std::shared_ptr<FakeStream>> streams_;
  std::vector<std::shared_ptr<StreamEvents>> sessions_;
};

TEST_F(StreamSessionTest, SendsEveryRowOfItsGrantsOnce) {
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  Send(client, GrantMessage(0, 0, 40));
  Send(client, GrantMessage(0, 40, 80));
  const std::vector<uint64_t> rows = Receive(client, 80);
  EXPECT_EQ(rows.size(), 80u);
  EXPECT_EQ(std::set<uint64_t>(rows.begin(), rows.end()).size(), 80u);
  EXPECT_EQ(client.stream->headers()[0].accepted().worker_id(), "me");
}

TEST_F(StreamSessionTest, WorksOffGrantsThatAreFarLargerThanWhatItAsksForAtOnce) {
  shared_.requested_rows = 4;
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  for (uint64_t epoch = 0; epoch < 20; ++epoch) Send(client, GrantMessage(epoch, 0, 80));
  EXPECT_EQ(Receive(client, 1600).size(), 1600u);
}

TEST_F(StreamSessionTest, RowsThatTheLoaderHurriesCountAsGrantedStill) {
  shared_.requested_rows = 16;
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  for (uint64_t epoch = 0; epoch < 10; ++epoch) {
    v1::ClientMessage waiting;
    waiting.mutable_waiting()->set_epoch(epoch);
    waiting.mutable_waiting()->set_begin(72);
    Send(client, waiting);  // all of the epoch's rows are urgent
    Send(client, GrantMessage(epoch, 0, 80));
    v1::ClientMessage fetch;
    fetch.mutable_fetch()->set_epoch(epoch);
    fetch.mutable_fetch()->add_positions(1);
    Send(client, fetch);
    EXPECT_EQ(Receive(client, 81 * (epoch + 1)).size(), 81 * (epoch + 1));
  }
}

TEST_F(StreamSessionTest, AFetchOvertakesWhatIsGranted) {
  const Client client = NewClient();
  Send(client, OpenMessage());  // whose answer stays in flight, so that rows gather
  Send(client, ViewMessage());
  Send(client, GrantMessage(0, 0, 80));
  v1::ClientMessage fetch;
  fetch.mutable_fetch()->add_positions(79);
  Send(client, fetch);
  ASSERT_TRUE(client.stream->WaitUntilWriting());
  while (loader_->Stats().rows < 81) {
  }
  const std::vector<uint64_t> rows = Receive(client, 81);
  EXPECT_EQ(rows[0], 79u);
}

TEST_F(StreamSessionTest, RevokedRowsAreMadeAgain) {
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  Send(client, GrantMessage(0, 0, 80));
  ASSERT_TRUE(client.stream->WaitUntilWriting());
  while (loader_->Stats().rows < 80) {
  }
  while (client.session->Revoke(1 << 20, true) == 0) {
  }
  const std::vector<uint64_t> rows = Receive(client, 80);
  EXPECT_EQ(std::set<uint64_t>(rows.begin(), rows.end()).size(), 80u);
}

TEST_F(StreamSessionTest, OpensAJobThatTheCoordinatorTellsOfALittleLater) {
  jobs_.Update({{}, {job_.name()}});
  shared_.job_wait = 3600 * kSecond;
  const Client client = NewClient();
  client.stream->Send(OpenMessage());
  jobs_.Update({{ToWatched(job_)}, {}});
  ASSERT_TRUE(client.stream->WaitUntilRead(2));
  EXPECT_FALSE(client.stream->finished());
}

TEST_F(StreamSessionTest, RefusesWhatItCannotServe) {
  const auto refusal = [&](const std::function<void(v1::Open*)>& change) {
    const Client client = NewClient();
    v1::ClientMessage message = OpenMessage();
    change(message.mutable_open());
    client.stream->Send(message);
    return client.stream->WaitUntilFinished();
  };
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_job_uid(5); }).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_job("other"); }).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_order_fingerprint(5); }).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_pipeline_fingerprint(5); }).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_world_size(3); }).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refusal([](v1::Open* o) { o->set_rank(1); }).code(), absl::StatusCode::kInvalidArgument);
  shared_.max_sessions = 0;
  const absl::Status full = refusal([](v1::Open*) {});
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()), HasSubstr("max_sessions"));
}

TEST_F(StreamSessionTest, RefusesASessionThatDoesNotFitTheBudgetWithTheNumbers) {
  LoaderOptions small;
  small.threads = 1;
  small.memory_budget_bytes = 4096;
  std::unique_ptr<Loader> loader = *Loader::Create(small);
  shared_.loader = loader.get();
  const Client client = NewClient();
  v1::ClientMessage message = OpenMessage();
  message.mutable_open()->set_step_rows(80);
  client.stream->Send(message);
  const absl::Status status = client.stream->WaitUntilFinished();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), ::testing::ContainsRegex("[0-9]+ bytes"));
}

TEST_F(StreamSessionTest, HostileMessagesEndTheStream) {
  const auto ends_with = [&](const std::vector<v1::ClientMessage>& messages) {
    const Client client = NewClient();
    for (size_t i = 0; i + 1 < messages.size(); ++i) Send(client, messages[i]);
    client.stream->Send(messages.back());
    return client.stream->WaitUntilFinished().code();
  };
  EXPECT_EQ(ends_with({GrantMessage(0, 0, 8)}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ends_with({v1::ClientMessage()}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ends_with({OpenMessage(), OpenMessage()}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ends_with({OpenMessage(), GrantMessage(0, 0, 8)}), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ends_with({OpenMessage(), ViewMessage(), GrantMessage(0, 0, 1000)}), absl::StatusCode::kInvalidArgument);
}

TEST_F(StreamSessionTest, SaysThatTheWorkerDrainsAlsoToThoseWhoComeLater) {
  const Client client = NewClient();
  client.session->SendDraining();
  Send(client, OpenMessage());
  ASSERT_TRUE(client.stream->WaitUntilWriting());
  client.stream->Take();
  ASSERT_TRUE(client.stream->WaitUntilWriting());
  const std::vector<v1::ServerHeader> headers = client.stream->headers();
  ASSERT_EQ(headers.size(), 2u);
  EXPECT_TRUE(headers[0].has_accepted());
  EXPECT_TRUE(headers[1].has_draining());
  client.stream->Take();
}

TEST_F(StreamSessionTest, AClosedStreamGivesAllMemoryBack) {
  const uint64_t before = loader_->Stats().memory_bytes;  // the threads'
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  Send(client, GrantMessage(0, 0, 80));
  ASSERT_TRUE(client.stream->WaitUntilWriting());
  EndAll();
  EXPECT_EQ(shared_.open_sessions.load(), 0u);
  EXPECT_EQ(loader_->Stats().memory_bytes, before);
}

TEST_F(StreamSessionTest, OfThoseWhoComeAtOnceNoMoreGetInThanMaxSessions) {
  shared_.max_sessions = 20;
  for (int round = 0; round < 20; ++round) {
    std::vector<Client> clients;
    for (int i = 0; i < 40; ++i) clients.push_back(NewClient());
    for (const Client& client : clients) client.stream->Send(OpenMessage());
    int refused = 0;
    for (const Client& client : clients) {
      ASSERT_TRUE(client.stream->WaitUntilRead(2));
      if (client.stream->finished()) ++refused;
    }
    ASSERT_EQ(refused, 20);
    EndAll();
    EXPECT_EQ(shared_.open_sessions.load(), 0u);
  }
}

TEST_F(StreamSessionTest, AFirstMessageThatIsNoneEndsTheStreamWithItsReason) {
  const Client client = NewClient();
  ASSERT_TRUE(client.stream->WaitUntilRead(1));
  client.stream->SendBytes("\xFF\xFF no message");
  EXPECT_EQ(client.stream->WaitUntilFinished().code(), absl::StatusCode::kInvalidArgument);
}

// ---- The same in one thread, on virtual time -----------------------------------------------------------------------

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
    EXPECT_TRUE(client.stream->writing());  // `accepted`
    return client;
  }
  static v1::ClientMessage FetchMessage(int rows) {
    v1::ClientMessage message;
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

TEST_F(SessionOnVirtualTime, AFloodOfFetchesReachesTheLoaderOnlyAsFastAsTheClientReads) {
  const Client client = Opened();
  for (int i = 0; i < 32; ++i) {
    client.stream->Send(FetchMessage(15872));
    sim_.RunFor(kMillisecond);
  }
  fake_.MakeAll();  // what was asked for
  sim_.RunFor(kSecond);
  EXPECT_FALSE(client.stream->finished());
  EXPECT_LE(fake_.requested(), shared_.fetched_rows);
  EXPECT_GT(fake_.held(), 32u * 15872u);  // the list is charged
  EXPECT_LT(fake_.held(), 3u * 32u * 15872u);
  // A client that does read gets them all.
  for (int i = 0; i < 100'000 && fake_.made() < 32u * 15872u; ++i) {
    client.stream->Take();
    sim_.RunFor(kMillisecond);
    fake_.MakeAll();
    sim_.RunFor(kMillisecond);
  }
  EXPECT_EQ(fake_.made(), 32u * 15872u);
  EXPECT_EQ(fake_.held(), 0u);
}

TEST_F(SessionOnVirtualTime, AFetchThatTheBudgetHasNoRoomForEndsTheSessionWithTheNumber) {
  const Client client = Opened();
  fake_.SetRoom(1000);
  client.stream->Send(FetchMessage(15872));
  sim_.RunFor(kMillisecond);
  ASSERT_TRUE(client.stream->finished());
  EXPECT_EQ(client.stream->status_of().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(client.stream->status_of().message()), HasSubstr("15872"));
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

// Its trainer's step is no use to a client that takes nothing.
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
  EXPECT_EQ(fake_.requested(), requested);  // not made again only to lie there
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

// Storage that hangs holds the threads that hang in it, and nobody else.
TEST_F(SessionOnVirtualTime, SessionsWhoseRowsHangHoldNoOtherUp) {
  for (int i = 0; i < 8; ++i) {
    const Client hangs = Opened();
    hangs.stream->Send(GrantMessage(0, 0, 80));
    sim_.RunFor(kMillisecond);
    hangs.stream->Leave();
  }
  sim_.RunFor(kSecond);
  EXPECT_EQ(acceptor_.sessions(), 8u);  // until the loader has let go of them
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
}  // namespace penstock
