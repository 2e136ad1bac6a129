#include "net/channel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "base/mutex.h"
#include "net/grpc_status.h"
#include "penstock/v1/control.grpc.pb.h"

namespace penstock::net {
namespace {

const Address kAnyPort{"127.0.0.1", 0};

// Answers with a blob of the requested length, and records the callers.
class IndexService : public v1::Coordinator::Service {
 public:
  grpc::Status GetIndex(grpc::ServerContext* context, const v1::GetIndexRequest* request,
                        v1::GetIndexReply* reply) override {
    {
      MutexLock lock(&mutex_);
      peers_.insert(context->peer());
    }
    reply->mutable_blob()->assign(request->content_hash(), 'x');
    return grpc::Status::OK;
  }
  size_t peers() {
    MutexLock lock(&mutex_);
    return peers_.size();
  }

 private:
  Mutex mutex_;
  std::set<std::string> peers_ ABSL_GUARDED_BY(mutex_);
};

// Never answers a watch, and reports its cancellation.
class SilentService : public v1::Coordinator::CallbackService {
 public:
  grpc::ServerUnaryReactor* Watch(grpc::CallbackServerContext*, const v1::WatchRequest*, v1::WatchReply*) override {
    return new Held(this);
  }
  void WaitUntilCancelled() {
    MutexLock lock(&mutex_);
    while (!cancelled_) changed_.Wait(&mutex_);
  }

 private:
  class Held final : public grpc::ServerUnaryReactor {
   public:
    explicit Held(SilentService* service) : service_(service) {}
    void OnCancel() override {
      {
        MutexLock lock(&service_->mutex_);
        service_->cancelled_ = true;
        service_->changed_.NotifyAll();
      }
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    SilentService* const service_;
  };

  Mutex mutex_;
  CondVar changed_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<size_t> GetBlob(const std::shared_ptr<grpc::Channel>& channel, uint64_t bytes,
                               absl::Duration timeout = absl::Seconds(20)) {
  grpc::ClientContext context;
  PrepareCall(&context, timeout);
  context.set_wait_for_ready(true);
  v1::GetIndexRequest request;
  request.set_content_hash(bytes);
  v1::GetIndexReply reply;
  const grpc::Status status = v1::Coordinator::NewStub(channel)->GetIndex(&context, request, &reply);
  if (!status.ok()) return FromGrpc(status);
  return reply.blob().size();
}

TEST(StartServer, TellsThePortItBound) {
  IndexService service;
  const auto server = StartServer(kAnyPort, {&service});
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_NE(server->address.port, 0);
  EXPECT_EQ(*GetBlob(MakeChannel(server->address.ToString()), 10), 10u);
}

TEST(StartServer, SaysThatAPortIsBusy) {
  IndexService one, two;
  const auto first = StartServer(kAnyPort, {&one});
  ASSERT_TRUE(first.ok());
  const auto second = StartServer(first->address, {&two});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  const std::string message(second.status().message());
  EXPECT_NE(message.find(first->address.ToString()), std::string::npos) << message;
  EXPECT_NE(message.find("another process"), std::string::npos) << message;
}

TEST(StartServer, SaysThatAnAddressIsNotHere) {
  IndexService service;
  const auto server = StartServer({"192.0.2.1", 0}, {&service});  // TEST-NET-1: no machine has it
  ASSERT_FALSE(server.ok());
  EXPECT_NE(server.status().message().find("192.0.2.1"), absl::string_view::npos);
}

TEST(Channel, TakesMessagesUpToTheLimitAndNoFurther) {
  IndexService service;
  const auto server = StartServer(kAnyPort, {&service});
  ASSERT_TRUE(server.ok());
  const auto channel = MakeChannel(server->address.ToString());
  EXPECT_EQ(*GetBlob(channel, 16 << 20), size_t{16} << 20);
  EXPECT_EQ(GetBlob(channel, kMaxMessageBytes + 1).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Channel, HasAConnectionOfItsOwn) {
  IndexService service;
  const auto server = StartServer(kAnyPort, {&service});
  ASSERT_TRUE(server.ok());
  const auto one = MakeChannel(server->address.ToString());
  const auto two = MakeChannel(server->address.ToString());
  ASSERT_TRUE(GetBlob(one, 1).ok());
  ASSERT_TRUE(GetBlob(two, 1).ok());
  ASSERT_TRUE(GetBlob(one, 1).ok());
  EXPECT_EQ(service.peers(), 2u);
}

TEST(Channel, IgnoresProxies) {
  setenv("http_proxy", "http://127.0.0.1:1", 1);
  IndexService service;
  const auto server = StartServer(kAnyPort, {&service});
  ASSERT_TRUE(server.ok());
  EXPECT_TRUE(GetBlob(MakeChannel(server->address.ToString()), 1).ok());
  unsetenv("http_proxy");
}

// The server has no timers of its own for calls.
TEST(Channel, ACallWhoseDeadlineHasPassedIsCancelledAtTheServer) {
  SilentService service;
  const auto server = StartServer(kAnyPort, {&service});
  ASSERT_TRUE(server.ok());
  grpc::ClientContext context;
  PrepareCall(&context, absl::Milliseconds(100));
  v1::WatchReply reply;
  const auto stub = v1::Coordinator::NewStub(MakeChannel(server->address.ToString()));
  EXPECT_EQ(stub->Watch(&context, v1::WatchRequest(), &reply).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  service.WaitUntilCancelled();
}

TEST(Channel, ComesBackSoonAfterTheServerDoes) {
  IndexService service;
  auto server = StartServer(kAnyPort, {&service});
  ASSERT_TRUE(server.ok());
  const Address address = server->address;
  const auto channel = MakeChannel(address.ToString());
  ASSERT_TRUE(GetBlob(channel, 1).ok());
  server->Shutdown();
  server->server.reset();
  // Long enough for a growing backoff to exceed the limit below.
  EXPECT_EQ(GetBlob(channel, 1, absl::Seconds(2)).status().code(), absl::StatusCode::kDeadlineExceeded);

  auto again = StartServer(address, {&service});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(GetBlob(channel, 1, absl::Seconds(1.5)).ok());
}

}  // namespace
}  // namespace penstock::net
