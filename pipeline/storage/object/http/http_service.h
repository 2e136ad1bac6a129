// HTTP and HTTPS servers of files as a service.
#ifndef PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_HTTP_SERVICE_H_
#define PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_HTTP_SERVICE_H_

#include <memory>

#include "pipeline/storage/object/common/object_service.h"
#include "pipeline/storage/object/http/http_authorization.h"

namespace penstock::storage {

// `authorization` is that of HttpDialect.
std::unique_ptr<ObjectService> MakeHttpService(std::shared_ptr<HttpAuthorization> authorization);

}  // namespace penstock::storage

#endif  // PENSTOCK_PIPELINE_STORAGE_OBJECT_HTTP_HTTP_SERVICE_H_
