#include "transport/grpc/grpc_transport.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/runtime/thread_pool.h"
#include "net/channel.h"
#include "penstock/v1/data.grpc.pb.h"
#include "tests/transport/contract_test.h"
#include "transport/grpc/grpc_acceptor.h"
#include "transport/peer.h"

namespace penstock::transport {
namespace {

// A worker with gRPC's own server API: reads messages until the stream ends.
class Worker final : public v1::Worker::Service {
 public:
  grpc::Status Stream(grpc::ServerContext*,
                      grpc::ServerReaderWriter<v1::ServerHeader, v1::ClientMessage>* stream) override {
    v1::ClientMessage message;
    while (stream->Read(&message)) {
      v1::ServerHeader reply;
      reply.mutable_accepted()->set_worker_id(std::to_string(message.grant().begin()));
      if (!stream->Write(reply)) break;
      MutexLock lock(&mutex_);
      begins_.push_back(message.grant().begin());
      changed_.NotifyAll();
    }
    return grpc::Status::OK;
  }

  // Waits for `count` messages, and returns the numbers of all received ones.
  std::vector<uint64_t> WaitForBegins(size_t count) {
    MutexLock lock(&mutex_);
    while (begins_.size() < count) changed_.Wait(&mutex_);
    return begins_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<uint64_t> begins_ ABSL_GUARDED_BY(mutex_);
};

// Writes the given messages in order, and reads all replies.
class Client final : public StreamEvents {
 public:
  void OnMessage(SliceList message) override {
    std::shared_ptr<MessageStream> stream;
    {
      MutexLock lock(&mutex_);
      v1::ServerHeader reply;
      EXPECT_TRUE(reply.ParseFromString(message.Joined()));
      replies_.push_back(reply.accepted().worker_id());
      changed_.NotifyAll();
      stream = stream_;
    }
    if (stream != nullptr) stream->StartRead();
  }
  void OnWritten() override {
    std::shared_ptr<MessageStream> stream;
    SliceList next;
    {
      MutexLock lock(&mutex_);
      writing_ = !queue_.empty();
      if (!writing_) return;
      next = std::move(queue_.front());
      queue_.pop_front();
      stream = stream_;
    }
    if (stream != nullptr) stream->StartWrite(std::move(next));
  }
  void OnClosed(const absl::Status& status) override {
    MutexLock lock(&mutex_);
    EXPECT_FALSE(closed_) << "closed twice";
    closed_ = true;
    status_ = status;
    stream_ = nullptr;
    changed_.NotifyAll();
  }

  void Begin(std::shared_ptr<MessageStream> stream) {
    {
      MutexLock lock(&mutex_);
      if (!closed_) stream_ = stream;
    }
    stream->StartRead();
  }
  void Send(uint64_t number) {
    v1::ClientMessage message;
    message.mutable_grant()->set_begin(number);
    SliceList bytes({Slice::Of(message.SerializeAsString())});
    std::shared_ptr<MessageStream> stream;
    {
      MutexLock lock(&mutex_);
      if (std::exchange(writing_, true)) {
        queue_.push_back(std::move(bytes));
        return;
      }
      stream = stream_;
    }
    if (stream != nullptr) stream->StartWrite(std::move(bytes));
  }
  void Close() {
    std::shared_ptr<MessageStream> stream;
    {
      MutexLock lock(&mutex_);
      stream = stream_;
    }
    if (stream != nullptr) stream->Close(absl::OkStatus());
  }
  absl::Status WaitForEnd() {
    MutexLock lock(&mutex_);
    while (!closed_) changed_.Wait(&mutex_);
    return status_;
  }
  std::vector<std::string> WaitForReplies(size_t count) {
    MutexLock lock(&mutex_);
    while (replies_.size() < count) changed_.Wait(&mutex_);
    return replies_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<MessageStream> stream_ ABSL_GUARDED_BY(mutex_);
  std::deque<SliceList> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> replies_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

class GrpcTransportTest : public testing::Test {
 protected:
  // Starts worker_, which lives as long as the test, and returns its address.
  std::string Serve() {
    auto server = net::StartServer({"127.0.0.1", 0}, {&worker_});
    EXPECT_TRUE(server.ok()) << server.status();
    running_ = *std::move(server);
    return running_.address.ToString();
  }
  std::shared_ptr<Client> Connect(const std::string& address) {
    auto client = std::make_shared<Client>();
    client->Begin(transport_.Connect(address, client));
    return client;
  }

  GrpcTransport transport_;
  Worker worker_;  // must outlive the server
  net::RunningServer running_;
};

TEST_F(GrpcTransportTest, MessagesGoBothWaysInOrder) {
  const auto client = Connect(Serve());
  std::vector<uint64_t> sent;
  std::vector<std::string> replies;
  for (uint64_t i = 0; i < 500; ++i) {
    client->Send(i);
    sent.push_back(i);
    replies.push_back(std::to_string(i));
  }
  EXPECT_EQ(worker_.WaitForBegins(500), sent);
  EXPECT_EQ(client->WaitForReplies(500), replies);
  client->Close();
  EXPECT_EQ(client->WaitForEnd().code(), absl::StatusCode::kCancelled);
}

// Either side may end a stream, before or after its start. It closes once, and nothing touches it afterwards.
TEST_F(GrpcTransportTest, StreamsThatEndAtAnyMomentCloseOnce) {
  const std::string somebody = Serve(), nobody = "127.0.0.1:1";
  std::vector<std::shared_ptr<Client>> clients;
  for (uint64_t i = 0; i < 300; ++i) {
    clients.push_back(Connect(i % 3 == 0 ? nobody : somebody));
    clients.back()->Send(i);
    if (i % 3 == 2) worker_.WaitForBegins(i / 3);
    clients.back()->Close();
    clients.back()->Send(i);
  }
  for (const auto& client : clients) EXPECT_FALSE(client->WaitForEnd().ok());
}

TEST_F(GrpcTransportTest, AnAddressWithoutAWorkerIsUnavailable) {
  EXPECT_EQ(Connect("127.0.0.1:1")->WaitForEnd().code(), absl::StatusCode::kUnavailable);
}

class Grpc final : public Carrier {
 public:
  explicit Grpc(const LaneOffer& offer = {}, const LaneOptions& lanes = {}) : transport_(offer), lanes_(lanes) {}
  ~Grpc() override {
    if (running_.server != nullptr) running_.Shutdown();
  }
  Transport* transport() override { return &transport_; }
  std::string Listen(StreamAcceptor* acceptor) override {
    service_ = MakeGrpcStreamService(acceptor, &timers_, lanes_);
    auto running = net::StartServer({"127.0.0.1", 0}, {service_.get()});
    EXPECT_TRUE(running.ok()) << running.status();
    running_ = *std::move(running);
    return running_.address.ToString();
  }
  std::string Nowhere() override { return "127.0.0.1:1"; }
  Peer::Kind peer_kind() override { return Peer::Kind::kNetwork; }
  bool Await(const std::function<bool()>& done) override { return AwaitRealTime(done); }

 private:
  GrpcTransport transport_;
  const LaneOptions lanes_;
  ThreadPool timers_{1, "test"};
  std::unique_ptr<grpc::Service> service_;  // must outlive the server
  net::RunningServer running_;
};

std::unique_ptr<Carrier> MakeGrpc() { return std::make_unique<Grpc>(); }

// Adds a lane with each message, and uses all lanes at once.
std::unique_ptr<Carrier> MakeLanes() {
  LaneOptions lanes;
  lanes.most = kMostLanes;
  lanes.all = true;
  return std::make_unique<Grpc>(LaneOffer{0, 0}, lanes);
}

// A client that offers lanes to a worker that accepts none.
std::unique_ptr<Carrier> MakeOneLane() {
  LaneOptions lanes;
  lanes.most = 1;
  return std::make_unique<Grpc>(LaneOffer{0, 0}, lanes);
}

INSTANTIATE_TEST_SUITE_P(Grpc, CarrierContract, ::testing::Values(&MakeGrpc));
INSTANTIATE_TEST_SUITE_P(GrpcLanes, CarrierContract, ::testing::Values(&MakeLanes));
INSTANTIATE_TEST_SUITE_P(GrpcOneLane, CarrierContract, ::testing::Values(&MakeOneLane));

}  // namespace
}  // namespace penstock::transport
