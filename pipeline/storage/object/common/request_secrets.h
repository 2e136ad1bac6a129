// Hides secrets of a request in its response. Debug servers and proxies return what they received.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_REQUEST_SECRETS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_REQUEST_SECRETS_H_

#include <string>
#include <vector>

#include "pipeline/storage/object/common/http_client.h"

namespace penstock::storage {

// Returns the request's secrets, the longest first: HttpRequest::secrets, and the values of headers, of URL fields and
// of form fields in the body that hold a key or a token. Returns the value of a field both as it is and
// percent-decoded. Returns the other secrets as they are, and a header's value also without its scheme, such as
// "Bearer". Omits values of less than 4 bytes.
std::vector<std::string> SecretsOf(const HttpRequest& request);

// Replaces each secret in the body by "(hidden)". Does not change the headers: error messages quote only content-range
// and x-ms-error-code, which hold no part of the request's secrets.
void Hide(const std::vector<std::string>& secrets, HttpResponse* response);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_REQUEST_SECRETS_H_
