// The server over real sockets, mostly with clients that do what they should not.
#include "server/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/open_files.h"
#include "tests/server/http/http_server_testing.h"

namespace penstock::server {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(HttpServerTest, AsksForTheTokenOfEachRouteThatIsNotOpen) {
  admit_ = [](std::string_view token, transport::Peer* client) {
    if (token.empty()) return absl::UnauthenticatedError("no token");
    client->name = "alice";
    return token == "good" ? absl::OkStatus() : absl::PermissionDeniedError("wrong token");
  };
  Start();
  const auto ask = [this](const std::string& path, const std::string& field) {
    return Ask(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: here\r\nConnection: close\r\n", field, "\r\n"));
  };
  EXPECT_THAT(ask("/healthz", ""), StartsWith("HTTP/1.1 200 OK\r\n"));
  const std::string none = ask("/echo", "");
  EXPECT_THAT(none, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(none, HasSubstr("\r\nWWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(none, HasSubstr("no token"));
  EXPECT_THAT(ask("/echo", "Authorization: Bearer bad\r\n"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask("/echo", "Authorization: Basic good\r\n"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(ask("/echo", "authorization: bearer good\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  server_->Stop();
  EXPECT_THAT(rejected_, ::testing::ElementsAre("@127.0.0.1 /echo: no token", "alice@127.0.0.1 /echo: wrong token",
                                                "@127.0.0.1 /echo: no token"));
}

TEST_F(HttpServerTest, ACookieStandsForTheTokenWhileTheServerAdmitsThatToken) {
  std::string admitted = "good";
  admit_ = [&admitted](std::string_view token, transport::Peer*) {
    return token == admitted ? absl::OkStatus() : absl::UnauthenticatedError("no token");
  };
  Start();
  const auto ask = [this](const std::string& path, const std::string& fields) {
    return Ask(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: here\r\nConnection: close\r\n", fields, "\r\n"));
  };
  EXPECT_THAT(ask("/login", "Authorization: Bearer bad\r\n"),
              AllOf(StartsWith("HTTP/1.1 401 "), Not(HasSubstr("Set-Cookie"))));
  const std::string answer = ask("/login", "Authorization: Bearer good\r\n");
  EXPECT_THAT(answer,
              AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\nX-Other: also\r\n"), Not(HasSubstr("good"))));
  const size_t begin = answer.find("\r\nSet-Cookie: ") + 14, end = answer.find(';', begin);
  const std::string cookie = answer.substr(begin, end - begin);
  EXPECT_THAT(cookie, StartsWith("penstock-7072="));
  EXPECT_THAT(answer.substr(end), StartsWith("; Path=/; HttpOnly; SameSite=Strict\r\n"));
  EXPECT_THAT(ask("/echo", absl::StrCat("Cookie: a=b; ", cookie, "\r\n")), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(ask("/echo", absl::StrCat("Cookie: ", cookie, "0\r\n")), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(ask("/echo", "Cookie: penstock-7072=\r\n"), StartsWith("HTTP/1.1 401 "));
  admitted = "another";
  EXPECT_THAT(ask("/echo", absl::StrCat("Cookie: ", cookie, "\r\n")), StartsWith("HTTP/1.1 401 ")) << "a removed token";
}

TEST_F(HttpServerTest, OnLoopbackWithoutTokensRejectsTheNamesOfOtherHosts) {
  Start();
  const auto ask = [this](const std::string& path, const std::string& host) {
    return Ask(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: ", host, "\r\nConnection: close\r\n\r\n"));
  };
  for (const char* host : {"127.0.0.1", "127.0.0.1:7072", "localhost", "LocalHost:7072", "[::1]:7072", "a.localhost"}) {
    EXPECT_THAT(ask("/echo", host), StartsWith("HTTP/1.1 200 OK\r\n")) << host;
  }
  for (const char* host : {"site.example", "site.example:7072", "127.0.0.1.site.example", "localhost.site.example"}) {
    EXPECT_THAT(ask("/echo", host), StartsWith("HTTP/1.1 421 ")) << host;
  }
  EXPECT_THAT(ask("/healthz", "site.example"), StartsWith("HTTP/1.1 200 OK\r\n")) << "an open route has no secrets";
}

TEST_F(HttpServerTest, AnswersHaveTheirTypeAndLengthAndAreNotCached) {
  Start();
  const std::string answer = Ask("GET /echo?a=1&b=%20 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nDate: "));
  EXPECT_THAT(answer, HasSubstr(" GMT\r\nContent-Type: text/echo\r\nContent-Length: 19\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer, EndsWith("Connection: close\r\n\r\nGET /echo a=1&b=%20"));
}

TEST_F(HttpServerTest, AConnectionServesManyRequests) {
  Start();
  RawClient client(server_->port());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(client.Get(absl::StrCat("/echo?", i)));
    ASSERT_THAT(client.Answer(), EndsWith(absl::StrCat("keep-alive\r\n\r\nGET /echo ", i)));
  }
}

TEST_F(HttpServerTest, HeadIsGetWithoutTheBody) {
  Start();
  RawClient client(server_->port());
  client.Send("HEAD /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(client.Answer(false), HasSubstr("Content-Length: 8388608\r\n"));
  client.Get("/echo");
  EXPECT_THAT(client.Answer(), EndsWith("GET /echo ")) << "nothing follows the head";
}

TEST_F(HttpServerTest, OldClientsGetOneAnswer) {
  Start();
  EXPECT_THAT(Ask("GET /healthz HTTP/1.0\r\n\r\n"), HasSubstr("Connection: close\r\n\r\nok\n"));
}

TEST_F(HttpServerTest, AnUnknownPathListsTheRoutes) {
  Start();
  const std::string answer = Ask("GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(answer, EndsWith("there is:\n/echo\n/healthz\n/kept\n/large\n/login\n"));
}

TEST_F(HttpServerTest, OtherMethodsAreRejected) {
  Start();
  RawClient client(server_->port());
  client.Send("DELETE /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string answer = client.Answer();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(answer, HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  client.Get("/healthz");
  EXPECT_THAT(client.Answer(), EndsWith("ok\n")) << "the connection continues";
  EXPECT_THAT(Ask("POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nGET /"),
              StartsWith("HTTP/1.1 405 "));
}

TEST_F(HttpServerTest, ABodyIsNoNextRequest) {
  Start();
  const std::string body = "GET /echo HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string& fields :
       {absl::StrCat("Content-Length: ", body.size()), std::string("Content-Length: 999999999"),
        std::string("Transfer-Encoding: chunked")}) {
    const std::string answer = Ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n\r\n" + body);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 413 ")) << fields;
    EXPECT_THAT(answer, Not(HasSubstr("/echo"))) << fields;
  }
}

TEST_F(HttpServerTest, RequestsWithoutAHostOrAPathAreRejected) {
  Start();
  EXPECT_THAT(Ask("GET /healthz HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("GET * HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("GET http://a/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), EndsWith("ok\n"))
      << "as through a proxy";
}

TEST_F(HttpServerTest, OversizedHeadsAreRejectedWithAnAnswer) {
  Start(PatientLimits());
  const std::string fill(9000, 'a');
  EXPECT_THAT(Ask("GET /" + fill + " HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Ask("GET /healthz HTTP/1.1\r\nHost: localhost\r\nA: " + fill + "\r\n\r\n"), StartsWith("HTTP/1.1 431 "));
  std::string many = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 1000; ++i) many += "A: b\r\n";
  EXPECT_THAT(Ask(many + "A: b\r\n\r\n"), HasSubstr("200 OK")) << "6 KB";
  for (int i = 0; i < 1000; ++i) many += "A: b\r\n";
  EXPECT_THAT(Ask(many + "\r\n"), StartsWith("HTTP/1.1 431 "));
  // The client is still sending when the answer arrives.
  EXPECT_THAT(Ask("GET /" + std::string(200'000, 'a')), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpServerTest, GarbageEndsTheConnection) {
  Start();
  for (const std::string& garbage :
       {std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), std::string("\r\n\r\n\r\n"), std::string("GET\r\n\r\n"),
        std::string("GET /healthz\r\n\r\n"), std::string(100'000, '\0'),
        std::string("GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n"),
        std::string("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n")}) {
    EXPECT_THAT(Ask(garbage), Not(HasSubstr("200 OK")));
  }
  ExpectHealthy();
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrderUpToTheGarbage) {
  Start(PatientLimits());
  std::string text;
  for (int i = 0; i < 500; ++i) absl::StrAppend(&text, "GET /echo?", i, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  RawClient client(server_->port());
  std::thread sender([&] { client.Send(text + "no HTTP\r\n\r\n" + text); });
  const std::string all = client.Rest();
  sender.join();
  size_t at = 0;
  for (int i = 0; i < 500; ++i) {
    at = all.find(absl::StrCat("GET /echo ", i, "HTTP/1.1 "), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  at = all.find("HTTP/1.1 400 ", at);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(all.find("GET /echo", at), std::string::npos) << "the rest is not parsed";
}

TEST_F(HttpServerTest, AHeadMayComeByteByByte) {
  Start();
  RawClient client(server_->port());
  for (const char c : std::string("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")) client.Send(std::string(1, c));
  EXPECT_THAT(client.Answer(), EndsWith("ok\n"));
}

TEST_F(HttpServerTest, AThousandHalfOpenRequestsDoNotKeepOthersFromAnAnswer) {
  RaiseOpenFileLimit();
  Start();
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 1000; ++i) {
    slow.push_back(std::make_unique<RawClient>(server_->port()));
    slow.back()->Send(i % 2 == 0 ? "" : "GET /healthz HTTP/1.1\r\nHost:");
    if (i % 100 == 99) ExpectHealthy();
  }
  EXPECT_EQ(slow.front()->Rest(), "") << "it has waited longest and was closed";
}

TEST_F(HttpServerTest, AHostWithManyConnectionsLosesItsOwnAndNotThatOfAnotherHost) {
  HttpLimits limits = PatientLimits();
  limits.connections = 8;
  Start(limits);
  RawClient slow_but_alone(server_->port());
  slow_but_alone.Send("GET /healthz HTTP/1.1\r\n");
  std::vector<std::unique_ptr<RawClient>> flood;
  for (int i = 0; i < 100; ++i) {
    flood.push_back(std::make_unique<RawClient>(server_->port(), 0, "127.0.0.66"));
    flood.back()->Get("/kept");
  }
  EXPECT_EQ(flood.front()->Rest(), "");
  slow_but_alone.Send("Host: localhost\r\n\r\n");
  EXPECT_THAT(slow_but_alone.Answer(), EndsWith("ok\n"));
}

TEST_F(HttpServerTest, SlowReadersAreClosedForTheSakeOfOthers) {
  HttpLimits limits = PatientLimits();
  limits.answer_bytes = size_t{20} << 20;  // two large answers
  Start(limits);
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 20; ++i) {
    slow.push_back(std::make_unique<RawClient>(server_->port(), 4096));
    slow.back()->Get("/large");
    ExpectHealthy();
  }
  EXPECT_LT(slow.front()->Rest().size(), size_t{8} << 20);
  EXPECT_GT(slow.back()->Answer().size(), size_t{8} << 20);
}

TEST_F(HttpServerTest, AnAnswerThatCannotFitIsRefused) {
  HttpLimits limits;
  limits.answer_bytes = 1 << 20;
  Start(limits);
  EXPECT_THAT(Ask("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 503 "));
}

TEST_F(HttpServerTest, SlowHeadsAndIdleConnectionsEnd) {
  HttpLimits limits;
  limits.head = limits.idle = milliseconds(20);
  Start(limits);
  RawClient silent(server_->port()), slow(server_->port()), idle(server_->port());
  slow.Send("GET /healthz HT");
  EXPECT_EQ(silent.Rest(), "");
  EXPECT_EQ(slow.Rest(), "");
  idle.Get("/healthz");
  EXPECT_THAT(idle.Rest(), AnyOf(EndsWith("ok\n"), std::string())) << "at most one answer";
}

TEST_F(HttpServerTest, AClientThatReadsNothingIsClosed) {
  HttpLimits limits;
  limits.write = milliseconds(20);
  Start(limits);
  RawClient client(server_->port(), 4096);
  client.Get("/large");
  EXPECT_LT(client.Rest().size(), size_t{8} << 20);
}

}  // namespace
}  // namespace penstock::server
