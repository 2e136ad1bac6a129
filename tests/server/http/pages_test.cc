// Health pages and pages of text, called as the server calls them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "base/runtime/thread_pool.h"
#include "server/http/health_pages.h"
#include "server/http/http_message.h"
#include "server/http/text_pages.h"

namespace penstock::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Calls the handler of a path. The result has a value after the answer.
std::shared_ptr<std::optional<HttpAnswer>> Ask(const HttpRoutes& routes, const std::string& path) {
  auto answer = std::make_shared<std::optional<HttpAnswer>>();
  routes.Find(path)->handler({"GET", path, ""}, [answer](HttpAnswer made) { *answer = std::move(made); });
  return answer;
}

// Calls the handler of a path, whose answer comes on another thread.
std::future<HttpAnswer> AskLater(const HttpRoutes& routes, const std::string& path) {
  auto answer = std::make_shared<std::promise<HttpAnswer>>();
  routes.Find(path)->handler({"GET", path, ""}, [answer](HttpAnswer made) { answer->set_value(std::move(made)); });
  return answer->get_future();
}

HealthCheck Always(absl::Status status) {
  return [status = std::move(status)](const HealthDone& done) { done(status); };
}

TEST(HealthPages, AnswerOkOrTheReasonAlone) {
  HttpRoutes routes;
  AddHealthPages({Always(absl::OkStatus()), Always(absl::UnavailableError("the worker is draining"))}, &routes);
  EXPECT_THAT(routes.Paths(), ElementsAre("/healthz", "/readyz"));
  const auto alive = Ask(routes, "/healthz"), ready = Ask(routes, "/readyz");
  EXPECT_EQ((*alive)->status, 200);
  EXPECT_EQ((*alive)->body, "ok\n");
  EXPECT_EQ((*ready)->status, 503);
  EXPECT_EQ((*ready)->body, "the worker is draining\n");
}

TEST(HealthPages, ACheckThatHangsHasATimeLimitAndItsOwnReason) {
  HttpRoutes routes;
  const HealthCheck hangs = [](const HealthDone&) {};
  AddHealthPages({hangs, hangs}, &routes, std::chrono::milliseconds(250));
  EXPECT_FALSE(Ask(routes, "/healthz")->has_value());
  EXPECT_EQ(routes.Find("/healthz")->timeout, std::chrono::milliseconds(250));
  EXPECT_THAT(routes.Find("/healthz")->late, HasSubstr("control loop does not answer within 250 ms"));
}

TEST(HealthPages, OfTwoChecksBothMustSucceed) {
  const auto result = [](const HealthCheck& check) {
    absl::Status status = absl::InternalError("no answer");
    check([&status](absl::Status found) { status = std::move(found); });
    return std::string(status.message());
  };
  const HealthCheck ok = Always(absl::OkStatus());
  EXPECT_EQ(result(BothHealthy(ok, ok)), "");
  EXPECT_EQ(result(BothHealthy(Always(absl::UnavailableError("first")), Always(absl::UnavailableError("second")))),
            "first");
  EXPECT_EQ(result(BothHealthy(ok, Always(absl::UnavailableError("second")))), "second");
  const HealthCheck hangs = [](const HealthDone&) {};
  EXPECT_EQ(result(BothHealthy(Always(absl::UnavailableError("first")), hangs)), "first");
  EXPECT_EQ(result(BothHealthy(ok, hangs)), "no answer");
  EXPECT_EQ(result(BothHealthy(hangs, ok)), "no answer");
}

// The server's thread starts every check, so that none starts after the server has stopped.
TEST(HealthPages, TheSecondCheckDoesNotWaitForTheFirst) {
  HealthDone first;
  bool second = false;
  std::string reason = "no answer";
  const HealthCheck both = BothHealthy([&first](HealthDone done) { first = std::move(done); },
                                       [&second](const HealthDone& done) {
                                         second = true;
                                         done(absl::UnavailableError("second"));
                                       });
  both([&reason](const absl::Status& status) { reason = std::string(status.message()); });
  EXPECT_TRUE(second);
  EXPECT_EQ(reason, "no answer");
  first(absl::OkStatus());
  EXPECT_EQ(reason, "second");
}

class PagesTest : public ::testing::Test {
 protected:
  ~PagesTest() override { pool_->Stop(); }
  const std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(1, "pages");
};

using SharedPage = PagesTest;

TEST_F(SharedPage, IsMadeByThePool) {
  HttpRoutes routes;
  const PageSource source = [](const PageDone& done) { done(PageText([] { return std::string("rows 5\n"); })); };
  AddSharedPage("/metrics", "text/plain; version=0.0.4", source, pool_, &routes);
  const HttpAnswer answer = AskLater(routes, "/metrics").get();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "text/plain; version=0.0.4");
  EXPECT_EQ(answer.body, "rows 5\n");
}

TEST_F(SharedPage, IsUnavailableAfterThePoolHasStopped) {
  HttpRoutes routes;
  const PageSource source = [](const PageDone& done) { done(PageText([] { return std::string("rows 5\n"); })); };
  AddSharedPage("/metrics", "text/plain; version=0.0.4", source, pool_, &routes);
  pool_->Stop();
  for (int i = 0; i < 3; ++i) {
    const auto answer = Ask(routes, "/metrics");
    ASSERT_TRUE(answer->has_value());
    EXPECT_EQ((*answer)->status, 503);
  }
}

// A source that the test answers.
class ManualSource {
 public:
  PageSource Source() {
    return [this](PageDone done) {
      MutexLock lock(&mutex_);
      asked_.push_back(std::move(done));
      changed_.NotifyAll();
    };
  }
  // Blocks until a page queries the source, and takes the query.
  PageDone Take() {
    MutexLock lock(&mutex_);
    while (asked_.empty()) changed_.Wait(&mutex_);
    PageDone done = std::move(asked_.front());
    asked_.erase(asked_.begin());
    return done;
  }
  size_t asked() {
    MutexLock lock(&mutex_);
    return asked_.size();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<PageDone> asked_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(SharedPage, RequestsDuringAQueryShareTheNextOne) {
  ManualSource source;
  HttpRoutes routes;
  AddSharedPage("/api/v1/status", "application/json", source.Source(), pool_, &routes);
  auto first = AskLater(routes, "/api/v1/status");
  const PageDone begun = source.Take();
  std::vector<std::future<HttpAnswer>> later;
  for (int i = 0; i < 10; ++i) later.push_back(AskLater(routes, "/api/v1/status"));
  EXPECT_EQ(source.asked(), 0u);
  begun(PageText([] { return std::string("{\"n\": 1}"); }));
  EXPECT_EQ(first.get().body, "{\"n\": 1}");
  source.Take()(PageText([] { return std::string("{\"n\": 2}"); }));
  for (auto& answer : later) {
    const HttpAnswer got = answer.get();
    EXPECT_EQ(got.body, "{\"n\": 2}") << "the state at the time of the request, or later";
    EXPECT_EQ(got.content_type, "application/json");
  }
  EXPECT_EQ(source.asked(), 0u);
  auto last = AskLater(routes, "/api/v1/status");
  source.Take()(absl::ResourceExhaustedError("the coordinator is busy"));
  const HttpAnswer failed = last.get();
  EXPECT_EQ(failed.status, 503);
  EXPECT_EQ(failed.body, "the coordinator is busy\n");
}

TEST_F(SharedPage, ASourceThatHangsLeavesALimitedNumberOfRequests) {
  ManualSource source;
  HttpRoutes routes;
  AddSharedPage("/api/v1/status", "application/json", source.Source(), pool_, &routes);
  int rejected = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto answer = Ask(routes, "/api/v1/status");
    if (answer->has_value()) ++rejected;
  }
  EXPECT_EQ(rejected, 1000 - 256 - 1);
}

TEST_F(SharedPage, ASourceThatAnswersAtOnceServesEveryRequest) {
  HttpRoutes routes;
  const PageSource source = [](const PageDone& done) { done(PageText([] { return std::string("{}"); })); };
  AddSharedPage("/api/v1/status", "application/json", source, pool_, &routes);
  std::vector<std::future<HttpAnswer>> answers;
  for (int i = 0; i < 100; ++i) answers.push_back(AskLater(routes, "/api/v1/status"));
  for (auto& answer : answers) EXPECT_EQ(answer.get().status, 200);
}

}  // namespace
}  // namespace penstock::server
