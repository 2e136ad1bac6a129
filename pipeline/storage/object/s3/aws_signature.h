// Signatures of requests to S3 and compatible storages: AWS Signature Version 4.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_AWS_SIGNATURE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_AWS_SIGNATURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace penstock::storage {

// Identity of the caller. `secret` and `token` are secret: never put them in a message or a log.
struct AwsKeys {
  std::string id, secret;
  std::string token = {};  // only for temporary keys; may be empty
  int64_t ends_at = 0;     // seconds since 1970; 0: never

  bool operator==(const AwsKeys&) const = default;
};

// The signed parts of a request.
struct AwsRequest {
  std::string method;                                      // "GET", for example
  std::string host;                                        // with the port unless it is the scheme's default
  std::string path;                                        // percent-encoded once, with a leading '/'
  std::vector<std::pair<std::string, std::string>> query;  // not encoded
  std::map<std::string, std::string> headers;  // signed headers besides host and x-amz-*; names in lower case
  std::string body;
  std::string service = "s3", region;
  int64_t time = 0;  // seconds since 1970, UTC
};

// Returns the headers to send besides `headers`: authorization, x-amz-date, x-amz-content-sha256, and
// x-amz-security-token if the keys have a token.
std::map<std::string, std::string> AwsSignedHeaders(const AwsRequest& request, const AwsKeys& keys);

// Returns the query to send, sorted and encoded as in the signature: "a=1&b=2".
std::string AwsQuery(const std::vector<std::pair<std::string, std::string>>& query);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_S3_AWS_SIGNATURE_H_
