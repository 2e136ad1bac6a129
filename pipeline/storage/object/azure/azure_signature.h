// Signatures of requests to Azure Blob Storage with an account key: Shared Key.
// https://learn.microsoft.com/en-us/rest/api/storageservices/authorize-with-shared-key
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_SIGNATURE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_SIGNATURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace penstock::storage {

// The signed parts of a request.
struct AzureRequest {
  std::string method;  // "GET", for example
  std::string account;
  std::string path;                                        // percent-encoded, with a leading '/'
  std::vector<std::pair<std::string, std::string>> query;  // not encoded; each name once, in lower case
  std::map<std::string, std::string> headers;              // all headers of the request; names in lower case
  uint64_t body_size = 0;
};

// Returns the text to sign.
std::string AzureStringToSign(const AzureRequest& request);

// Returns the value of the header authorization. `key` is bytes, not base64.
std::string AzureAuthorization(const AzureRequest& request, absl::string_view key);

// Formats a time as "Fri, 26 Jun 2015 23:39:12 GMT".
std::string HttpDate(int64_t seconds);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_AZURE_AZURE_SIGNATURE_H_
