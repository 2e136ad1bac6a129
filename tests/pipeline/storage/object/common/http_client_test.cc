// Redirects, what the client sends to their targets, and which connections it uses again.
#include "pipeline/storage/object/common/http_client.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "pipeline/storage/storage_wait.h"
#include "tests/support/http_server/http_server.h"

namespace penstock::storage {
namespace {

class HttpRedirects : public testing::Test {
 protected:
  absl::StatusOr<HttpResponse> Ask(const std::string& url) {
    HttpRequest request;
    request.url = url;
    request.headers = {"Authorization: Bearer hunter2", "Range: bytes=0-9"};
    request.follow_redirects = true;
    return WaitForCall<HttpResponse>(
        [&](CallDone<HttpResponse> done) { client_.Send(std::move(request), CallOptions(), std::move(done)); });
  }
  std::vector<support::ServedRequest> SeenThere() {
    MutexLock lock(&mutex_);
    return seen_there_;
  }

  Mutex mutex_;
  std::vector<support::ServedRequest> seen_there_ ABSL_GUARDED_BY(mutex_);
  support::HttpServer there_{[this](const support::ServedRequest& request) {
    MutexLock lock(&mutex_);
    seen_there_.push_back(request);
    return support::ServedAnswer{.body = "from there"};
  }};
  std::string to_ = there_.url() + "/file";
  support::HttpServer here_{[this](const support::ServedRequest& request) {
    if (request.path == "/moved")
      return support::ServedAnswer{.body = request.headers.contains("authorization") ? "known" : "no"};
    return support::ServedAnswer{.status = 302, .headers = {{"Location", to_}}};
  }};
  HttpClient client_{2};
};

TEST_F(HttpRedirects, AnotherServerReceivesTheRangeButNotTheToken) {
  const auto answer = Ask(here_.url() + "/file");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "from there");
  const std::vector<support::ServedRequest> seen = SeenThere();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_FALSE(seen[0].headers.contains("authorization"));
  EXPECT_EQ(seen[0].headers.at("range"), "bytes=0-9");
}

TEST_F(HttpRedirects, TheSameServerReceivesTheTokenAgain) {
  to_ = here_.url() + "/moved";
  const auto answer = Ask(here_.url() + "/file");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "known");
}

TEST_F(HttpRedirects, RedirectsToFilesAndInCirclesFail) {
  to_ = "file:///etc/passwd";
  EXPECT_FALSE(Ask(here_.url() + "/file").ok());
  to_ = here_.url() + "/again";
  EXPECT_FALSE(Ask(here_.url() + "/file").ok());
  EXPECT_LT(here_.requests(), 20);
}

// A network may have dropped an idle connection. A request on it would wait until the limit of silence.
TEST(HttpConnections, ConnectionsThatWereIdleTooLongAreNotReused) {
  Mutex mutex;
  std::set<std::thread::id> connections;  // the server has a thread per connection
  support::HttpServer server([&](const support::ServedRequest& request) {
    MutexLock lock(&mutex);
    connections.insert(std::this_thread::get_id());
    return support::ServedAnswer{.body = "here"};
  });
  HttpClient client(1);
  const auto connections_after_one_more = [&] {
    HttpRequest request;
    request.url = server.url() + "/file";
    request.silence = kSecond;
    const auto answer = WaitForCall<HttpResponse>(
        [&](CallDone<HttpResponse> done) { client.Send(std::move(request), CallOptions(), std::move(done)); });
    EXPECT_TRUE(answer.ok()) << answer.status();
    MutexLock lock(&mutex);
    return connections.size();
  };
  EXPECT_EQ(connections_after_one_more(), 1u);
  EXPECT_EQ(connections_after_one_more(), 1u);
  Clock::Real()->Pause(2200 * kMillisecond);  // libcurl measures the age in whole seconds of real time
  EXPECT_EQ(connections_after_one_more(), 2u);
}

}  // namespace
}  // namespace penstock::storage
