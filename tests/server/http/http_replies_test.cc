// Replies that come late, twice or never, and the end of a server that owes some.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/http/http_server.h"
#include "tests/server/http/http_server_testing.h"

namespace penstock::server {
namespace {

using std::chrono::milliseconds;
using ::testing::EndsWith;
using ::testing::StartsWith;

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
