// What of a request must not be said again, in case its answer does: debug servers and proxies send back what they got.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_REQUEST_SECRETS_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_REQUEST_SECRETS_H_

#include <string>
#include <vector>

#include "pipeline/storage/object/http_client.h"

namespace penstock {

// Tokens in its headers and signatures in its URL, in each way in which they may be written; the longest first.
std::vector<std::string> SecretsOf(const HttpRequest& request);

// Puts "(hidden)" in the place of each in the answer's body. Headers are not said.
void Hide(const std::vector<std::string>& secrets, HttpResponse* response);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_REQUEST_SECRETS_H_
