#include "net/coordinator_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "net/channel.h"

namespace penstock::net {
namespace {

using Rpcs = CoordinatorCalls::Rpcs;
constexpr absl::Duration kLongTimeout = absl::Seconds(60);

// Answers GetStatus, rejects Drain, and answers no Watch.
class AnsweringService final : public v1::Coordinator::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const v1::StatusRequest*,
                                      v1::StatusReply*) override {
    ++calls;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context, const v1::DrainRequest*,
                                  v1::DrainReply*) override {
    ++calls;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "no such worker"));
    return reactor;
  }
  grpc::ServerUnaryReactor* Watch(grpc::CallbackServerContext*, const v1::WatchRequest*, v1::WatchReply*) override {
    class Silent final : public grpc::ServerUnaryReactor {
      void OnCancel() override { Finish(grpc::Status::CANCELLED); }
      void OnDone() override { delete this; }
    };
    MutexLock lock(&mutex);
    watched = true;
    changed.NotifyAll();
    return new Silent;
  }
  void AwaitWatch() {
    MutexLock lock(&mutex);
    while (!watched) changed.Wait(&mutex);
  }

  std::atomic<int> calls = 0;
  Mutex mutex;
  CondVar changed;
  bool watched ABSL_GUARDED_BY(mutex) = false;
};

class CoordinatorCallsTest : public ::testing::Test {
 protected:
  static std::string Serve(AnsweringService* service, RunningServer* running) {
    absl::StatusOr<RunningServer> server = StartServer({"127.0.0.1", 0}, {service});
    EXPECT_TRUE(server.ok()) << server.status();
    *running = *std::move(server);
    return running->address.ToString();
  }
  // Returns an address without a listener.
  static std::string Unused() {
    AnsweringService service;
    RunningServer running;
    return Serve(&service, &running);
  }
  static absl::Status Status(CoordinatorCalls& calls) {
    return calls.Wait(&Rpcs::GetStatus, v1::StatusRequest(), kLongTimeout).status();
  }
  static std::future<absl::Status> Watch(CoordinatorCalls& calls) {
    auto ended = std::make_shared<std::promise<absl::Status>>();
    calls.Start(&Rpcs::Watch, v1::WatchRequest(), kLongTimeout,
                [ended](const absl::StatusOr<v1::WatchReply>& reply) { ended->set_value(reply.status()); });
    return ended->get_future();
  }

  AnsweringService service_;
  RunningServer running_;
  const std::string address_ = Serve(&service_, &running_);
};

TEST_F(CoordinatorCallsTest, TriesTheNextAddressAfterUnavailableAndRemembersTheOneThatReplied) {
  AnsweringService other;
  RunningServer running;
  const std::string second = Serve(&other, &running);
  CoordinatorCalls calls({Unused(), second, address_});
  EXPECT_TRUE(Status(calls).ok());
  EXPECT_TRUE(Status(calls).ok());
  EXPECT_EQ(other.calls, 2);
  running.Shutdown();
  running.server->Wait();
  EXPECT_TRUE(Status(calls).ok());
  EXPECT_EQ(service_.calls, 1);
}

TEST_F(CoordinatorCallsTest, ReturnsTheErrorOfTheLastAddressIfEachIsUnavailable) {
  const std::string last = Unused();
  CoordinatorCalls calls({Unused(), last});
  const absl::Status error = Status(calls);
  EXPECT_TRUE(absl::IsUnavailable(error)) << error;
  EXPECT_EQ(error.message().find("coordinator " + last + ": "), 0u) << error;
}

TEST_F(CoordinatorCallsTest, RepeatsNoOtherError) {
  AnsweringService other;
  RunningServer running;
  CoordinatorCalls calls({address_, Serve(&other, &running)});
  const absl::Status error = calls.Wait(&Rpcs::Drain, v1::DrainRequest(), kLongTimeout).status();
  EXPECT_EQ(error, absl::NotFoundError("coordinator " + address_ + ": no such worker"));
  EXPECT_EQ(other.calls, 0);
}

TEST_F(CoordinatorCallsTest, CancelEndsTheCallsInFlightOnly) {
  CoordinatorCalls calls({address_, address_});
  std::future<absl::Status> watch = Watch(calls);
  service_.AwaitWatch();
  calls.Cancel();
  EXPECT_TRUE(absl::IsCancelled(watch.get()));
  EXPECT_TRUE(Status(calls).ok());
}

TEST_F(CoordinatorCallsTest, StopEndsAllCalls) {
  CoordinatorCalls calls({address_});
  std::future<absl::Status> watch = Watch(calls);
  calls.Stop(absl::CancelledError("the caller has stopped"));
  ASSERT_EQ(watch.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_TRUE(absl::IsCancelled(watch.get()));
  EXPECT_EQ(Status(calls), absl::CancelledError("the caller has stopped"));
}

TEST_F(CoordinatorCallsTest, ACallEndsAtItsDeadline) {
  CoordinatorCalls calls({address_});
  const absl::Status error = calls.Wait(&Rpcs::Watch, v1::WatchRequest(), absl::Milliseconds(20)).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(error)) << error;
}

TEST_F(CoordinatorCallsTest, DoneMayDestroyTheObject) {
  auto calls = std::make_shared<CoordinatorCalls>(std::vector<std::string>{address_});
  std::promise<void> ended;
  CoordinatorCalls* const raw = calls.get();
  raw->Start(&Rpcs::GetStatus, v1::StatusRequest(), kLongTimeout,
             [&ended, calls = std::move(calls)](const absl::StatusOr<v1::StatusReply>&) mutable {
               calls.reset();
               ended.set_value();
             });
  ended.get_future().wait();
}

}  // namespace
}  // namespace penstock::net
