// The start of the server: its address, and the errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/http/http_server.h"

namespace penstock::server {
namespace {

using ::testing::HasSubstr;

TEST(HttpServerStart, ErrorsNameTheAddressAndTheRemedy) {
  const auto start = [](const std::string& listen, bool insecure = false) {
    HttpOptions options;
    options.listen = listen;
    options.insecure = insecure;
    return HttpServer::Start(options, {});
  };
  const auto first = start("127.0.0.1:0");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_GT((*first)->port(), 0);
  EXPECT_EQ((*first)->address(), absl::StrCat("127.0.0.1:", (*first)->port()));
  const absl::Status busy = start((*first)->address()).status();
  EXPECT_EQ(busy.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(busy.message()), HasSubstr((*first)->address()));
  EXPECT_THAT(std::string(busy.message()), HasSubstr("another process listens there already"));
  EXPECT_THAT(std::string(busy.message()), HasSubstr("--http"));
  const absl::Status network = start("0.0.0.0:0").status();
  EXPECT_EQ(network.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(network.message()), HasSubstr("--insecure"));
  EXPECT_TRUE(start("0.0.0.0:0", true).ok());
  EXPECT_EQ(start("nonsense").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(start("192.0.2.1:7072", true).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(start("localhost:0").ok());
}

}  // namespace
}  // namespace penstock::server
