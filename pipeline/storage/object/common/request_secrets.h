// Hides secrets of a request in its response. Debug servers and proxies return what they received.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_REQUEST_SECRETS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_REQUEST_SECRETS_H_

#include <string>
#include <vector>

#include "pipeline/storage/object/common/http_client.h"

namespace penstock::storage {

// Returns the values of headers that hold a key or a token, the values of such fields of the URL and of a form, and
// HttpRequest::secrets. Returns each in every form in which it may be written, longest first.
std::vector<std::string> SecretsOf(const HttpRequest& request);

// Replaces each secret in the body by "(hidden)". Leaves the headers, which no message includes.
void Hide(const std::vector<std::string>& secrets, HttpResponse* response);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_COMMON_REQUEST_SECRETS_H_
