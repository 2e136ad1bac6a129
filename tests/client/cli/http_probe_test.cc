// The probe against servers that answer what they like.
#include "client/cli/http_probe.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/owned_fd.h"
#include "tests/support/certificates/closing_server.h"

namespace penstock::cli {
namespace {

// Accepts one connection, sends bytes, and closes the connection or keeps it open.
class OneAnswer {
 public:
  OneAnswer(std::string answer, bool keeps_open) : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    PS_CHECK(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    PS_CHECK(listen(listener_.get(), 1) == 0);
    PS_CHECK(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    address_ = {"127.0.0.1", ntohs(address.sin_port)};
    thread_ = std::thread([this, answer = std::move(answer), keeps_open] {
      connection_ = OwnedFd(accept(listener_.get(), nullptr, nullptr));
      while (request_.find("\r\n\r\n") == std::string::npos) {
        char buffer[1024];
        const ssize_t bytes = recv(connection_.get(), buffer, sizeof buffer, 0);
        if (bytes <= 0) return;
        request_.append(buffer, static_cast<size_t>(bytes));
      }
      // The probe may have enough before it has read all.
      for (size_t sent = 0; sent < answer.size();) {
        const ssize_t bytes = send(connection_.get(), answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (bytes <= 0) break;
        sent += static_cast<size_t>(bytes);
      }
      if (!keeps_open) connection_.Reset();
    });
  }
  ~OneAnswer() { End(); }

  const net::Address& address() const { return address_; }
  // Waits for the end of the exchange and returns the request.
  const std::string& End() {
    if (thread_.joinable()) thread_.join();
    return request_;
  }

 private:
  OwnedFd listener_;
  net::Address address_;
  OwnedFd connection_;
  std::string request_;
  std::thread thread_;
};

constexpr auto kPatient = std::chrono::minutes(1);

absl::StatusOr<ProbeAnswer> AnswerOf(const std::string& text, bool keeps_open = false,
                                     std::chrono::milliseconds timeout = kPatient) {
  OneAnswer server(text, keeps_open);
  return ProbeHttp(server.address(), "/readyz", timeout);
}

TEST(HttpProbe, ReadsStatusAndBody) {
  OneAnswer server("HTTP/1.1 503 Service Unavailable\r\nA: b\r\ncontent-length:  9\r\n\r\ndraining\n", true);
  const auto answer = ProbeHttp(server.address(), "/readyz", kPatient);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->body, "draining\n");
  EXPECT_EQ(server.End().rfind("GET /readyz HTTP/1.1\r\nHost: " + server.address().ToString() + "\r\n", 0), 0u);
}

TEST(HttpProbe, WithoutALengthTheBodyEndsWithTheConnection) {
  const auto answer = AnswerOf("HTTP/1.0 200 OK\r\n\r\nok\n");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "ok\n");
}

TEST(HttpProbe, LongAnswersAreCut) {
  for (const char* head : {"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n"}) {
    const auto answer = AnswerOf(head + std::string(10'000'000, 'x'), true);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_LE(answer->body.size(), size_t{64} << 10) << head;
  }
}

TEST(HttpProbe, WhatIsNoHttpIsAnError) {
  for (const std::string& text :
       {std::string(), std::string("\0\0\x12\4\0\0\0\0\0", 9), std::string("HTTP/1.1 200 OK\r\n"),
        std::string("HTTP/1.1 abc\r\n\r\n"), std::string("HTTP/1.1"), std::string(100'000, 'x')}) {
    EXPECT_EQ(AnswerOf(text).status().code(), absl::StatusCode::kFailedPrecondition) << text.substr(0, 20);
  }
}

TEST(HttpProbe, ItEndsInTime) {
  for (const char* text : {"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok"}) {
    EXPECT_EQ(AnswerOf(text, true, std::chrono::milliseconds(20)).status().code(), absl::StatusCode::kDeadlineExceeded);
  }
}

TEST(HttpProbe, AServerThatClosesDuringTheHandshakeIsAnErrorAndNoSignal) {
  support::ClosingServer server(support::ClosingServer::When::kInHandshake);
  ProbeTls tls;
  tls.certificates.ca = server.authority().pem();
  const absl::Status status = ProbeHttp({"127.0.0.1", server.port()}, "/readyz", kPatient, &tls).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(HttpProbe, WithoutAServerItIsUnavailable) {
  EXPECT_EQ(ProbeHttp({"127.0.0.1", 1}, "/readyz", kPatient).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace penstock::cli
