// Calls over TLS between a server and channels of this process.
#include "net/tls/grpc_credentials.h"

#include <gmock/gmock.h>
#include <grpcpp/security/auth_context.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/status_mark.h"
#include "net/channel.h"
#include "net/coordinator_calls.h"
#include "net/tls/client_security.h"
#include "net/tls/handshake_fault.h"
#include "penstock/v1/control.grpc.pb.h"
#include "tests/support/certificates/certificates.h"
#include "tests/support/temp_folder.h"

namespace penstock::net {
namespace {

using support::CertifiedKey;
using support::TestAuthority;
using ::testing::HasSubstr;

// Answers with the first alternative name of the caller's certificate, or "none".
class NameService final : public v1::Coordinator::CallbackService {
  grpc::ServerUnaryReactor* GetIndex(grpc::CallbackServerContext* context, const v1::GetIndexRequest*,
                                     v1::GetIndexReply* reply) override {
    const auto names = context->auth_context()->FindPropertyValues("peer_dns");
    reply->set_blob(names.empty() ? "none" : std::string(names[0].data(), names[0].size()));
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

// Files of one side, in a folder of its own.
struct Side {
  void Write(const TestAuthority& authority, const CertifiedKey& certified) {
    WriteCertificates(folder.path(), authority, certified);
  }
  TlsFiles server() const { return {folder.File("cert.pem"), folder.File("key.pem"), folder.File("ca.pem")}; }
  TlsFiles only_ca() const { return {"", "", folder.File("ca.pem")}; }
  std::shared_ptr<LiveCertificates> Load(const TlsFiles& files) const {
    absl::StatusOr<std::shared_ptr<LiveCertificates>> live = LiveCertificates::Load(files);
    EXPECT_TRUE(live.ok()) << live.status();
    return *std::move(live);
  }
  support::TempFolder folder;
};

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    server_side_.Write(authority_, authority_.Issue());
    client_side_.Write(authority_, authority_.Issue({.names = {"DNS:trainer-7"}}));
    server_certificates_ = server_side_.Load(server_side_.server());
    ServerOptions options;
    options.certificates = server_certificates_;
    absl::StatusOr<RunningServer> running = StartServer({"127.0.0.1", 0}, {&service_}, std::move(options));
    EXPECT_TRUE(running.ok()) << running.status();
    running_ = *std::move(running);
  }
  ~TlsTest() override {
    running_.Shutdown();
    running_.server->Wait();
  }

  std::string address() const { return running_.address.ToString(); }
  absl::StatusOr<std::string> Call(const std::shared_ptr<grpc::Channel>& channel) {
    CoordinatorCalls calls(channel, "test");
    return Call(&calls);
  }
  absl::StatusOr<std::string> Call(CoordinatorCalls* calls) {
    absl::StatusOr<v1::GetIndexReply> reply =
        calls->Wait(&CoordinatorCalls::Rpcs::GetIndex, v1::GetIndexRequest(), absl::Seconds(20));
    if (!reply.ok()) return reply.status();
    return reply->blob();
  }
  // Returns the message of a call that fails in its handshake.
  std::string Fault(const TlsFiles& files, const std::string& address = "") {
    CoordinatorCalls calls({address.empty() ? this->address() : address}, &MarkedError,
                           files.empty() ? ClientSecurity() : ClientSecurity{client_side_.Load(files)});
    return std::string(Call(&calls).status().message());
  }
  static absl::Status MarkedError(const absl::Status& error, const std::string&) {
    EXPECT_TRUE(HasMark(error, kHandshakeFault)) << error;
    EXPECT_TRUE(absl::IsUnavailable(error));
    return error;
  }
  std::shared_ptr<grpc::Channel> Channel(const TlsFiles& files, const std::string& tls_name = "") {
    return MakeChannel(address(), ChannelUse::kCalls, {client_side_.Load(files)}, tls_name);
  }

  NameService service_;
  TestAuthority authority_, stranger_;
  Side server_side_, client_side_;
  std::shared_ptr<LiveCertificates> server_certificates_;
  RunningServer running_;
};

TEST_F(TlsTest, TheServerSeesTheNameInTheClientsCertificate) {
  EXPECT_EQ(*Call(Channel(client_side_.server())), "trainer-7");
}

TEST_F(TlsTest, AClientWithoutACertificateReachesTheGate) { EXPECT_EQ(*Call(Channel(client_side_.only_ca())), "none"); }

TEST_F(TlsTest, AClientRejectsAServerOfAnotherAuthority) {
  client_side_.Write(stranger_, stranger_.Issue());
  EXPECT_THAT(Fault(client_side_.only_ca()), HasSubstr("not signed by the CA in " + client_side_.only_ca().ca));
}

TEST_F(TlsTest, AClientRejectsAServerWithAnotherName) {
  server_side_.Write(authority_, authority_.Issue({.names = {"DNS:elsewhere.example"}}));
  server_certificates_->Refresh();
  EXPECT_THAT(Fault(client_side_.only_ca()), HasSubstr("its certificate is for other names"));
  EXPECT_EQ(*Call(Channel(client_side_.only_ca(), "elsewhere.example")), "none");
}

TEST_F(TlsTest, AServerRejectsACertificateOfAnotherAuthority) {
  client_side_.Write(authority_, stranger_.Issue());
  EXPECT_THAT(Fault(client_side_.server()), HasSubstr("If it rejects the certificate " + client_side_.server().cert));
}

TEST_F(TlsTest, PlaintextAndTlsDoNotMeetAndTheClientNamesTheMissingFlag) {
  EXPECT_THAT(Fault({}), HasSubstr("name the CA of its certificate with --tls-ca"));
  NameService plain;
  const absl::StatusOr<RunningServer> running = StartServer({"127.0.0.1", 0}, {&plain});
  ASSERT_TRUE(running.ok());
  EXPECT_THAT(Fault(client_side_.only_ca(), running->address.ToString()), HasSubstr("it serves plaintext"));
}

TEST_F(TlsTest, ChangedFilesAreUsedForNewConnectionsAndLeaveOpenOnes) {
  const auto open = Channel(client_side_.only_ca());
  EXPECT_EQ(*Call(open), "none");
  TestAuthority next;
  server_side_.Write(next, next.Issue());
  server_certificates_->Refresh();
  EXPECT_EQ(*Call(open), "none");  // continues over its connection
  EXPECT_EQ(Call(Channel(client_side_.only_ca())).status().code(), absl::StatusCode::kUnavailable);
  client_side_.Write(next, next.Issue({.names = {"DNS:trainer-8"}}));
  EXPECT_EQ(*Call(Channel(client_side_.server())), "trainer-8");
}

TEST_F(TlsTest, ACallerFollowsItsChangedFilesWithTheNextCall) {
  const std::shared_ptr<LiveCertificates> certificates = client_side_.Load(client_side_.server());
  CoordinatorCalls calls({address()}, &CoordinatorCalls::NamedError, ClientSecurity{certificates});
  EXPECT_EQ(*Call(&calls), "trainer-7");
  client_side_.Write(authority_, authority_.Issue({.names = {"DNS:trainer-8"}}));
  certificates->Refresh();
  EXPECT_EQ(*Call(&calls), "trainer-8");
}

TEST_F(TlsTest, AServerWithoutACaAsksForNoCertificate) {
  NameService service;
  const TlsFiles files = {server_side_.server().cert, server_side_.server().key, ""};
  ServerOptions options;
  options.certificates = server_side_.Load(files);
  const absl::StatusOr<RunningServer> running = StartServer({"127.0.0.1", 0}, {&service}, std::move(options));
  ASSERT_TRUE(running.ok()) << running.status();
  const auto channel =
      MakeChannel(running->address.ToString(), ChannelUse::kCalls, {client_side_.Load(client_side_.server())});
  EXPECT_EQ(*Call(channel), "none");
}

// A lost coordinator is no failed handshake.
TEST_F(TlsTest, ACallerThatHadAnAnswerGetsNoAdviceAboutFlags) {
  NameService service;
  absl::StatusOr<RunningServer> running = StartServer({"127.0.0.1", 0}, {&service});
  ASSERT_TRUE(running.ok()) << running.status();
  CoordinatorCalls calls({running->address.ToString()}, [](const absl::Status& error, const std::string&) {
    EXPECT_FALSE(HasMark(error, kHandshakeFault)) << error;
    return error;
  });
  EXPECT_EQ(*Call(&calls), "none");
  running->Shutdown();
  running->server->Wait();
  EXPECT_EQ(Call(&calls).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(TlsTest, ACallInTheSameProcessNeedsNoCertificate) { EXPECT_EQ(*Call(ChannelInProcess(running_)), "none"); }

}  // namespace
}  // namespace penstock::net
