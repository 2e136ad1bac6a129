// A server over real sockets, with routes for its tests.
#ifndef PENSTOCK_TESTS_SERVER_HTTP_HTTP_SERVER_TESTING_H_
#define PENSTOCK_TESTS_SERVER_HTTP_HTTP_SERVER_TESTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "server/http/http_server.h"
#include "server/http/http_sessions.h"
#include "tests/server/http/raw_client.h"

namespace penstock::server {

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

inline HttpRoute Saying(std::string text) {
  HttpRoute route;
  route.handler = [text = std::move(text)](const HttpRequest&, const HttpReply& reply) {
    HttpAnswer answer;
    answer.body = text;
    reply(std::move(answer));
  };
  return route;
}

// For tests whose clients must get their answers whole, also on a busy machine.
inline HttpLimits PatientLimits() {
  HttpLimits limits;
  limits.head = limits.write = limits.linger = std::chrono::minutes(1);
  return limits;
}

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(const HttpLimits& limits = {}, std::optional<std::chrono::milliseconds> timeout = std::nullopt) {
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
    EXPECT_THAT(client.Answer(), ::testing::StartsWith("HTTP/1.1 200 OK\r\n"));
  }

  KeptReplies kept_;
  std::shared_ptr<HttpSessions> sessions_ = std::make_shared<HttpSessions>("penstock-7072", false);
  std::function<absl::Status(std::string_view, transport::Peer*)> admit_;
  std::vector<std::string> rejected_;  // name, host, path and message, by the server's thread
  std::unique_ptr<HttpServer> server_;
};

inline HttpAnswer Text(std::string text) {
  HttpAnswer answer;
  answer.body = std::move(text);
  return answer;
}

}  // namespace penstock::server

#endif  // PENSTOCK_TESTS_SERVER_HTTP_HTTP_SERVER_TESTING_H_
