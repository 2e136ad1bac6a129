#include "pipeline/storage/object/http/http_authorization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace penstock::storage {
namespace {

using ::testing::HasSubstr;

class HttpAuthorizationTest : public ::testing::Test {
 protected:
  HttpAuthorization Make() {
    return HttpAuthorization({.variable = [this](const std::string& name) { return variables_[name]; },
                              .file = [this](const std::string& path) -> absl::StatusOr<std::string> {
                                ++reads_;
                                if (files_.count(path) == 0) return absl::NotFoundError(path + ": no such file");
                                return files_[path];
                              },
                              .now = nullptr},
                             &clock_);
  }

  std::map<std::string, std::string> variables_, files_;
  int reads_ = 0;
  ManualClock clock_;
};

TEST_F(HttpAuthorizationTest, TheVariablePrecedesTheFile) {
  variables_["PENSTOCK_HTTP_AUTHORIZATION"] = "Bearer of-the-variable";
  variables_["PENSTOCK_HTTP_AUTHORIZATION_FILE"] = "/run/key";
  files_["/run/key"] = "Bearer of-the-file";
  HttpAuthorization authorization = Make();
  EXPECT_EQ(authorization.Value(), "Bearer of-the-variable");
  EXPECT_EQ(reads_, 0);
}

TEST_F(HttpAuthorizationTest, NothingIsSetByDefault) {
  HttpAuthorization authorization = Make();
  EXPECT_EQ(authorization.Value(), "");
  EXPECT_TRUE(authorization.fault().ok());
  EXPECT_EQ(HttpAuthorization({}, &clock_).Value(), "");
}

TEST_F(HttpAuthorizationTest, AReplacedFileTakesEffectAfterTenSeconds) {
  variables_["PENSTOCK_HTTP_AUTHORIZATION_FILE"] = "/run/key";
  files_["/run/key"] = "Bearer one\n";
  HttpAuthorization authorization = Make();
  EXPECT_EQ(authorization.Value(), "Bearer one");
  files_["/run/key"] = "Bearer two\n";
  EXPECT_EQ(authorization.Value(), "Bearer one");
  clock_.Advance(10 * kSecond);
  EXPECT_EQ(authorization.Value(), "Bearer two");
  EXPECT_EQ(reads_, 2);
}

TEST_F(HttpAuthorizationTest, AFileThatVanishesKeepsItsLastContentAndIsNamed) {
  variables_["PENSTOCK_HTTP_AUTHORIZATION_FILE"] = "/run/key";
  files_["/run/key"] = "Bearer one";
  HttpAuthorization authorization = Make();
  EXPECT_EQ(authorization.Value(), "Bearer one");
  files_.clear();
  clock_.Advance(10 * kSecond);
  EXPECT_EQ(authorization.Value(), "Bearer one");
  EXPECT_THAT(std::string(authorization.fault().message()),
              HasSubstr("PENSTOCK_HTTP_AUTHORIZATION_FILE: /run/key: no such file"));
}

TEST_F(HttpAuthorizationTest, AFileThatWouldEndTheHeaderIsRejectedWithoutItsContent) {
  variables_["PENSTOCK_HTTP_AUTHORIZATION_FILE"] = "/run/key";
  for (const char* content : {"Bearer hunter2\r\nHost: elsewhere", "", "\n"}) {
    files_["/run/key"] = content;
    HttpAuthorization authorization = Make();
    EXPECT_EQ(authorization.Value(), "");
    const std::string fault(authorization.fault().message());
    EXPECT_THAT(fault, HasSubstr("/run/key must hold one line"));
    EXPECT_EQ(fault.find("hunter2"), std::string::npos);
  }
}

}  // namespace
}  // namespace penstock::storage
