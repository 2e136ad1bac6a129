// The source renews tokens before they expire, with one request at a time. A token outlives an outage of its service.
#include "pipeline/storage/object/common/bearer_token.h"

#include <gtest/gtest.h>

#include <atomic>

#include "absl/strings/str_cat.h"

namespace penstock::storage {
namespace {

class TokenSourceTest : public testing::Test {
 protected:
  std::string Get() {
    absl::StatusOr<BearerToken> got = absl::UnknownError("not called");
    source_.Get([&got](absl::StatusOr<BearerToken> token) { got = std::move(token); });
    return got.ok() ? got->value : std::string(got.status().message());
  }

  int64_t now_ = 1000;
  bool answers_ = true, later_ = false;
  int asked_ = 0;
  std::vector<CallDone<BearerToken>> asking_;
  TokenSource source_{[this](CallDone<BearerToken> done) {
                        ++asked_;
                        if (later_) return asking_.push_back(std::move(done));
                        if (!answers_) return std::move(done)(absl::UnavailableError("away"));
                        std::move(done)(BearerToken{absl::StrCat("token", asked_), now_ + 3600});
                      },
                      [this] { return now_; }};
};

TEST_F(TokenSourceTest, ATokenIsRenewedBeforeItExpires) {
  EXPECT_EQ(Get(), "token1");
  now_ += 3000;
  EXPECT_EQ(Get(), "token1");
  now_ += 400;
  EXPECT_EQ(Get(), "token2");
}

TEST_F(TokenSourceTest, DuringAnOutageTheOldTokenServesUntilItExpires) {
  EXPECT_EQ(Get(), "token1");
  answers_ = false;
  now_ += 3500;
  EXPECT_EQ(Get(), "token1");
  EXPECT_EQ(Get(), "token1");
  EXPECT_EQ(asked_, 2) << "the source does not fetch a token for each request";
  now_ += 200;
  EXPECT_EQ(Get(), "away");
  answers_ = true;
  EXPECT_EQ(Get(), "token4");
}

TEST_F(TokenSourceTest, ARejectedTokenIsNotSentAgain) {
  EXPECT_EQ(Get(), "token1");
  source_.Forget("another");
  EXPECT_EQ(Get(), "token1");
  source_.Forget("token1");
  EXPECT_EQ(Get(), "token2");
}

TEST_F(TokenSourceTest, ConcurrentCallersShareOneRequest) {
  later_ = true;
  std::vector<std::string> got;
  for (int i = 0; i < 3; ++i) source_.Get([&](absl::StatusOr<BearerToken> token) { got.push_back(token->value); });
  ASSERT_EQ(asking_.size(), 1u);
  EXPECT_TRUE(got.empty());
  std::move(asking_[0])(BearerToken{"one", 0});
  EXPECT_EQ(got, std::vector<std::string>(3, "one"));
}

TEST(TokenOf, ParsesAllFormsOfAnAnswer) {
  const auto of = [](const std::string& body, int status = 200) {
    return TokenOf("the service", HttpResponse{.status = status, .headers = {}, .body = body, .bytes = 0}, 100);
  };
  EXPECT_EQ(of("{\"access_token\": \"t\", \"expires_in\": 50}")->ends_at, 150);
  EXPECT_EQ(of("{\"access_token\": \"t\", \"expires_in\": \"50\"}")->ends_at, 150);
  EXPECT_EQ(of("{\"access_token\": \"t\", \"expires_on\": \"777\"}")->ends_at, 777);
  EXPECT_TRUE(absl::IsUnavailable(of("{}").status()));
  EXPECT_TRUE(absl::IsUnavailable(of("x", 503).status()));
  EXPECT_EQ(of("{\"error\": \"invalid_grant\", \"error_description\": \"no such key\\r\\nTrace\"}", 400).status(),
            absl::PermissionDeniedError("the service: HTTP 400: invalid_grant: no such key"));
}

TEST(MayHoldSecrets, OtherMachinesReceiveSecretsOnlyByHttps) {
  for (const char* url : {"https://a/b", "http://127.0.0.1:80/x", "http://localhost", "http://[::1]/"}) {
    EXPECT_TRUE(MayHoldSecrets(url)) << url;
  }
  for (const char* url : {"http://a/b", "http://localhost.example.com/", "ftp://localhost/", ""}) {
    EXPECT_FALSE(MayHoldSecrets(url)) << url;
  }
}

}  // namespace
}  // namespace penstock::storage
