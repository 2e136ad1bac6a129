// Compares Azure's signatures with the examples of its documentation:
// https://learn.microsoft.com/en-us/rest/api/storageservices/authorize-with-shared-key
#include "pipeline/storage/object/azure/azure_signature.h"

#include <gtest/gtest.h>

namespace penstock::storage {
namespace {

TEST(AzureSignature, TheSignedTextMatchesTheDocumentation) {
  AzureRequest request;
  request.method = "GET";
  request.account = "myaccount";
  request.path = "/mycontainer";
  request.query = {{"timeout", "20"}, {"restype", "container"}, {"comp", "metadata"}};
  request.headers = {{"x-ms-date", "Fri, 26 Jun 2015 23:39:12 GMT"}, {"x-ms-version", "2015-02-21"}};
  EXPECT_EQ(AzureStringToSign(request),
            "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n"
            "/myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20");
}

TEST(AzureSignature, SignsLengthTypeAndConditionsOfAPut) {
  AzureRequest request;
  request.method = "PUT";
  request.account = "me";
  request.path = "/c/a%20b";
  request.headers = {{"content-type", "text/plain"}, {"if-none-match", "*"}, {"x-ms-blob-type", "BlockBlob"}};
  request.body_size = 11;
  EXPECT_EQ(AzureStringToSign(request),
            "PUT\n\n\n11\n\ntext/plain\n\n\n\n*\n\n\nx-ms-blob-type:BlockBlob\n/me/c/a%20b");
}

// Expected value: `printf ... | openssl dgst -sha256 -mac HMAC -macopt hexkey:6b6579 -binary | base64`.
TEST(AzureSignature, IsTheHmacOfTheSignedText) {
  AzureRequest request;
  request.method = "GET";
  request.account = "me";
  request.path = "/c";
  EXPECT_EQ(AzureAuthorization(request, "key"), "SharedKey me:OcZm2G3hDYNK4EltH0tAzyMggDiZFQnWV39UTQV2jSE=");
}

TEST(AzureSignature, DatesHaveTheFormatOfHttp) { EXPECT_EQ(HttpDate(1435361952), "Fri, 26 Jun 2015 23:39:12 GMT"); }

}  // namespace
}  // namespace penstock::storage
