#include "server/worker/stream/stream_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include "tests/server/worker/prepared_job.h"
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
    executor_ = std::make_unique<WorkerThreads>(2);
    shared_.worker_id = "me";
    shared_.loader = loader_.get();
    shared_.jobs = &jobs_;
    shared_.executor = executor_.get();
    shared_.job_wait = 50 * kMillisecond;
    jobs_.Update({{ToWatched(job_)}, {}});
  }
  ~StreamSessionTest() override {
    for (size_t i = 0; i < sessions_.size(); ++i) {
      sessions_[i]->OnClosed();
      while (!streams_[i]->finished()) {
        if (!streams_[i]->writing()) continue;
        streams_[i]->Sent();
        sessions_[i]->OnWriteDone(false);
      }
    }
    sessions_.clear();
    executor_.reset();
  }

  struct Client {
    FakeStream* stream;
    StreamSession* session;
  };
  Client NewClient() {
    streams_.push_back(std::make_unique<FakeStream>());
    sessions_.push_back(std::make_shared<StreamSession>(&shared_, streams_.back().get()));
    return {streams_.back().get(), sessions_.back().get()};
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
    const int reads = client.stream->reads();
    client.session->OnMessage(std::move(message));
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
      client.stream->Sent();
      client.session->OnWriteDone(true);
    }
  }

  ServedJobs jobs_;
  std::unique_ptr<Loader> loader_;
  SessionShared shared_;
  std::unique_ptr<WorkerThreads> executor_;
  std::vector<std::unique_ptr<FakeStream>> streams_;
  std::vector<std::shared_ptr<StreamSession>> sessions_;
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
  while (client.session->Revoke(1 << 20) == 0) {
  }
  const std::vector<uint64_t> rows = Receive(client, 80);
  EXPECT_EQ(std::set<uint64_t>(rows.begin(), rows.end()).size(), 80u);
}

TEST_F(StreamSessionTest, OpensAJobThatTheCoordinatorTellsOfALittleLater) {
  jobs_.Update({{}, {job_.name()}});
  shared_.job_wait = 3600 * kSecond;
  const Client client = NewClient();
  client.session->OnMessage(OpenMessage());
  jobs_.Update({{ToWatched(job_)}, {}});
  ASSERT_TRUE(client.stream->WaitUntilRead(1));
  EXPECT_FALSE(client.stream->finished());
}

TEST_F(StreamSessionTest, RefusesWhatItCannotServe) {
  const auto refusal = [&](const std::function<void(v1::Open*)>& change) {
    const Client client = NewClient();
    v1::ClientMessage message = OpenMessage();
    change(message.mutable_open());
    client.session->OnMessage(message);
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
  client.session->OnMessage(message);
  const absl::Status status = client.stream->WaitUntilFinished();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), ::testing::ContainsRegex("[0-9]+ bytes"));
}

TEST_F(StreamSessionTest, HostileMessagesEndTheStream) {
  const auto ends_with = [&](const std::vector<v1::ClientMessage>& messages) {
    const Client client = NewClient();
    for (size_t i = 0; i + 1 < messages.size(); ++i) Send(client, messages[i]);
    client.session->OnMessage(messages.back());
    while (!client.stream->finished()) {  // what is being written goes first
      if (!client.stream->writing()) continue;
      client.stream->Sent();
      client.session->OnWriteDone(true);
    }
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
  client.stream->Sent();
  client.session->OnWriteDone(true);
  const std::vector<v1::ServerHeader> headers = client.stream->headers();
  ASSERT_EQ(headers.size(), 2u);
  EXPECT_TRUE(headers[0].has_accepted());
  EXPECT_TRUE(headers[1].has_draining());
  client.stream->Sent();
  client.session->OnWriteDone(true);
}

TEST_F(StreamSessionTest, AClosedStreamGivesAllMemoryBack) {
  const uint64_t before = loader_->Stats().memory_bytes;  // the threads'
  const Client client = NewClient();
  Send(client, OpenMessage());
  Send(client, ViewMessage());
  Send(client, GrantMessage(0, 0, 80));
  ASSERT_TRUE(client.stream->WaitUntilWriting());
  client.session->OnClosed();
  client.stream->Sent();
  client.session->OnWriteDone(false);
  EXPECT_TRUE(client.stream->WaitUntilFinished().ok());
  executor_.reset();  // runs what is left
  EXPECT_EQ(shared_.open_sessions.load(), 0u);
  EXPECT_EQ(loader_->Stats().memory_bytes, before);
  sessions_.clear();
  streams_.clear();
}

}  // namespace
}  // namespace penstock
