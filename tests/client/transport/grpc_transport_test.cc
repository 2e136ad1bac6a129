#include "client/transport/grpc_transport.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/channel.h"
#include "penstock/v1/data.grpc.pb.h"

namespace penstock {
namespace {

constexpr size_t kMiB = 1 << 20;

// After the first message sends `replies` of a MiB each, and then takes messages until there are no more.
class Worker final : public v1::Worker::Service {
 public:
  explicit Worker(int replies) : replies_(replies) {}

  grpc::Status Stream(grpc::ServerContext*,
                      grpc::ServerReaderWriter<v1::ServerHeader, v1::ClientMessage>* stream) override {
    v1::ServerHeader reply;
    reply.mutable_accepted()->set_worker_id(std::string(kMiB, 'w'));
    v1::ClientMessage message;
    while (stream->Read(&message)) {
      if (message.grant().begin() == 0) {
        for (int i = 0; i < replies_; ++i) {
          if (!stream->Write(reply)) return grpc::Status::OK;  // cancelled
        }
      }
      MutexLock lock(&mutex_);
      begins_.push_back(message.grant().begin());
      changed_.NotifyAll();
    }
    return grpc::Status::OK;
  }

  // The numbers of the messages that came, once there are so many.
  std::vector<uint64_t> WaitForBegins(size_t count) {
    MutexLock lock(&mutex_);
    while (begins_.size() < count) changed_.Wait(&mutex_);
    return begins_;
  }

 private:
  const int replies_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<uint64_t> begins_ ABSL_GUARDED_BY(mutex_);
};

class Events final : public StreamEvents {
 public:
  void OnMessage(uint64_t, grpc::ByteBuffer message) override {
    MutexLock lock(&mutex_);
    sizes_.push_back(message.Length());
    changed_.NotifyAll();
  }
  void OnClosed(uint64_t stream, const absl::Status& status) override {
    MutexLock lock(&mutex_);
    EXPECT_TRUE(closed_.emplace(stream, status).second) << "closed twice";
    changed_.NotifyAll();
  }

  absl::Status WaitForEnd(uint64_t stream) {
    MutexLock lock(&mutex_);
    while (closed_.count(stream) == 0) changed_.Wait(&mutex_);
    return closed_[stream];
  }
  // The sizes of the messages that came, once there are so many.
  std::vector<size_t> WaitForMessages(size_t count) {
    MutexLock lock(&mutex_);
    while (sizes_.size() < count) changed_.Wait(&mutex_);
    return sizes_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::map<uint64_t, absl::Status> closed_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> sizes_ ABSL_GUARDED_BY(mutex_);
};

v1::ClientMessage Message(uint64_t number) {
  v1::ClientMessage message;
  message.mutable_grant()->set_begin(number);
  return message;
}

class GrpcTransportTest : public testing::Test {
 protected:
  // Starts worker_, which lives as long as the test, and gives its address.
  std::string Serve(int replies) {
    worker_ = std::make_unique<Worker>(replies);
    auto server = StartServer({"127.0.0.1", 0}, {worker_.get()});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = std::move(server->server);
    return server->address.ToString();
  }

  const std::shared_ptr<Events> events_ = std::make_shared<Events>();
  GrpcTransport transport_;
  std::unique_ptr<Worker> worker_;  // outlives the server
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(GrpcTransportTest, MessagesArriveInTheOrderInWhichTheyAreSent) {
  auto stream = transport_.Open(7, Serve(1), events_);
  std::vector<uint64_t> sent;
  for (uint64_t i = 0; i < 500; ++i) {
    stream->Send(Message(i));
    sent.push_back(i);
  }
  EXPECT_EQ(worker_->WaitForBegins(500), sent);
  EXPECT_GT(events_->WaitForMessages(1)[0], kMiB);
  stream->Cancel();
  EXPECT_EQ(events_->WaitForEnd(7).code(), absl::StatusCode::kCancelled);
}

TEST_F(GrpcTransportTest, NoMoreIsReadThanTheReceiverConsumes) {
  constexpr size_t kReplies = 100;
  auto stream = transport_.Open(7, Serve(kReplies), events_);
  stream->Send(Message(0));
  size_t consumed = 0, bytes = 0;
  for (size_t wanted = 1; wanted <= kReplies; ++wanted) {
    const std::vector<size_t> sizes = events_->WaitForMessages(wanted);
    bytes = 0;
    for (size_t i = consumed; i < sizes.size(); ++i) bytes += sizes[i];
    EXPECT_LE(bytes, WorkerStream::kMaxBacklogBytes + sizes[0]) << "after " << consumed;
    if (bytes <= WorkerStream::kMaxBacklogBytes) continue;  // let it grow to the limit
    while (consumed < sizes.size()) stream->Consumed(sizes[consumed++]);
  }
  EXPECT_GT(consumed, kReplies / 2);
  stream->Cancel();
  EXPECT_FALSE(events_->WaitForEnd(7).ok());
}

// Whoever ends a stream, and whether it has begun: it closes once, and nothing of it is touched afterwards.
TEST_F(GrpcTransportTest, StreamsThatEndAtAnyMomentCloseOnce) {
  const std::string somebody = Serve(0), nobody = "127.0.0.1:1";
  constexpr uint64_t kStreams = 300;
  for (uint64_t i = 0; i < kStreams; ++i) {
    auto stream = transport_.Open(i, i % 3 == 0 ? nobody : somebody, events_);
    stream->Send(Message(1 + i));
    if (i % 3 == 2) worker_->WaitForBegins(i / 3);
    stream->Cancel();
    stream->Send(Message(1 + i));
    stream->Consumed(0);
  }
  for (uint64_t i = 0; i < kStreams; ++i) EXPECT_FALSE(events_->WaitForEnd(i).ok()) << i;
}

TEST_F(GrpcTransportTest, AWorkerThatIsNotThereIsUnavailable) {
  auto stream = transport_.Open(7, "127.0.0.1:1", events_);
  EXPECT_EQ(events_->WaitForEnd(7).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace penstock
