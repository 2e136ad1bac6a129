#include "pipeline/storage/object/common/request_secrets.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace penstock::storage {
namespace {

// Returns the body of an error response that contains the whole request.
std::string EchoOf(const HttpRequest& request) {
  HttpResponse response;
  response.body = request.url;
  for (const std::string& header : request.headers) absl::StrAppend(&response.body, "; ", header);
  Hide(SecretsOf(request), &response);
  return response.body;
}

TEST(RequestSecrets, HeadersWithKeysAndTokensAreHidden) {
  for (const std::string name : {"Authorization", "x-amz-security-token", "x-amz-sso_bearer_token",
                                 "X-aws-ec2-metadata-token", "X-IDENTITY-HEADER"}) {
    HttpRequest request;
    request.url = "https://host/file";
    request.headers = {name + ": hunter2", "Range: bytes=0-9"};
    EXPECT_EQ(EchoOf(request), absl::StrCat("https://host/file; ", name, ": (hidden); Range: bytes=0-9"));
  }
}

TEST(RequestSecrets, ATokenIsHiddenEvenWithoutItsScheme) {
  HttpRequest request;
  request.headers = {"Authorization: Bearer hunter2"};
  HttpResponse response;
  response.body = "the token hunter2 is old";
  Hide(SecretsOf(request), &response);
  EXPECT_EQ(response.body, "the token (hidden) is old");
}

TEST(RequestSecrets, SignaturesAndUploadsInUrlsAreHidden) {
  for (const std::string field : {"sig", "upload_id"}) {
    HttpRequest request;
    request.url = absl::StrCat("https://host/file?name=a&", field, "=hunter%2F2&last=b");
    EXPECT_EQ(EchoOf(request), absl::StrCat("https://host/file?name=a&", field, "=(hidden)&last=b"));
    HttpResponse response;
    response.body = "decoded: hunter/2";
    Hide(SecretsOf(request), &response);
    EXPECT_EQ(response.body, "decoded: (hidden)");
  }
}

TEST(RequestSecrets, SecretsInFormsAreHidden) {
  for (const std::string field :
       {"assertion", "client_assertion", "client_secret", "refresh_token", "subject_token", "WebIdentityToken"}) {
    HttpRequest request;
    request.url = "https://host/token";
    request.headers = {"Content-Type: application/x-www-form-urlencoded"};
    request.body = absl::StrCat("grant_type=a&", field, "=hunter%2F2");
    HttpResponse response;
    response.body = absl::StrCat(request.body, "; hunter/2");
    Hide(SecretsOf(request), &response);
    EXPECT_EQ(response.body, absl::StrCat("grant_type=a&", field, "=(hidden); (hidden)"));
  }
}

TEST(RequestSecrets, SecretsThatTheCallerNamesAreHidden) {
  HttpRequest request;
  request.url = "https://host/file";
  request.headers = {"X-Key: hunter2"};
  request.secrets = {"hunter2"};
  EXPECT_EQ(EchoOf(request), "https://host/file; X-Key: (hidden)");
}

}  // namespace
}  // namespace penstock::storage
