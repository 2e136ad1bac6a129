// The server over real sockets, mostly with clients that do what they should not.
#include "server/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/open_files.h"
#include "server/http/http_sessions.h"
#include "tests/server/http/raw_client.h"

namespace penstock::server {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Keeps the replies of a route for the test.
class KeptReplies {
 public:
  HttpHandler Handler() {
    return [this](const HttpRequest&, HttpReply reply) {
      MutexLock lock(&mutex_);
      replies_.push_back(std::move(reply));
      changed_.NotifyAll();
    };
  }
  // Blocks until a request has come.
  HttpReply Take() {
    MutexLock lock(&mutex_);
    while (replies_.empty()) changed_.Wait(&mutex_);
    HttpReply reply = std::move(replies_.front());
    replies_.pop_front();
    return reply;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<HttpReply> replies_ ABSL_GUARDED_BY(mutex_);
};

HttpRoute Saying(std::string text) {
  HttpRoute route;
  route.handler = [text = std::move(text)](const HttpRequest&, const HttpReply& reply) {
    HttpAnswer answer;
    answer.body = text;
    reply(std::move(answer));
  };
  return route;
}

// For tests whose clients must get their answers whole, also on a busy machine.
HttpLimits PatientLimits() {
  HttpLimits limits;
  limits.head = limits.write = limits.linger = std::chrono::minutes(1);
  return limits;
}

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(const HttpLimits& limits = {}, std::optional<milliseconds> timeout = std::nullopt) {
    HttpRoutes routes;
    HttpRoute health = Saying("ok\n");
    health.open = true;
    routes.Add("/healthz", std::move(health));
    routes.Add("/large", Saying(std::string(size_t{8} << 20, 'x')));
    HttpRoute echo;
    echo.handler = [](const HttpRequest& request, const HttpReply& reply) {
      HttpAnswer answer;
      answer.content_type = "text/echo";
      answer.body = absl::StrCat(request.method, " ", request.path, " ", request.query);
      reply(std::move(answer));
    };
    routes.Add("/echo", std::move(echo));
    HttpRoute login;
    login.handler = [sessions = sessions_](const HttpRequest& request, const HttpReply& reply) {
      HttpAnswer answer;
      answer.fields = {{"Set-Cookie", sessions->Open(request.token)}, {"X-Other", "also"}};
      reply(std::move(answer));
    };
    routes.Add("/login", std::move(login));
    HttpRoute kept;
    kept.handler = kept_.Handler();
    kept.late = "the test takes too long";
    if (timeout.has_value()) kept.timeout = *timeout;
    routes.Add("/kept", std::move(kept));
    HttpOptions options;
    options.listen = "127.0.0.1:0";
    options.limits = limits;
    options.admit = admit_;
    options.on_rejected = [this](const transport::Peer& client, std::string_view path, const absl::Status& why) {
      rejected_.push_back(
          absl::StrCat(client.name, "@", client.Host(), " ", std::string(path), ": ", std::string(why.message())));
    };
    options.sessions = sessions_;
    auto server = HttpServer::Start(options, std::move(routes));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  // Sends a request on a connection of its own, and returns all bytes of the answers.
  std::string Ask(const std::string& text) {
    RawClient client(server_->port());
    client.Send(text);
    client.EndSending();
    return client.Rest();
  }
  void ExpectHealthy() {
    RawClient client(server_->port());
    client.Get("/healthz");
    EXPECT_THAT(client.Answer(), StartsWith("HTTP/1.1 200 OK\r\n"));
  }

  KeptReplies kept_;
  std::shared_ptr<HttpSessions> sessions_ = std::make_shared<HttpSessions>("penstock-7072", false);
  std::function<absl::Status(std::string_view, transport::Peer*)> admit_;
  std::vector<std::string> rejected_;  // name, host, path and message, by the server's thread
  std::unique_ptr<HttpServer> server_;
};

HttpAnswer Text(std::string text) {
  HttpAnswer answer;
  answer.body = std::move(text);
  return answer;
}

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

TEST_F(HttpServerTest, AReplyMayComeLaterAndFromAnotherThread) {
  Start();
  RawClient client(server_->port());
  client.Get("/kept");
  HttpReply reply = kept_.Take();
  ExpectHealthy();
  std::thread([&] { reply(Text("late")); }).join();
  EXPECT_THAT(client.Answer(), EndsWith("late"));
}

TEST_F(HttpServerTest, OnlyTheFirstReplyCounts) {
  Start();
  RawClient client(server_->port());
  client.Get("/kept");
  HttpReply first = kept_.Take();
  first(Text("one"));
  first(Text("two"));
  EXPECT_THAT(client.Answer(), EndsWith("one"));
  client.Get("/kept");
  HttpReply second = kept_.Take();
  first(Text("three"));
  second(Text("four"));
  EXPECT_THAT(client.Answer(), EndsWith("four"));
}

TEST_F(HttpServerTest, WithoutAReplyTheAnswerIs503AndALateReplyIsIgnored) {
  Start({}, milliseconds(1));
  RawClient client(server_->port());
  client.Get("/kept");
  HttpReply late = kept_.Take();
  const std::string answer = client.Answer();
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(answer, EndsWith("the test takes too long\n"));
  late(Text("late"));
  client.Get("/echo?next");
  EXPECT_THAT(client.Answer(), EndsWith("GET /echo next"));
}

TEST_F(HttpServerTest, AReplyAfterTheConnectionHasGoneDoesNothing) {
  Start();
  std::vector<HttpReply> replies;
  for (int i = 0; i < 20; ++i) {
    RawClient client(server_->port());
    client.Get("/kept");
    replies.push_back(kept_.Take());
  }
  for (const HttpReply& reply : replies) reply(Text("too late"));
  ExpectHealthy();
}

TEST_F(HttpServerTest, TheLimitOfConnectionsAppliesToRequestsUnderWayToo) {
  HttpLimits limits;
  limits.connections = 4;
  Start(limits);
  std::vector<std::unique_ptr<RawClient>> waiting;
  std::vector<HttpReply> replies;
  for (int i = 0; i < 10; ++i) {
    waiting.push_back(std::make_unique<RawClient>(server_->port()));
    waiting.back()->Get("/kept");
    replies.push_back(kept_.Take());
  }
  EXPECT_EQ(waiting.front()->Rest(), "");
  ExpectHealthy();
  replies.back()(Text("the last one"));
  EXPECT_THAT(waiting.back()->Answer(), EndsWith("the last one"));
}

TEST_F(HttpServerTest, StopsWhileRequestsAreUnderWay) {
  for (int round = 0; round < 20; ++round) {
    Start();
    RawClient idle(server_->port()), half(server_->port()), waiting(server_->port()), reading(server_->port(), 4096);
    half.Send("GET /he");
    reading.Get("/large");
    waiting.Get("/kept");
    HttpReply reply = kept_.Take();
    std::thread replies([&] { reply(Text("maybe")); });
    server_->Stop();
    server_->Stop();
    EXPECT_EQ(idle.Rest(), "");
    EXPECT_EQ(half.Rest(), "");
    replies.join();
    server_ = nullptr;
    reply(Text("after the end of the server"));
  }
}

// Threads reply while clients come and go and the server ends.
TEST_F(HttpServerTest, RepliesOfManyThreadsMeetClientsThatComeAndGo) {
  for (int round = 0; round < 3; ++round) {
    Start({}, milliseconds(5));
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([this, t] {
        for (int i = 0; i < 60; ++i) {
          RawClient client(server_->port());
          client.Get("/kept");
          if ((i + t) % 3 != 0) client.Answer();
        }
      });
    }
    std::thread replier([this] {
      for (int i = 0; i < 180; ++i) kept_.Take()(Text("answer"));
    });
    for (std::thread& thread : threads) thread.join();
    replier.join();
    server_ = nullptr;
  }
}

}  // namespace
}  // namespace penstock::server
