// The routes of the page, called as the server calls them, on made-up replies.
#include "server/page/page_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/runtime/random_source.h"
#include "server/http/text_pages.h"

namespace penstock::server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

class PageRoutes : public ::testing::Test {
 protected:
  PageRoutes() {
    PageSources sources;
    sources.coordinator = "127.0.0.1:7070";
    sources.status = [](const ReplyDone<v1::StatusReply>& done) {
      v1::StatusReply status;
      status.set_version("1.2.3");
      done(status);
    };
    sources.explain = [](const v1::ExplainRequest&, const ReplyDone<v1::ExplainReply>& done) {
      v1::ExplainReply reply;
      v1::Explanation* job = reply.add_jobs();
      job->set_job("<img onerror=alert(1)>");
      job->set_limit(v1::Explanation::CPU);
      job->set_headline("the CPU of worker \"w1\"");
      done(reply);
    };
    sources.shards = [](const v1::ListShardsRequest& request, const ReplyDone<v1::ListShardsReply>& done) {
      if (request.job() != "a b") return done(absl::NotFoundError("there is no job 'x'"));
      v1::ListShardsReply reply;
      for (int i = 0; i < 300; ++i) {
        v1::ListShardsReply::ShardStatus* shard = reply.add_shards();
        shard->mutable_shard()->set_path(i == 299 ? "not-indexed" : "indexed");
        shard->set_indexed(i != 299);
      }
      done(reply);
    };
    sources.quarantine = [](const v1::QuarantineRequest&, const ReplyDone<v1::QuarantineReply>& done) {
      done(absl::FailedPreconditionError("the job is not ready"));
    };
    AddPage(std::move(sources), sessions_, pool_, &routes_);
  }
  ~PageRoutes() override { pool_->Stop(); }

  HttpAnswer Ask(const std::string& path, const std::string& query = "", const std::string& token = "") {
    std::promise<HttpAnswer> answer;
    routes_.Find(path)->handler({"GET", path, query, token},
                                [&answer](HttpAnswer made) { answer.set_value(std::move(made)); });
    return answer.get_future().get();
  }

  SeededRandom random_{17};
  std::shared_ptr<HttpSessions> sessions_ = std::make_shared<HttpSessions>("penstock-7072", false, &random_);
  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(1, "page-test");
  HttpRoutes routes_;
};

TEST_F(PageRoutes, TheFilesAreOpenAndHaveAStrictPolicyAndTheDataAreNotOpen) {
  for (const std::string& path : routes_.Paths()) {
    const HttpRoute* route = routes_.Find(path);
    EXPECT_EQ(route->open, path.rfind("/api/", 0) != 0) << path;
    if (!route->open) continue;
    EXPECT_THAT(Ask(path).fields,
                Contains(Pair("Content-Security-Policy",
                              AllOf(StartsWith("default-src 'none'; script-src 'self'; style-src 'self'; "),
                                    HasSubstr("frame-ancestors 'none'"),
                                    HasSubstr("require-trusted-types-for 'script'"), Not(HasSubstr("unsafe"))))))
        << path;
  }
  EXPECT_THAT(Ask("/").content_type, StartsWith("text/html"));
}

TEST_F(PageRoutes, ALoginWithATokenGetsACookie) {
  EXPECT_TRUE(Ask("/api/v1/login").fields.empty());
  const HttpAnswer answer = Ask("/api/v1/login", "", "secret");
  ASSERT_EQ(answer.fields.size(), 1);
  EXPECT_EQ(answer.fields[0].first, "Set-Cookie");
  EXPECT_THAT(answer.fields[0].second, Not(HasSubstr("secret")));
  EXPECT_EQ(sessions_->TokenOf(answer.fields[0].second), "secret");
}

TEST_F(PageRoutes, AnExplanationHasTheSentenceOfTheCommand) {
  const std::string body = Ask("/api/v1/explain").body;
  EXPECT_THAT(body, HasSubstr("\"coordinator\": \"127.0.0.1:7070\""));
  EXPECT_THAT(body,
              HasSubstr("\"sentence\": \"job <img onerror=alert(1)>: the limit is the CPU of worker \\\"w1\\\"\""));
  EXPECT_THAT(body, HasSubstr("\"explanation\": {\"job\": "));
}

TEST_F(PageRoutes, TheShardsWithoutAnIndexComeFirst) {
  const std::string body = Ask("/api/v1/shards", "job=a%20b").body;
  EXPECT_THAT(body, AllOf(HasSubstr("\"all\": 300"), HasSubstr("\"indexed\": 299"), HasSubstr("\"left_out\": 100")));
  EXPECT_LT(body.find("not-indexed"), body.find("\"path\": \"indexed\""));
}

TEST_F(PageRoutes, ErrorsHaveTheStatusOfTheirKind) {
  EXPECT_EQ(Ask("/api/v1/shards", "job=x").status, 404);
  EXPECT_EQ(Ask("/api/v1/shards", "job=x").body, "there is no job 'x'\n");
  EXPECT_EQ(Ask("/api/v1/quarantine", "job=x").status, 409);
}

TEST(QueryValue, DecodesTheFirstFieldOfTheName) {
  EXPECT_EQ(QueryValue("a=1&job=a%20b%2Fc+d&job=2", "job"), "a b/c d");
  EXPECT_EQ(QueryValue("jobs=1", "job"), "");
  EXPECT_EQ(QueryValue("job=%zz%4", "job"), "%zz%4");
  EXPECT_EQ(QueryValue("", "job"), "");
}

}  // namespace
}  // namespace penstock::server
