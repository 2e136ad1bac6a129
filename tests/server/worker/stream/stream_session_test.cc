#include "server/worker/stream/stream_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>

#include "tests/server/worker/stream/stream_session_testing.h"
#include "tests/support/job_parts.h"

namespace penstock::worker {
namespace {

using ::testing::HasSubstr;

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
  shared_.ahead.rows = 4;
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  for (uint64_t epoch = 0; epoch < 20; ++epoch) Send(client, GrantMessage(epoch, 0, 80));
  EXPECT_EQ(Receive(client, 1600).size(), 1600u);
}

TEST_F(StreamSessionTest, RowsThatTheLoaderHurriesCountAsGrantedStill) {
  shared_.ahead.rows = 16;
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  for (uint64_t epoch = 0; epoch < 10; ++epoch) {
    v1::ClientMessage waiting;
    waiting.mutable_waiting()->set_epoch(epoch);
    waiting.mutable_waiting()->set_begin(72);
    Send(client, waiting);  // makes all rows of the epoch urgent
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
  Send(client, OpenMessage());  // its answer stays in flight, so that rows gather
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
  jobs_.Update({{support::ToWatched(job_)}, {}});
  ASSERT_TRUE(client.stream->WaitUntilRead(2));
  EXPECT_FALSE(client.stream->finished());
}

TEST_F(StreamSessionTest, TheLoaderKnowsOfAReaderThatComesBackForAnotherEpoch) {
  for (const bool comes_back : {false, true}) {
    const Client client = NewClient();
    v1::ClientMessage message = OpenMessage();
    message.mutable_open()->set_end_epoch(comes_back ? 2 : 1);
    Send(client, message);
    const loader::CacheUse use = loader_->TakeCacheUse();
    ASSERT_EQ(use.jobs.size(), 1u);
    EXPECT_EQ(use.jobs[0].read_again, comes_back);
  }
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
  const server::Rejections::Counts counts = shared_.rejections->Get();
  EXPECT_EQ(counts[static_cast<size_t>(server::RejectionReason::kLimit)], 1u);
  EXPECT_EQ(counts[static_cast<size_t>(server::RejectionReason::kOther)], 6u);
  EXPECT_EQ(shared_.failed_streams.load(), 0u) << "they never opened";
}

TEST_F(StreamSessionTest, RefusesASessionThatDoesNotFitTheBudgetWithTheNumbers) {
  loader::LoaderOptions small;
  small.threads = 1;
  small.memory_budget_bytes = 4096;
  std::unique_ptr<loader::Loader> loader = *loader::Loader::Create(small);
  shared_.loader = loader.get();
  const Client client = NewClient();
  v1::ClientMessage message = OpenMessage();
  message.mutable_open()->set_step_rows(80);
  client.stream->Send(message);
  const absl::Status status = client.stream->WaitUntilFinished();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), ::testing::ContainsRegex("[0-9]+ bytes"));
}

TEST_F(StreamSessionTest, AcceptsTheHighestCommonProtocolAndNamesBothRangesWithoutOne) {
  v1::ClientMessage message = OpenMessage();
  message.mutable_open()->mutable_protocols()->set_newest(1001);
  const Client newer = NewClient();
  Send(newer, message);
  ASSERT_TRUE(newer.stream->WaitUntilWriting());
  EXPECT_EQ(newer.stream->headers()[0].accepted().protocol(), kProtocols.newest);
  newer.stream->Take();

  message.mutable_open()->set_version("9.9.9");
  message.mutable_open()->mutable_protocols()->set_oldest(1000);
  const Client stranger = NewClient();
  stranger.stream->Send(message);
  const absl::Status status = stranger.stream->WaitUntilFinished();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("this client is penstock 9.9.9 with protocol 1000 to 1001"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("with protocol " + kProtocols.ToString()));

  message.mutable_open()->clear_protocols();
  const Client old = NewClient();
  old.stream->Send(message);
  EXPECT_EQ(old.stream->WaitUntilFinished().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(shared_.rejections->Get()[static_cast<size_t>(server::RejectionReason::kProtocol)], 2u);
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
  EXPECT_EQ(shared_.rejections->Get()[static_cast<size_t>(server::RejectionReason::kOther)], 5u);
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
  const uint64_t before = loader_->Stats().memory_bytes;  // memory of the threads
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

}  // namespace
}  // namespace penstock::worker
