// Signatures of requests to Azure Blob Storage with an account's key: Shared Key.
// https://learn.microsoft.com/en-us/rest/api/storageservices/authorize-with-shared-key
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_SIGNATURE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_SIGNATURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock {

// What is signed.
struct AzureRequest {
  std::string method;  // "GET"
  std::string account;
  std::string path;                                        // percent-encoded, with '/' before it
  std::vector<std::pair<std::string, std::string>> query;  // not encoded; each name once, in lower case
  std::map<std::string, std::string> headers;              // all that are sent; names in lower case
  uint64_t body_size = 0;
};

// The text that the signature is of.
std::string AzureStringToSign(const AzureRequest& request);

// The value of the header authorization. `key`: as bytes, not as base64.
std::string AzureAuthorization(const AzureRequest& request, absl::string_view key);

// "Fri, 26 Jun 2015 23:39:12 GMT"
std::string HttpDate(int64_t seconds);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_SIGNATURE_H_
