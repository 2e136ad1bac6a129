// Compares signatures with the examples in S3's own documentation:
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
#include "pipeline/storage/object/s3/aws_signature.h"

#include <gtest/gtest.h>

namespace penstock::storage {
namespace {

AwsKeys ExampleKeys() { return {.id = "AKIAIOSFODNN7EXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}; }

AwsRequest ExampleRequest(const std::string& path) {
  AwsRequest request;
  request.method = "GET";
  request.host = "examplebucket.s3.amazonaws.com";
  request.path = path;
  request.region = "us-east-1";
  request.time = 1369353600;  // 2013-05-24T00:00:00Z
  return request;
}

std::string SignatureOf(const AwsRequest& request) {
  const std::string header = AwsSignedHeaders(request, ExampleKeys()).at("authorization");
  return header.substr(header.find("Signature=") + 10);
}

TEST(AwsSignature, OfARangeMatchesTheDocumentation) {
  AwsRequest request = ExampleRequest("/test.txt");
  request.headers = {{"range", "bytes=0-9"}};
  EXPECT_EQ(SignatureOf(request), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(AwsSignature, OfAListingMatchesTheDocumentation) {
  AwsRequest request = ExampleRequest("/");
  request.query = {{"max-keys", "2"}, {"prefix", "J"}};
  EXPECT_EQ(SignatureOf(request), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(AwsSignature, OfAParameterWithoutAValueMatchesTheDocumentation) {
  AwsRequest request = ExampleRequest("/");
  request.query = {{"lifecycle", ""}};
  EXPECT_EQ(SignatureOf(request), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(AwsSignature, ATokenIsSentAndSigned) {
  AwsKeys keys = ExampleKeys();
  keys.token = "session";
  const auto headers = AwsSignedHeaders(ExampleRequest("/"), keys);
  EXPECT_EQ(headers.at("x-amz-security-token"), "session");
  EXPECT_NE(headers.at("authorization").find("x-amz-security-token"), std::string::npos);
}

TEST(AwsSignature, AQueryIsSortedAndEncoded) {
  EXPECT_EQ(AwsQuery({{"prefix", "a b/c+d"}, {"max-keys", "2"}}), "max-keys=2&prefix=a%20b%2Fc%2Bd");
}

}  // namespace
}  // namespace penstock::storage
