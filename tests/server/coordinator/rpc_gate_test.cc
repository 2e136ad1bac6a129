// Every RPC of the proto files, called over real gRPC under a rule.
#include "server/common/rpc_gate.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/runtime/thread_pool.h"
#include "base/version.h"
#include "net/channel.h"
#include "net/coordinator_calls.h"
#include "penstock/v1/control.grpc.pb.h"
#include "penstock/v1/data.pb.h"
#include "server/coordinator/service/coordinator.h"
#include "tests/server/coordinator/raw_call.h"
#include "transport/grpc/grpc_acceptor.h"
#include "transport/message_stream.h"
#include "transport/peer.h"

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;

// Returns "service/method" of each RPC.
std::set<std::string> DeclaredRpcs() {
  std::set<std::string> rpcs;
  for (const google::protobuf::FileDescriptor* file :
       {v1::SubmitRequest::descriptor()->file(), v1::ClientMessage::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor* const service = file->service(i);
      for (int k = 0; k < service->method_count(); ++k) {
        rpcs.insert(absl::StrCat(service->full_name(), "/", service->method(k)->name()));
      }
    }
  }
  return rpcs;
}

TEST(RpcTableTest, HasOneLineForEachRpc) {
  std::multiset<std::string> lines;
  for (const server::RpcLine& line : server::RpcTable()) {
    lines.emplace(line.method);
    EXPECT_NE(line.callers, 0u) << line.method;
  }
  const std::set<std::string> declared = DeclaredRpcs();
  EXPECT_EQ(lines, std::multiset<std::string>(declared.begin(), declared.end()));
}

class RpcGateTest : public ::testing::Test {
 protected:
  RpcGateTest() {
    const server::RpcRule rule = [this](const server::RpcLine& line, std::string_view, const transport::Peer* peer) {
      MutexLock lock(&mutex_);
      seen_.emplace_back(line.method);
      EXPECT_EQ(peer->kind, transport::Peer::Kind::kNetwork);
      EXPECT_EQ(peer->address.find("127.0.0.1:"), 0u) << peer->address;
      return rejects_ ? absl::PermissionDeniedError("no call is allowed") : absl::OkStatus();
    };
    const auto record = [this](const transport::Peer& peer, std::string_view call, std::string_view object,
                               const absl::Status& outcome) {
      EXPECT_EQ(peer.Host(), "127.0.0.1");
      MutexLock lock(&mutex_);
      recorded_.push_back(
          absl::StrCat(std::string(call), " ", std::string(object), " ", absl::StatusCodeToString(outcome.code())));
    };
    state_dir_ = (std::filesystem::path(::testing::TempDir()) / absl::StrCat("rpc_gate_", getpid())).string();
    CoordinatorOptions options;
    options.listen = "127.0.0.1:0";
    options.state_dir = state_dir_;
    options.rule = rule;
    options.record_call = record;
    absl::StatusOr<std::unique_ptr<Coordinator>> coordinator = Coordinator::Start(options);
    EXPECT_TRUE(coordinator.ok()) << coordinator.status();
    coordinator_ = *std::move(coordinator);
    service_ = transport::MakeGrpcStreamService(
        &acceptor_, &executor_, {},
        server::RpcGate(rule, rejections_, nullptr, record).ForStreams(server::Rpc::kStream));
    net::ServerOptions rows;
    rows.use = net::ChannelUse::kRows;
    absl::StatusOr<net::RunningServer> worker = net::StartServer({"127.0.0.1", 0}, {service_.get()}, std::move(rows));
    EXPECT_TRUE(worker.ok()) << worker.status();
    worker_ = *std::move(worker);
  }
  ~RpcGateTest() override {
    worker_.Shutdown();
    worker_.server->Wait();
    coordinator_.reset();
    std::filesystem::remove_all(state_dir_);
  }

  // Sends one message and returns the call's status. A stream ends with the message. `range`: the caller's protocols in
  // place of this release's; "": none.
  grpc::Status Call(const std::string& method, const std::string& message,
                    const std::optional<std::string>& range = std::nullopt) {
    grpc::ClientContext context;
    if (!range.has_value()) {
      net::PrepareCall(&context, absl::Seconds(60));
    } else if (!range->empty()) {
      context.AddMetadata("penstock-release", "9.9.9");
      context.AddMetadata("penstock-protocols", *range);
    }
    return RawCall(IsOfWorker(method) ? worker_.address.ToString() : coordinator_->address(), method, message,
                   &context);
  }

  void SetRejects(bool rejects) {
    MutexLock lock(&mutex_);
    rejects_ = rejects;
  }
  std::vector<std::string> TakeSeen() {
    MutexLock lock(&mutex_);
    return std::exchange(seen_, {});
  }

  Mutex mutex_;
  bool rejects_ ABSL_GUARDED_BY(mutex_) = true;
  std::vector<std::string> seen_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> recorded_ ABSL_GUARDED_BY(mutex_);  // call, object and outcome
  std::string state_dir_;
  std::unique_ptr<Coordinator> coordinator_;
  ClosingAcceptor acceptor_;
  const std::shared_ptr<server::Rejections> rejections_ = std::make_shared<server::Rejections>();  // the worker's
  ThreadPool executor_{1, "timers"};
  std::unique_ptr<grpc::Service> service_;
  net::RunningServer worker_;
};

TEST_F(RpcGateTest, EndsEachCallThatTheRuleRejects) {
  for (const std::string& method : DeclaredRpcs()) {
    const grpc::Status status = Call(method, "");
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << method << ": " << status.error_message();
    EXPECT_EQ(status.error_message(), "no call is allowed") << method;
    EXPECT_EQ(TakeSeen(), std::vector<std::string>{method});
  }
  EXPECT_EQ(acceptor_.streams, 0);
}

TEST_F(RpcGateTest, EndsEachCallWithoutACommonProtocolAndNamesBothReleases) {
  SetRejects(false);
  const std::string here = absl::StrCat("penstock ", std::string(Version()), " with protocol ", kProtocols.ToString());
  for (const std::string& method : DeclaredRpcs()) {
    if (method == "penstock.v1.Worker/Stream") continue;  // its first message has the protocols
    const grpc::Status newer = Call(method, "", "1000-1001");
    EXPECT_EQ(newer.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << method << ": " << newer.error_message();
    EXPECT_THAT(newer.error_message(), HasSubstr("is penstock 9.9.9 with protocol 1000 to 1001"));
    EXPECT_THAT(newer.error_message(), HasSubstr(here));
    const grpc::Status older = Call(method, "", "");
    EXPECT_EQ(older.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << method << ": " << older.error_message();
    EXPECT_THAT(older.error_message(), HasSubstr("is penstock 0.2 or older"));
    EXPECT_EQ(Call(method, "", "no range").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  }
  EXPECT_TRUE(TakeSeen().empty());
  EXPECT_TRUE(Call("penstock.v1.Coordinator/GetStatus", "", absl::StrCat(kProtocols.newest, "-1001")).ok());
}

TEST_F(RpcGateTest, RecordsRejectedCallsWithTheJobOrWorkerThatTheyAreAbout) {
  v1::SubmitRequest submit;
  submit.mutable_spec()->set_name("mine");
  Call("penstock.v1.Coordinator/Submit", submit.SerializeAsString());
  v1::CancelRequest cancel;
  cancel.set_job("imagenet");
  Call("penstock.v1.Coordinator/Cancel", cancel.SerializeAsString());
  Call("penstock.v1.Coordinator/GetStatus", "", "1000-1001");
  v1::DrainRequest drain;
  drain.set_worker("w1");
  Call("penstock.v1.Coordinator/Drain", drain.SerializeAsString());
  Call("penstock.v1.Worker/Stream", "");
  MutexLock lock(&mutex_);
  EXPECT_THAT(recorded_, ::testing::ElementsAre("penstock.v1.Coordinator/Submit mine PERMISSION_DENIED",
                                                "penstock.v1.Coordinator/Cancel imagenet PERMISSION_DENIED",
                                                "penstock.v1.Coordinator/GetStatus  FAILED_PRECONDITION",
                                                "penstock.v1.Coordinator/Drain w1 PERMISSION_DENIED",
                                                "penstock.v1.Worker/Stream  PERMISSION_DENIED"));
}

TEST_F(RpcGateTest, CountsRejectedCallsByReason) {
  Call("penstock.v1.Coordinator/GetStatus", "");
  Call("penstock.v1.Coordinator/GetStatus", "", "1000-1001");
  Call("penstock.v1.Worker/Stream", "");
  EXPECT_EQ(rejections_->Get()[static_cast<size_t>(server::RejectionReason::kForbidden)], 1u);
  SetRejects(false);
  Call("penstock.v1.Coordinator/GetStatus", "");
  Call("penstock.v1.Worker/Stream", "");
  EXPECT_EQ(rejections_->Get()[static_cast<size_t>(server::RejectionReason::kForbidden)], 1u);
  std::promise<std::string> taken;
  coordinator_->CollectMetrics([&taken](const absl::StatusOr<Coordinator::MetricsText>& text) {
    taken.set_value(text.ok() ? (*text)() : text.status().ToString());
  });
  const std::string text = taken.get_future().get();
  const std::string name = "\npenstock_coordinator_rejected_calls_total{reason=";
  EXPECT_THAT(text, HasSubstr(absl::StrCat(name, "\"forbidden\"} 1\n")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat(name, "\"protocol\"} 1\n")));
  EXPECT_THAT(text, HasSubstr(absl::StrCat(name, "\"unauthenticated\"} 0\n")));
}

TEST_F(RpcGateTest, NamesTheCoordinatorsProtocolsInItsReplies) {
  SetRejects(false);
  net::CoordinatorCalls calls({coordinator_->address()});
  EXPECT_EQ(calls.protocol(), 0u);
  EXPECT_TRUE(calls.Wait(&net::CoordinatorCalls::Rpcs::GetStatus, v1::StatusRequest(), absl::Seconds(60)).ok());
  EXPECT_EQ(calls.protocol(), kProtocols.newest);
}

TEST_F(RpcGateTest, RunsNoHandlerOfARejectedCall) {
  v1::RegisterWorkerRequest worker;
  worker.set_id("w1");
  worker.set_address("127.0.0.1:1");
  Call("penstock.v1.Coordinator/RegisterWorker", worker.SerializeAsString());
  SetRejects(false);
  grpc::ClientContext context;
  net::PrepareCall(&context, absl::Seconds(60));
  v1::StatusReply status;
  ASSERT_TRUE(v1::Coordinator::NewStub(net::MakeChannel(coordinator_->address()))
                  ->GetStatus(&context, v1::StatusRequest(), &status)
                  .ok());
  EXPECT_EQ(status.workers_size(), 0);
}

TEST_F(RpcGateTest, ChecksAStreamOnceAndPassesAnAcceptedOne) {
  SetRejects(false);
  EXPECT_NE(Call("penstock.v1.Worker/Stream", "message").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(acceptor_.streams, 1);
  EXPECT_EQ(TakeSeen(), std::vector<std::string>{"penstock.v1.Worker/Stream"});
}

}  // namespace
}  // namespace penstock::coordinator
