// Signatures of requests to S3 and what speaks it: AWS Signature Version 4.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_SIGNATURE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_SIGNATURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// Who asks. `secret` and `token` are secret: never in a message or a log.
struct AwsKeys {
  std::string id, secret;
  std::string token = {};  // of keys that end; may be empty
  int64_t ends_at = 0;     // seconds since 1970; 0: never

  bool operator==(const AwsKeys&) const = default;
};

// What is signed.
struct AwsRequest {
  std::string method;                                      // "GET"
  std::string host;                                        // with the port where it is not the scheme's
  std::string path;                                        // percent-encoded once, with '/' before it
  std::vector<std::pair<std::string, std::string>> query;  // not encoded
  std::map<std::string, std::string> headers;  // that are signed besides host and x-amz-*; names in lower case
  std::string body;
  std::string service = "s3", region;
  int64_t time = 0;  // seconds since 1970, UTC
};

// The headers to send besides `headers`: authorization, x-amz-date, x-amz-content-sha256, and x-amz-security-token
// where there is one.
std::map<std::string, std::string> AwsSignedHeaders(const AwsRequest& request, const AwsKeys& keys);

// "a=1&b=2", sorted and encoded as the signature has it: the query to send.
std::string AwsQuery(const std::vector<std::pair<std::string, std::string>>& query);

// 32 bytes.
std::string HmacSha256(absl::string_view key, absl::string_view text);

// Lower-case hexadecimal.
std::string Sha256Hex(absl::string_view bytes);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AWS_SIGNATURE_H_
