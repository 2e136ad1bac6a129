// A worker's sessions under test. The test holds the other end of each stream.
#ifndef PENSTOCK_TESTS_SERVER_WORKER_STREAM_STREAM_SESSION_TESTING_H_
#define PENSTOCK_TESTS_SERVER_WORKER_STREAM_STREAM_SESSION_TESTING_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/thread_pool.h"
#include "base/version.h"
#include "net/protocols_proto.h"
#include "server/worker/stream/session_acceptor.h"
#include "server/worker/stream/stream_session.h"
#include "tests/server/worker/prepared_job.h"
#include "tests/server/worker/stream/fake_stream.h"
#include "tests/support/job_parts.h"

namespace penstock::worker {

// Has its own loader and threads.
class StreamSessionTest : public PreparedJobTest {
 protected:
  StreamSessionTest() : jobs_(storage::LocalFiles(), dataset_.roots, &indexes_) {
    loader::LoaderOptions options;
    options.threads = 2;
    options.memory_budget_bytes = 16 << 20;
    loader_ = *loader::Loader::Create(options);
    executor_ = std::make_unique<ThreadPool>(2, "test");
    shared_.worker_id = "me";
    shared_.loader = loader_.get();
    shared_.jobs = &jobs_;
    shared_.executor = executor_.get();
    shared_.job_wait = 50 * kMillisecond;
    jobs_.Update({{support::ToWatched(job_)}, {}});
  }
  ~StreamSessionTest() override { EndAll(); }

  struct Client {
    FakeStream* stream;
    StreamSession* session;
  };
  Client NewClient() {
    auto stream = std::make_shared<FakeStream>();
    const std::shared_ptr<transport::StreamEvents> session = acceptor_.Accept(stream);
    stream->SetEvents(session);
    streams_.push_back(stream);
    sessions_.push_back(session);
    return {stream.get(), dynamic_cast<StreamSession*>(session.get())};
  }
  // All clients leave, which ends their sessions.
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
    *open->mutable_protocols() = net::ToProto(kProtocols);
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
  // Sends, and waits until the session reads the next message (or has finished).
  static void Send(const Client& client, v1::ClientMessage message) {
    ASSERT_TRUE(client.stream->WaitUntilRead(1));
    const int reads = client.stream->reads();
    client.stream->Send(message);
    ASSERT_TRUE(client.stream->WaitUntilRead(reads + 1));
  }
  // Accepts writes until `rows` rows have arrived, and returns their numbers.
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
  std::unique_ptr<loader::Loader> loader_;
  SessionShared shared_;
  std::unique_ptr<ThreadPool> executor_;
  SessionAcceptor acceptor_{&shared_};
  std::vector<std::shared_ptr<FakeStream>> streams_;
  std::vector<std::shared_ptr<transport::StreamEvents>> sessions_;
};

}  // namespace penstock::worker

#endif  // PENSTOCK_TESTS_SERVER_WORKER_STREAM_STREAM_SESSION_TESTING_H_
