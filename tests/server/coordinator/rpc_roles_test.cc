// Every role calls every RPC over real gRPC.
#include "server/common/rpc_roles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/mutex.h"
#include "net/access/access_list.h"
#include "net/access/token.h"
#include "net/call_token.h"
#include "net/coordinator_calls.h"
#include "penstock/v1/control.grpc.pb.h"
#include "server/common/rpc_gate.h"
#include "server/coordinator/service/coordinator.h"
#include "tests/server/coordinator/job_specs.h"
#include "tests/server/coordinator/raw_call.h"
#include "transport/peer.h"

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Rpcs = net::CoordinatorCalls::Rpcs;

// Methods of each role. Operators may call all.
const std::map<std::string, std::set<std::string>>& Allowed() {
  static const auto* const allowed = new std::map<std::string, std::set<std::string>>{
      {"viewer", {"GetStatus", "ListShards", "GetQuarantine", "Explain", "Describe", "GetTrace", "Watch"}},
      {"trainer",
       {"GetStatus", "Explain", "Watch", "PutTrace", "OpenSession", "ReportSession", "CloseSession", "JudgeRecords"}},
      {"trainer+submit",
       {"Submit", "Cancel", "Delete", "Purge", "Pause", "Resume", "GetStatus", "Explain", "Watch", "PutTrace",
        "OpenSession", "ReportSession", "CloseSession", "JudgeRecords"}},
      {"worker",
       {"Watch", "RegisterWorker", "Heartbeat", "ReportTask", "ReportRecords", "PutIndex", "GetIndex", "PutTrace",
        "PutSupport"}},
  };
  return *allowed;
}

class RpcRolesTest : public ::testing::Test {
 protected:
  RpcRolesTest() {
    for (const char* role : {"viewer", "trainer", "worker", "operator"}) Add(absl::StrCat("a-", role), role, "*");
    Add("a-trainer.submit", "trainer+submit", "*");
    Add("narrow", "trainer", "imagenet-*");
    list_ = *server::LiveAccessList::Load([this] { return net::AccessList::Parse(text_, "tokens"); });
    CoordinatorOptions options;
    options.listen = "127.0.0.1:0";
    options.state_dir = state_dir_;
    options.rule = server::RequireRole(list_);
    options.tokens = true;
    options.record_call = [this](const transport::Peer& peer, std::string_view call, std::string_view object,
                                 const absl::Status& outcome) {
      MutexLock lock(&mutex_);
      if (absl::IsPermissionDenied(outcome)) {
        denied_.insert(absl::StrCat(peer.name, " ", std::string(call), " ", std::string(object)));
      }
    };
    absl::StatusOr<std::unique_ptr<Coordinator>> coordinator = Coordinator::Start(options);
    EXPECT_TRUE(coordinator.ok()) << coordinator.status();
    coordinator_ = *std::move(coordinator);
  }
  ~RpcRolesTest() override {
    coordinator_.reset();
    std::filesystem::remove_all(state_dir_);
  }

  // The token of a name is its name.
  void Add(const std::string& name, const std::string& role, const std::string& jobs) {
    text_ += net::TokenLineOf({name, *net::ParseRole(role), net::SplitJobs(jobs)}, net::DigestOf(name)) + "\n";
  }

  // Calls the method with an empty message, or `message`.
  grpc::Status Call(std::string_view method, const std::string& token, const std::string& message = "") {
    grpc::ClientContext context;
    net::PrepareCall(&context, absl::Seconds(60));
    net::AddToken(&context, token);
    return RawCall(coordinator_->address(), method, message, &context);
  }
  template <typename Request>
  grpc::Status CallFor(const std::string& rpc, const std::string& token, const std::string& job) {
    Request request;
    request.set_job(job);
    return Call(absl::StrCat("penstock.v1.Coordinator/", rpc), token, request.SerializeAsString());
  }

  const std::string state_dir_ =
      (std::filesystem::path(::testing::TempDir()) / absl::StrCat("rpc_roles_", getpid())).string();
  std::string text_;
  Mutex mutex_;
  std::set<std::string> denied_ ABSL_GUARDED_BY(mutex_);  // recorded calls: name, RPC and job
  std::shared_ptr<server::LiveAccessList> list_;
  std::unique_ptr<Coordinator> coordinator_;
};

TEST_F(RpcRolesTest, EachRoleMayCallItsRpcsAndNoOthers) {
  for (const server::RpcLine& line : server::RpcTable()) {
    if (IsOfWorker(line.method)) continue;  // a stream shows a ticket
    const std::string method(line.method.substr(line.method.rfind('/') + 1));
    for (const std::string role : {"viewer", "trainer", "trainer+submit", "worker", "operator"}) {
      const std::string name = absl::StrReplaceAll(absl::StrCat("a-", role), {{"+", "."}});
      const grpc::Status status = Call(line.method, name);
      EXPECT_NE(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << method << ": " << status.error_message();
      if (role == "operator" || Allowed().at(role).contains(method)) {
        EXPECT_NE(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << method << ": " << status.error_message();
      } else {
        EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << role << " " << method;
        EXPECT_THAT(status.error_message(),
                    HasSubstr(absl::StrCat("'", name, "' has the role ", role, ", and ", method, " needs the role ")));
      }
    }
  }
}

TEST_F(RpcRolesTest, EachRpcNeedsAKnownToken) {
  for (const server::RpcLine& line : server::RpcTable()) {
    if (IsOfWorker(line.method)) continue;  // a stream shows a ticket
    for (const char* token : {"", "pst_unknown"}) {
      const grpc::Status status = Call(line.method, token);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED)
          << line.method << ": " << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr(*token == '\0' ? "--token-file" : "does not know"));
      EXPECT_EQ(status.error_message().find("pst_"), std::string::npos);
    }
  }
}

TEST_F(RpcRolesTest, ATrainerReachesOnlyItsJobs) {
  for (const auto& [job, may] : std::map<std::string, bool>{{"imagenet-1k", true}, {"coco", false}, {"", false}}) {
    for (const grpc::Status& status :
         {CallFor<v1::OpenSessionRequest>("OpenSession", "narrow", job),
          CallFor<v1::ExplainRequest>("Explain", "narrow", job), CallFor<v1::WatchRequest>("Watch", "narrow", job)}) {
      EXPECT_EQ(status.error_code() != grpc::StatusCode::PERMISSION_DENIED, may)
          << job << ": " << status.error_message();
      if (may) continue;
      EXPECT_THAT(status.error_message(), HasSubstr("only imagenet-*"));
    }
  }
  MutexLock lock(&mutex_);
  for (const std::string rpc : {"OpenSession", "Explain", "Watch"}) {
    EXPECT_TRUE(denied_.contains(absl::StrCat("narrow penstock.v1.Coordinator/", rpc, " coco"))) << rpc;
  }
  EXPECT_EQ(denied_.size(), 6u) << "one of each RPC and of each denied job";
}

TEST_F(RpcRolesTest, TheStatusOfATrainerHasOnlyItsJobs) {
  net::ClientSecurity security;
  const auto status_of = [&](const std::string& token, const std::string& job) {
    security.token = *net::LiveToken::Load([&]() -> absl::StatusOr<std::string> { return token; });
    net::CoordinatorCalls calls({coordinator_->address()}, &net::CoordinatorCalls::NamedError, security);
    v1::StatusRequest request;
    request.set_job(job);
    return calls.Wait(&Rpcs::GetStatus, request, absl::Seconds(60));
  };
  v1::SubmitRequest submit;
  for (const char* name : {"imagenet-1k", "coco"}) {
    *submit.mutable_spec() = SimpleSpec(name);
    const grpc::Status submitted = Call("penstock.v1.Coordinator/Submit", "a-operator", submit.SerializeAsString());
    EXPECT_TRUE(submitted.ok()) << submitted.error_message();
  }
  const auto jobs_of = [&](const std::string& token, const std::string& job = "") {
    const absl::StatusOr<v1::StatusReply> reply = status_of(token, job);
    EXPECT_TRUE(reply.ok()) << reply.status();
    std::vector<std::string> names;
    if (reply.ok()) {
      for (const v1::StatusReply::JobStatus& known : reply->jobs()) names.push_back(known.name());
    }
    return names;
  };
  EXPECT_THAT(jobs_of("a-viewer"), UnorderedElementsAre("imagenet-1k", "coco"));
  EXPECT_THAT(jobs_of("narrow"), ElementsAre("imagenet-1k"));
  EXPECT_THAT(jobs_of("a-viewer", "coco"), ElementsAre("coco"));
  EXPECT_THAT(jobs_of("narrow", "imagenet-1k"), ElementsAre("imagenet-1k"));
  EXPECT_TRUE(absl::IsPermissionDenied(status_of("narrow", "coco").status()));
  EXPECT_TRUE(absl::IsNotFound(status_of("a-viewer", "imagenet-2k").status()));
}

TEST_F(RpcRolesTest, AChangedListAppliesToTheNextCall) {
  Add("later", "viewer", "*");
  EXPECT_EQ(Call("penstock.v1.Coordinator/GetStatus", "later").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  list_->Refresh();
  EXPECT_TRUE(Call("penstock.v1.Coordinator/GetStatus", "later").ok());
  text_ = text_.substr(text_.find('\n') + 1);  // without a-viewer
  list_->Refresh();
  EXPECT_EQ(Call("penstock.v1.Coordinator/GetStatus", "a-viewer").error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(RpcRolesTest, AWorkerBelongsToTheNameThatRegisteredIt) {
  v1::RegisterWorkerRequest worker;
  worker.set_id("w1");
  worker.set_address("127.0.0.1:1");
  EXPECT_TRUE(Call("penstock.v1.Coordinator/RegisterWorker", "a-worker", worker.SerializeAsString()).ok());
  v1::HeartbeatRequest beat;
  beat.set_id("w1");
  const grpc::Status status = Call("penstock.v1.Coordinator/Heartbeat", "a-operator", beat.SerializeAsString());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("worker w1 belongs to a-worker at 127.0.0.1:"));
}

TEST_F(RpcRolesTest, ACallerInThisProcessNeedsNoToken) {
  net::CoordinatorCalls calls(coordinator_->ChannelInProcess(), "here");
  EXPECT_TRUE(calls.Wait(&Rpcs::GetStatus, v1::StatusRequest(), absl::Seconds(60)).ok());
}

TEST(TokenPathTest, ATokenIsNotSentInPlaintextBeyondThisHost) {
  net::ClientSecurity security;
  security.token = *net::LiveToken::Load([]() -> absl::StatusOr<std::string> { return "pst_secret"; });
  for (const char* address : {"192.0.2.1:7070", "coordinator.example:7070"}) {
    net::CoordinatorCalls calls({address}, &net::CoordinatorCalls::NamedError, security);
    const absl::Status status = calls.Wait(&Rpcs::GetStatus, v1::StatusRequest(), absl::Seconds(60)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the token is not sent to"));
  }
  for (const char* address : {"127.0.0.1:7070", "localhost:7070", "[::1]:7070"}) {
    EXPECT_EQ(security.TokenFor(address).value_or(""), "pst_secret") << address;
  }
}

}  // namespace
}  // namespace penstock::coordinator
